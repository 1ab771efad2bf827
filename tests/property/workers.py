"""Worker processes, any of which may die, freeze, or come late."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from onward.domain.errors import Conflict
from onward.domain.limits import FUNCTION_SECONDS
from onward.domain.machine.move import rouses
from onward.domain.model import Failure, Usage
from onward.domain.protocol import AttemptClosed, Complete, Do, Fail

from tests.builders import payload

if TYPE_CHECKING:
    from onward.domain.model import Policy
    from onward.domain.protocol import Command, Decision, Outcome

    from tests.driver_model import Execution
    from tests.property.receiver import Request
    from tests.property.simulation import Simulation

FAILURES: Final = {
    "transient": Failure("transient", "flaky", retryable=True),
    "rate_limited": Failure("rate_limited", "slow down", retryable=True, retry_after=4.2),
    "limited_long": Failure("rate_limited", "slow down", retryable=True, retry_after=30.5),
    "invalid": Failure("invalid_input", "no"),
    "unknown": Failure("outcome_unknown", "timed out"),
}

UNKEPT: Final = "returns what cannot be kept"

ACTS = [
    "marks",
    "sends",
    "sends",
    "dies",
    "dies, its receipt kept",
    "finds its store busy",
    "decides",
    "commits what it decided",
    "commits what it decided",
    "reports",
    "ok",
    UNKEPT,
    "unknown",
    *FAILURES,
]
"""What a process may do; by the name of a failure it ends with that."""

NEVER_BEGAN = ["has no room", "has no version"]

ENDS = [*NEVER_BEGAN, "comes late", "freezes", "sends", "times out", "times out", *ACTS]
"""How far an attempt gets at first."""


@dataclass(eq=False)
class Process:
    """A worker process: it outlives the execution that waits for it, by a function's life."""

    decision: Decision
    execution: Execution
    policy: Policy
    started: float
    marked: bool = False
    applied: bool = False
    request: Request | None = None
    held: tuple[Command, Outcome] | None = None

    @property
    def until(self) -> float:
        """When it is ended from outside."""
        return self.started + FUNCTION_SECONDS

    @property
    def may_send(self) -> bool:
        """Whether it was allowed to send and has not done so yet."""
        return self.marked and self.request is None

    def mark(self, sim: Simulation) -> bool:
        """Mark a write, after a probe if an earlier one is in doubt; False: it may not be sent."""
        if not self.policy.writes or self.marked or self.applied:
            return True
        self.marked = self._mark(sim)
        assert not (self.marked and sim.cancelled), "sent after the cancel's commit"
        return self.marked or self.applied

    def _mark(self, sim: Simulation) -> bool:
        step_id, fence = self.decision.step_id, self.decision.fence
        if self.too_early(sim):
            return False
        if not self._doubtful(sim):
            return sim.store.mark_sent(step_id, fence, sim.now)
        if sim.receiver.effects[step_id]:
            self.applied = True
            return False
        return sim.store.mark_resent(step_id, fence, sim.now)

    def too_early(self, sim: Simulation) -> bool:
        """Whether it is to ask, and cannot know yet by its own clock."""
        quiet = sim.store.effects[self.decision.step_id].quiet_at if self.policy.writes else None
        return self._doubtful(sim) and sim.now + sim.asks_ahead < (quiet or 0.0)

    def send(self, sim: Simulation) -> bool:
        """Send the write, if it may be sent and the probe did not find it."""
        if not self.mark(sim):
            return False
        if self.may_send:
            self.request = sim.receiver.send(
                self.decision.step_id,
                self.policy,
                sim.store.effects[self.decision.step_id].key,
                self.decision.fence,
                self.until,
            )
        return True

    def end(
        self, sim: Simulation, result: str, jitter: float = 0.0, *, dies_after: bool = False
    ) -> None:
        """Commit what the tool did; it may die before it answers."""
        command = self.carry_out(sim, result, jitter)
        if command is None:
            self.die(sim)
            return
        decision = self.commit(sim, command)
        if decision is None or decision.do is Do.STOP:
            self.put_receipt_down(sim, command, tells=not dies_after)
        self.answer(sim, None if dies_after else decision)

    def die(self, sim: Simulation, *, keeps_receipt: bool = False) -> None:
        """Die before anything could be committed; perhaps the receipt was put down."""
        if keeps_receipt and self.policy.writes and self.carry_out(sim, "ok", 0.0) is not None:
            decision = self.decision
            sim.store.keep_receipt(decision.step_id, decision.fence, payload("kept"))
        self.answer(sim, None)

    def rest(self, sim: Simulation, jitter: float) -> None:
        """Call nothing, as it is too late or a store of ours too busy; it may bear its mark."""
        if self.request is not None or self.held is not None:
            return
        decision, why = self.decision, Failure("not_begun", "busy", retryable=True)
        command = Fail(decision.step_id, decision.fence, why, jitter, called=False)
        self.answer(sim, self.commit(sim, command))

    def decide_and_freeze(self, sim: Simulation) -> None:
        """Decide on rows that may have moved by the time of the commit."""
        command = None if self.held is not None else self.carry_out(sim, "ok", 0.0)
        if command is None:
            return
        try:
            outcome = sim.store.decided(command, self.execution.generation, sim.now)
        except AttemptClosed:
            return
        self.held = (command, outcome)

    def commit_held(self, sim: Simulation) -> None:
        """The first commit wins; the loser reads and decides again."""
        assert self.held is not None
        command, outcome = self.held
        run, before = sim.run, outcome.before
        moved = (run.seq, run.generation) != (before.seq, before.generation)
        try:
            sim.store.commit(outcome)
            sim.deaf = sim.deaf or rouses(outcome.before, outcome.run)
        except Conflict:
            assert sim.run is run
            self.answer(sim, self.commit(sim, command))
            return
        assert not (moved and outcome.changes)
        self.answer(sim, outcome.decision)

    def carry_out(  # noqa: PLR0911 - a line an end
        self, sim: Simulation, result: str, jitter: float
    ) -> Command | None:
        """Run the tool and return what there is to commit; None: nothing can be said."""
        step_id, fence = self.decision.step_id, self.decision.fence
        if not self.applied and self.too_early(sim):
            return Fail(step_id, fence, FAILURES["unknown"], jitter, called=False)
        if result not in {"ok", UNKEPT} and not self.applied and not self._landed:
            if result == "unknown" and not self._doubtful(sim) and not self.send(sim):
                return None
            if result != "unknown" and self.request is not None:
                sim.receiver.withdraw(self.request)
                self.request = None
            return Fail(step_id, fence, FAILURES[result], jitter, Usage(3, 4), self.started)
        if not self.send(sim):
            return None
        if self.request is not None and self.request.answer is None:
            sim.receiver.land(self.request, sim.now)
        if self.request is not None and not self.request.answer:
            return None  # rejected for a lower fence: this attempt was taken over
        output = payload(f"{step_id}#{fence}")
        if result == UNKEPT and not self.policy.writes:
            return Fail(step_id, fence, FAILURES["invalid"], jitter, Usage(3, 4), self.started)
        if result == UNKEPT:
            output = replace(output, refused="a secret")
        return Complete(step_id, fence, output, Usage(3, 4), self.started, self.applied)

    def commit(self, sim: Simulation, command: Command) -> Decision | None:
        """Commit under the attempt's fence; a closed attempt changes nothing (G5)."""
        run, steps = sim.run, dict(sim.store.steps)
        try:
            decision = sim.send(command, self.execution, sim.now)
        except AttemptClosed:
            assert sim.run is run
            assert sim.store.steps == steps
            return None
        if sim.run is not run:
            assert steps[self.decision.step_id].fence == self.decision.fence
            self._keeps_the_wish(sim, command)
        return decision

    def put_receipt_down(self, sim: Simulation, command: Command, *, tells: bool) -> None:
        """End the doubt of an attempt that was given up; it may die before it has said so."""
        step_id, fence = self.decision.step_id, self.decision.fence
        if not isinstance(command, Complete) or not self.marked:
            return
        sim.store.keep_receipt(step_id, fence, command.output)
        if tells and sim.store.effects[step_id].receipt is not None:
            before = sim.store.effects[step_id].receipt
            sim.take_receipt(step_id)
            assert before == sim.store.effects[step_id].receipt, "a receipt was overwritten"

    def answer(self, sim: Simulation, decision: Decision | None) -> None:
        """The process is gone; whoever still waits for it goes on, or recovers the attempt."""
        sim.gone(self, sim.now)
        waiting = sim.execution.lanes.get(self.decision.lane)
        if self.execution is not sim.execution or waiting is not self.decision:
            return
        if decision is None:
            decision = sim.recover(self.decision, dead=True)
        sim.execution.take(decision, self.decision.lane)

    @property
    def _landed(self) -> bool:
        return self.request is not None and self.request.answer is not None

    def _doubtful(self, sim: Simulation) -> bool:
        """Whether the attempt has to ask before it sends."""
        if self.policy.idempotency != "probe" or self.marked:
            return False
        return sim.store.effects[self.decision.step_id].unknown_since is not None

    def _keeps_the_wish(self, sim: Simulation, command: Command) -> None:
        """A provider that named a time is not asked before."""
        if not isinstance(command, Fail):
            return
        row, wait = sim.store.steps[command.step_id], sim.run.waiting.get(command.step_id)
        earliest = sim.now + command.failure.retry_after
        if command.step_id in sim.run.open and command.failure.retry_after:
            assert row.not_before is not None
            assert earliest <= row.not_before
        elif wait is not None and wait.until is not None:
            assert earliest <= wait.until


def take_up(sim: Simulation, decision: Decision) -> Process | None:
    """A worker takes an attempt up; None: it came after the deadline and ended itself."""
    sim.advance(decision.seconds)
    policy = sim.store.plan[decision.plan_key].policy
    process = Process(decision, sim.execution, policy, sim.now)
    sim.processes.append(process)
    row = sim.store.steps[decision.step_id]
    if row.fence == decision.fence and sim.now > (row.deadline or sim.now):
        process.die(sim)
        return None
    return process
