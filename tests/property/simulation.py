"""One run with its executions: what the driver, the patrol, operators and time can do to it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onward.domain.errors import (
    ActionChanged,
    AlreadyDecided,
    AlreadyTerminal,
    ApprovalExpired,
    Conflict,
    NotResumable,
    NotWaiting,
)
from onward.domain.limits import SHORT_DELAY
from onward.domain.machine.move import rouses
from onward.domain.model import RunStatus, StepStatus
from onward.domain.protocol import (
    Begin,
    Cancel,
    DecideApproval,
    Do,
    Recover,
    Resolve,
    Resolved,
    Restart,
    Resume,
    Settle,
    TakeReceipt,
    Verdict,
    WakeLane,
)
from onward.domain.waits import ApprovalState

from tests.builders import NOW, payload
from tests.driver_model import At, Execution
from tests.property.budgets import check_budgets
from tests.property.invariants import check_outcome
from tests.property.receiver import Receiver

if TYPE_CHECKING:
    from onward.domain.model import Run
    from onward.domain.protocol import Command, Decision

    from tests.memory_store import MemoryStore
    from tests.property.workers import Process

STOPPED = {StepStatus.FAILED, StepStatus.CANCELLED, StepStatus.NEEDS_RECONCILIATION}
IN_DOUBT = {StepStatus.UNKNOWN, StepStatus.NEEDS_RECONCILIATION}


class Simulation:
    """Moves a run as its driver does.

    `late`: requests that nobody waits for land at their last moment; else they are lost.
    `token` is that of a driver that sleeps, `lane_token` of its Map's lane that does, `deaf` a
    signal that is still to be given.
    `ahead` and `asks_ahead`: by how many seconds the clocks of deciders, or of workers that probe,
    are wrong. Of the two one is right, and so is that of a worker that sends.
    """

    def __init__(self, store: MemoryStore, *, late: bool) -> None:
        """Start with a queued run and the execution that was asked for."""
        store.watch, store.judge = check_outcome, check_budgets
        self.store = store
        self.late = late
        self.now = NOW
        self.executions = [Execution(1)]
        self.processes: list[Process] = []
        self.receiver = Receiver()
        self.token: str | None = None
        self.lane_token: str | None = None
        self.deaf = False
        self.cancelled = False
        self.ahead = 0.0
        self.asks_ahead = 0.0

    @property
    def decider(self) -> float:
        """The clock of whoever decides for the driver: settle, park, recover and the patrol."""
        return self.now + self.ahead

    @property
    def run(self) -> Run:
        """The run row."""
        return self.store.run

    @property
    def execution(self) -> Execution:
        """The execution of the current generation."""
        return self.executions[-1]

    @property
    def idle(self) -> list[Decision]:
        """Attempts that lanes wait for and no process has taken up."""
        busy = [process.decision for process in self.processes]
        lanes = self.execution.lanes
        return [
            lanes[lane]
            for lane in sorted(lanes)
            if lanes[lane] not in busy and lanes[lane].do is not Do.WAIT
        ]

    def advance(self, seconds: float) -> None:
        """Let time pass: what is on its way lands or is lost, and no process lives for ever."""
        end = self.now + seconds
        for process in list(self.processes):
            if process.until <= end:
                self.gone(process, process.until)
        for request in sorted(self.receiver.on_the_way, key=lambda r: r.lands_by):
            if request.lands_by > end:
                break
            if self.late:
                self.receiver.land(request, request.lands_by)
            else:
                self.receiver.withdraw(request)
        self.now = end

    def gone(self, process: Process, at: float) -> None:
        """A process is no more; its last request may still arrive."""
        self.processes.remove(process)
        if process.request is not None:
            process.request.left_alone(at)

    def send(self, command: Command, execution: Execution, at: float | None = None) -> Decision:
        """Carry a command out; an old generation's changes nothing and is told to stop.

        `at` is what the clock of whoever decides says; without, the driver's.
        """
        run = self.run
        stale = execution.generation != run.generation or run.status.ended
        clock = self.decider if at is None else at
        outcome = self.store.carry_out(command, execution.generation, clock)
        self.deaf = self.deaf or rouses(outcome.before, outcome.run)
        if stale:
            assert outcome.decision.do is Do.STOP
            assert self.run is run
        self.check(outcome.decision)
        return outcome.decision

    def check(self, decision: Decision) -> None:
        """A decision to run something names attempts that are open, once each."""
        for one in (decision, *decision.lanes):
            if one.do in {Do.STEP, Do.DELAY}:
                assert self.run.open[one.step_id] == one.lane
                assert self.store.steps[one.step_id].fence == one.fence
                assert 0 <= one.seconds <= SHORT_DELAY
        works = [lane for lane in decision.lanes if lane.do is not Do.WAIT]
        assert not decision.lanes or 2 <= len(decision.lanes) <= len(works) + 1
        assert not decision.lanes or len(works) == len(self.run.open)

    # --- the driver -----------------------------------------------------------------------

    def decide_in_main(self, *, lost_reply: bool = False) -> None:
        """Begin or settle; when the reply is lost the driver asks again later."""
        command = Begin() if self.execution.at is At.BEGIN else Settle()
        decision = self.send(command, self.execution)
        if not lost_reply:
            self.token = self.lane_token = None
            self.execution.take(decision)

    def park(self) -> None:
        """Sleep, if the decision to wait still stands; else go on at once."""
        generation = self.execution.generation
        outcome = self.store.decided(Settle(), generation, self.decider)
        if outcome.decision.do is not Do.WAIT or outcome.changes:
            self.execution.at = At.SETTLE
            return
        self.token = f"token {len(self.executions)} {outcome.run.seq} {self.now}"
        assert self.store.keep_token(outcome.run.seq, generation, self.token)

    def end_park(self, *, over: bool = True) -> None:
        """The park's time is up, or something woke it early."""
        assert self.execution.parked is not None
        if over:
            self.advance(self.execution.parked.seconds)
        self.execution.at = At.SETTLE
        self.decide_in_main()

    def signal(self) -> None:
        """Wake the driver whose token the row holds; the token is read after the answer."""
        self.deaf = False
        if self.token is not None and self.token == self.run.park_token:
            self.token, self.execution.at = None, At.SETTLE
        elif self.execution.parked_lane is None:
            self.lane_token = None  # its Map is no more
        elif self.lane_token is not None and self.lane_token == self.run.park_token:
            self.wake_lane()

    def park_lane(self) -> None:
        """Let the Map's parked lane sleep, if its decision to wait still stands."""
        lane, generation = self.execution.parked_lane, self.execution.generation
        assert lane is not None
        outcome = self.store.decided(WakeLane(lane), generation, self.decider)
        if outcome.decision.do is not Do.WAIT or outcome.changes:
            self.wake_lane()
            return
        self.lane_token = f"token {len(self.executions)} {outcome.run.seq} {self.now} lane"
        assert self.store.keep_token(outcome.run.seq, generation, self.lane_token, lane=True)

    def wake_lane(self, *, lost_reply: bool = False) -> None:
        """The parked lane asks what is next: it was signalled, or its time is up, or neither."""
        lane = self.execution.parked_lane
        assert lane is not None
        self.lane_token = None
        decision = self.send(WakeLane(lane), self.execution)
        if lost_reply:
            decision = self.send(WakeLane(lane), self.execution)
        self.execution.take(decision, lane)

    def lane_sleeps_on(self) -> bool:
        """Whether the parked lane sleeps although no other works, and everybody was told."""
        asleep = self.execution.parked_lane is not None and self.lane_token is not None
        heard = self.lane_token == self.run.park_token
        return asleep and heard and not self.deaf and not self.run.open

    def sleeps_through_an_answer(self) -> bool:
        """Whether the driver sleeps although an answer was given and everybody was told."""
        asleep = self.execution.at is At.PARK and self.token is not None
        return asleep and not self.deaf and self.run.status is RunStatus.QUEUED

    def replace_execution(self, *, alive: bool, by_itself: bool = True) -> None:
        """The patrol fences an execution that it believes dead; perhaps it is not."""
        stalled = self.run.stalled
        self.send(Restart("execution_aborted", by_itself=by_itself), self.execution)
        assert by_itself or stalled or not self.run.stalled
        if not alive:
            self.execution.at = At.DONE
        self.next_execution()
        if self.run.stalled:
            self.execution.at = At.DONE

    def next_execution(self) -> None:
        """The execution of the row's generation."""
        self.token = self.lane_token = None
        if self.execution.generation != self.run.generation:
            self.executions.append(Execution(self.run.generation))

    def never_began(self, decision: Decision, *, gone: bool) -> Decision:
        """Lambda had no room for an attempt, or no longer has its version."""
        lost = Recover(decision.step_id, decision.fence, decision.lane, "lost", dead=False)
        command = replace(lost, called=False, gone=gone, jitter=0.5)
        return self.send(command, self.execution)

    def recover(
        self, decision: Decision, *, dead: bool, sends: bool = False, frozen: bool = False
    ) -> Decision:
        """Recover an attempt; one that is not dead may send after the decision that it did not."""
        lost = Recover(decision.step_id, decision.fence, decision.lane, "lost", dead=dead)
        command = replace(lost, frozen=frozen and not dead)
        ours = [p for p in self.processes if p.decision is decision]
        for process in ours if dead else []:
            self.gone(process, self.now)
        # Of a death that is noticed by a clock that is behind nothing else tells the time.
        clock = max(self.now, self.decider) if dead else self.decider
        outcome = self.store.decided(command, self.execution.generation, clock)
        for process in ours if sends and not dead else []:
            process.send(self)
        try:
            self.store.commit(outcome)
            self.deaf = self.deaf or rouses(outcome.before, outcome.run)
        except Conflict:
            return self.send(command, self.execution, clock)
        self.check(outcome.decision)
        return outcome.decision

    # --- operators ------------------------------------------------------------------------

    @property
    def doubts(self) -> list[str]:
        """Steps that an operator may answer for."""
        waiting = self.run.waiting
        return [step_id for step_id, wait in waiting.items() if wait.kind in IN_DOUBT]

    def resolve(self, step_id: str, *, abandon: bool = False, deaf: bool = False) -> bool:
        """An operator says what is true now, which it need not be for long; False: refused."""
        truth = Verdict.APPLIED if self.receiver.effects[step_id] else Verdict.NOT_APPLIED
        verdict = Verdict.ABANDON if abandon else truth
        run = self.run
        try:
            command = Resolve(step_id, verdict, "op", payload("by hand"))
            self.store.carry_out(command, None, self.now)
        except NotWaiting:
            assert self.run is run
            assert verdict is not Verdict.APPLIED
            effect = self.store.effects[step_id]
            assert effect.receipt or (not abandon and (effect.quiet_at or 0.0) > self.now)
            return False
        self.deaf = True
        if not deaf:
            self.signal()
        return True

    @property
    def asked(self) -> list[str]:
        """Steps that ever asked a person to approve them."""
        return sorted(self.store.approvals)

    def decide(self, step_id: str, how: str, *, deaf: bool = False) -> None:
        """A person decides, perhaps late, twice, otherwise than before, or on what it was."""
        request, run = self.store.approvals[step_id], self.run
        edited = Resolved(payload({"x": how}), f"edited {how}") if "edit" in how else None
        version = "stale" if how == "stale" else request.action_version
        command = DecideApproval(step_id, how != "reject", version, "ann", edited=edited)
        try:
            self.store.carry_out(command, None, self.now)
        except (ActionChanged, AlreadyDecided, ApprovalExpired, NotWaiting):
            assert self.run is run
            return
        if self.run is run:
            decided = self.store.approvals[step_id].state
            assert decided is (
                ApprovalState.REJECTED if how == "reject" else ApprovalState.APPROVED
            )
            return
        assert request.state is ApprovalState.OPEN
        assert how != "stale"
        self.deaf = True
        if not deaf:
            self.signal()

    def cancel(self, *, deaf: bool = False) -> None:
        """Somebody cancels the run, perhaps after its end; from then on nothing may be sent."""
        run = self.run
        try:
            self.store.carry_out(Cancel("ann", "enough"), None, self.now)
        except AlreadyTerminal:
            assert self.run is run
            assert run.status in {RunStatus.SUCCEEDED, RunStatus.FAILED}
            return
        self.cancelled = True
        self.next_execution()
        self.deaf = True
        if not deaf:
            self.signal()

    def take_receipt(self, step_id: str) -> None:
        """A worker says that it put a receipt down; nobody is asked for that step any more.

        But for the result itself, where what the receiver answered could not be kept.
        """
        self.store.carry_out(TakeReceipt(step_id), None, self.now)
        receipt = self.store.effects[step_id].receipt
        assert step_id not in self.doubts or (receipt is not None and receipt.refused is not None)
        self.signal()

    def resume(self, *, names_all: bool = False) -> bool:
        """An operator resumes the run, and perhaps names steps that ended well; False: refused."""
        rows = self.store.steps.values()
        steps = tuple(r.step_id for r in rows if names_all or r.status in STOPPED)
        run = self.run
        try:
            self.store.carry_out(Resume("op", steps), None, self.now)
        except NotResumable:
            assert self.run is run
            assert any(r.status is StepStatus.FAILED and r.input is None for r in rows)
            return False
        self.next_execution()
        return True
