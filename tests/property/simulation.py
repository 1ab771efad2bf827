"""One run with its executions and worker processes, any of which may die, freeze or come late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from onward.domain.errors import Conflict
from onward.domain.limits import SHORT_DELAY
from onward.domain.model import Failure, StepStatus, Usage
from onward.domain.protocol import (
    AttemptClosed,
    Begin,
    Complete,
    Do,
    Fail,
    Recover,
    Restart,
    Settle,
)

from tests.builders import NOW, payload
from tests.driver_model import At, Drive, Execution
from tests.property.invariants import check_outcome

if TYPE_CHECKING:
    from onward.domain.model import Policy, Run
    from onward.domain.protocol import Command, Decision, Outcome

    from tests.memory_store import MemoryStore

FAILURES: Final = {
    "transient": Failure("transient", "flaky", retryable=True),
    "rate_limited": Failure("rate_limited", "slow down", retryable=True, retry_after=4.2),
    "limited_long": Failure("rate_limited", "slow down", retryable=True, retry_after=30.5),
    "invalid": Failure("invalid_input", "no"),
    "unknown": Failure("outcome_unknown", "timed out"),
}
GIVEN_UP: Final = {StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED}


@dataclass
class Process:
    """A worker process: it outlives the execution that waits for it. `sent` its write."""

    decision: Decision
    execution: Execution
    policy: Policy
    sent: bool = False
    held: tuple[Command, Outcome] | None = None


class Simulation:
    """Moves a run as its driver and workers do. `doubtful`: sends nobody knows the outcome of."""

    def __init__(self, store: MemoryStore) -> None:
        """Start with a queued run and the execution that was asked for."""
        store.watch = check_outcome
        self.store = store
        self.now = NOW
        self.executions = [Execution(1)]
        self.processes: list[Process] = []
        self.doubtful: dict[str, list[float]] = {}

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
        return [lanes[lane] for lane in sorted(lanes) if lanes[lane] not in busy]

    def send(self, command: Command, execution: Execution) -> Decision:
        """Carry a command out; an old generation's changes nothing and is told to stop."""
        run = self.run
        stale = execution.generation != run.generation or run.status.ended
        outcome = self.store.carry_out(command, execution.generation, self.now)
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
        assert not decision.lanes or 2 <= len(decision.lanes) == len(self.run.open)

    # --- the driver -----------------------------------------------------------------------

    def decide_in_main(self, *, lost_reply: bool = False) -> None:
        """Begin or settle; when the reply is lost the driver asks again later."""
        command = Begin() if self.execution.at is At.BEGIN else Settle()
        decision = self.send(command, self.execution)
        if not lost_reply:
            self.execution.take(decision)

    def end_park(self, *, over: bool = True) -> None:
        """The park's time is up, or something woke it early."""
        assert self.execution.parked is not None
        if over:
            self.now += self.execution.parked.seconds
        self.execution.take(self.send(Settle(), self.execution))

    def replace_execution(self, *, alive: bool) -> None:
        """The patrol fences an execution that it believes dead; perhaps it is not."""
        self.send(Restart("execution_aborted"), self.execution)
        if not alive:
            self.execution.at = At.DONE
        self.executions.append(Execution(self.run.generation))

    def recover(self, decision: Decision, *, dead: bool, sends: bool = False) -> Decision:
        """Recover an attempt; its process may send after the decision that it did not."""
        command = Recover(decision.step_id, decision.fence, decision.lane, "lost", dead=dead)
        outcome = self.store.decided(command, self.execution.generation, self.now)
        for process in self.processes:
            if sends and process.decision is decision:
                self.mark(process)
        try:
            self.store.commit(outcome)
        except Conflict:
            return self.send(command, self.execution)
        self.check(outcome.decision)
        return outcome.decision

    def go_on(self) -> bool:
        """Make one move that goes well; False: only a process could move, or nothing."""
        match self.execution.at:
            case At.BEGIN | At.SETTLE:
                self.decide_in_main()
            case At.PARK:
                self.end_park()
            case At.RUN_STEP | At.LANES if self.idle:
                self.end(self.start(self.idle[0]), "ok")
            case _:
                return False
        return True

    def end_without_faults(self) -> None:
        """Left alone, a run ends or waits for a person."""
        drive = Drive(self.store, now=self.now)
        drive.execution = self.execution
        if self.execution.at is At.DONE and not self.run.status.ended:
            self.replace_execution(alive=False)
            drive.execution = self.execution
        drive.to_the_end(limit=1_000)
        assert len(self.store.events) == self.run.seq

    # --- workers --------------------------------------------------------------------------

    def start(self, decision: Decision, *, marks: bool = True) -> Process:
        """A worker takes an attempt up; it may freeze before it sends its write."""
        self.now += decision.seconds
        policy = self.store.plan[decision.plan_key].policy
        process = Process(decision, self.execution, policy)
        self.processes.append(process)
        if marks:
            self.mark(process)
        return process

    def mark(self, process: Process) -> bool:
        """Mark and send, if that is allowed; no doubtful action is sent a second time (G3)."""
        step_id = process.decision.step_id
        if not process.policy.writes or process.sent:
            return True
        process.sent = self.store.mark_sent(step_id, process.decision.fence, self.now)
        if not process.sent:
            return False
        sends = self.doubtful.setdefault(step_id, [])
        if sends:
            assert process.policy.idempotency == "native", f"{step_id} was sent twice"
        if sends and process.policy.key_ttl is not None:
            deadline = self.store.steps[step_id].deadline
            assert deadline is not None
            assert deadline < sends[0] + process.policy.key_ttl
        sends.append(self.now)
        return True

    def end(
        self, process: Process, result: str, jitter: float = 0.0, *, dies_after: bool = False
    ) -> None:
        """A worker commits what its tool did; it may die before it answers."""
        if result in {"ok", "unknown"} and not self.mark(process):
            self.die(process)  # a tool that may not send does not run
            return
        decision = self.commit(process, self.command(process, result, jitter))
        self.answer(process, None if dies_after else decision)

    def die(self, process: Process, *, keeps_receipt: bool = False) -> None:
        """A worker dies before it could commit; perhaps it kept its receipt."""
        if keeps_receipt and process.sent:
            decision = process.decision
            self.store.keep_receipt(decision.step_id, decision.fence, payload("kept"))
        self.answer(process, None)

    def decide_and_freeze(self, process: Process) -> None:
        """A worker decides on rows that may have moved by the time it commits."""
        if process.held is not None or not self.mark(process):
            return
        command = self.command(process, "ok", 0.0)
        try:
            outcome = self.store.decided(command, process.execution.generation, self.now)
        except AttemptClosed:
            return
        process.held = (command, outcome)

    def commit_held(self, process: Process) -> None:
        """The first commit wins; the loser reads and decides again."""
        assert process.held is not None
        command, outcome = process.held
        run, before = self.run, outcome.before
        moved = (run.seq, run.generation) != (before.seq, before.generation)
        try:
            self.store.commit(outcome)
        except Conflict:
            assert self.run is run
            self.answer(process, self.commit(process, command))
            return
        assert not (moved and outcome.changes)
        if outcome.changes:
            self.note(process, command)
        self.answer(process, outcome.decision)

    def command(self, process: Process, result: str, jitter: float) -> Command:
        """What a worker has to commit."""
        step_id, fence = process.decision.step_id, process.decision.fence
        if result == "ok":
            return Complete(step_id, fence, payload(step_id), Usage(3, 4))
        return Fail(step_id, fence, FAILURES[result], jitter, Usage(3, 4))

    def commit(self, process: Process, command: Command) -> Decision | None:
        """Commit under the attempt's fence; a closed attempt changes nothing (G5)."""
        run, steps = self.run, dict(self.store.steps)
        try:
            decision = self.send(command, process.execution)
        except AttemptClosed:
            assert self.run is run
            assert self.store.steps == steps
            return None
        if self.run is not run:
            assert steps[process.decision.step_id].fence == process.decision.fence
            self.note(process, command)
        return decision

    def note(self, process: Process, command: Command) -> None:
        """A committed result or sure failure leaves no doubt; a provider's wish is kept."""
        sends = self.doubtful.get(process.decision.step_id, [])
        if isinstance(command, Complete):
            sends.clear()
        if not isinstance(command, Fail):
            return
        if process.sent and command.failure.code != "outcome_unknown":
            sends.pop()
        row, wait = self.store.steps[command.step_id], self.run.waiting.get(command.step_id)
        earliest = self.now + command.failure.retry_after
        if command.step_id in self.run.open and command.failure.retry_after:
            assert row.not_before is not None
            assert earliest <= row.not_before
        elif wait is not None and wait.until is not None:
            assert earliest <= wait.until

    def answer(self, process: Process, decision: Decision | None) -> None:
        """The process is gone; whoever still waits for it goes on, or recovers the attempt."""
        self.processes.remove(process)
        waiting = self.execution.lanes.get(process.decision.lane)
        if process.execution is not self.execution or waiting is not process.decision:
            return
        if decision is None:
            decision = self.recover(process.decision, dead=True)
        self.execution.take(decision, process.decision.lane)
