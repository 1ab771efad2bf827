"""The state machine under every fault that the driver, its workers and time can do to it.

For a long run: ONWARD_TEST_PROFILE=thorough pytest tests/property.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from onward.domain.effects import EffectState
from onward.domain.model import MAIN_LANE, RunStatus, StepStatus
from onward.domain.protocol import (
    AttemptClosed,
    Begin,
    Complete,
    Do,
    Recover,
    Report,
    Restart,
    Settle,
)

from tests.builders import payload, store_of
from tests.driver_model import At, Execution
from tests.property.course import finish, go_on
from tests.property.invariants import PAST, abandoned
from tests.property.plans import LISTS, plans
from tests.property.simulation import Simulation
from tests.property.workers import ACTS, ENDS, NEVER_BEGAN, Process, take_up

if TYPE_CHECKING:
    from onward.domain.plan import CompiledPlan
    from onward.domain.protocol import Decision

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
PROFILES = {
    name: settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        suppress_health_check=SLOW,
    )
    for name, examples, steps in (("onward", 150, 50), ("thorough", 3_000, 100))
}
GIVEN_UP = {StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED}
AHEAD = 300.0
DECISIONS = ["approve", "approve", "reject", "edit", "edit otherwise", "stale"]
TROUBLES = [
    "loses a reply",
    "is woken early",
    "loses its map",
    "is replaced",
    "is replaced",
    "comes back",
    "stalls",
]


class DriverAndWorkers(RuleBasedStateMachine):
    """Every rule is something that may happen next."""

    sim: Simulation

    @initialize(
        plan=plans(),
        deadline=st.sampled_from([None, None, None, 120.0, 2_000.0]),
        retries=st.sampled_from([None, None, 3]),
        tokens=st.sampled_from([None, None, None, 50]),
        late=st.booleans(),
        moves=st.integers(0, 2),
        clocks=st.sampled_from([(0, 0), (0, 0), (AHEAD, 0), (-AHEAD, 0), (0, AHEAD)]),
    )
    def submit(
        self,
        plan: CompiledPlan,
        late: bool,
        moves: int,
        clocks: tuple[float, float],
        **limits: Any,
    ) -> None:
        deadline, retries, tokens = limits["deadline"], limits["retries"], limits["tokens"]
        store = store_of(plan, LISTS, deadline_seconds=deadline, retries=retries, tokens=tokens)
        self.sim = Simulation(store, late=late)
        self.sim.ahead, self.sim.asks_ahead = clocks
        for _ in range(moves):
            go_on(self.sim)

    @property
    def at(self) -> At:
        """Where the current execution is."""
        return self.sim.execution.at

    # --- the driver and the patrol ----------------------------------------------------------

    @precondition(lambda self: self.drives and not self.sim.idle)
    @rule()
    def driver_goes_on(self) -> None:
        go_on(self.sim)

    @precondition(lambda self: self.at is At.PARK and self.sim.token is None)
    @rule()
    def driver_goes_to_sleep(self) -> None:
        self.sim.park()

    @precondition(lambda self: not self.sim.run.status.ended)
    @rule(data=st.data(), kind=st.sampled_from(TROUBLES))
    def driver_has_trouble(self, data: Any, kind: str) -> None:
        sim = self.sim
        if kind == "loses a reply" and self.at in {At.BEGIN, At.SETTLE}:
            sim.decide_in_main(lost_reply=True)
        if kind == "is woken early" and self.at is At.PARK:
            sim.end_park(over=False)
        if kind == "loses its map" and self.at is At.LANES:
            sim.execution.lanes, sim.execution.at = {}, At.SETTLE
        if kind == "is replaced":
            alive, by_itself = data.draw(st.booleans()), data.draw(st.booleans())
            sim.replace_execution(alive=alive, by_itself=by_itself)
        if kind == "stalls":
            for _ in range(4):
                sim.replace_execution(alive=False)
        if kind == "comes back" and len(sim.executions) > 1:
            self.old_execution_asks(data, data.draw(st.sampled_from(sim.executions[:-1])))

    @precondition(lambda self: self.sim.execution.parked_lane is not None)
    @rule(kind=st.sampled_from(["sleeps", "sleeps", "wakes", "its time is up", "loses a reply"]))
    def parked_lane_goes_on(self, kind: str) -> None:
        """A lane of the Map waits with the run's waits while others work."""
        sim = self.sim
        lane = sim.execution.parked_lane
        assert lane is not None
        if kind == "sleeps":
            sim.park_lane()
            return
        if kind == "its time is up":
            sim.advance(sim.execution.lanes[lane].seconds)
        sim.wake_lane(lost_reply=kind == "loses a reply")

    def old_execution_asks(self, data: Any, old: Execution) -> None:
        """Whatever a replaced execution asks, it is told to stop and changes nothing."""
        rows = self.sim.store.steps.items()
        step_id, fence = data.draw(st.sampled_from([("x", 1), *((s, r.fence) for s, r in rows)]))
        commands = [
            Begin(),
            Settle(),
            Restart("again"),
            Complete(step_id, fence, payload("late")),
            Recover(step_id, fence, MAIN_LANE, "late", dead=False),
        ]
        self.sim.send(data.draw(st.sampled_from(commands)), old)

    @precondition(lambda self: self.sim.run.stalled and self.at is At.DONE)
    @rule()
    def stalled_run_is_started_after_all(self) -> None:
        self.sim.executions[-1] = Execution(self.sim.run.generation)

    @precondition(lambda self: self.sim.execution.lanes)
    @rule(data=st.data(), lost_reply=st.booleans(), sends=st.booleans(), dead=st.booleans())
    def attempt_is_lost(self, data: Any, lost_reply: bool, sends: bool, dead: bool) -> None:
        """The driver gives an attempt up whose process, unless it is dead, lives on."""
        lanes = {n: d for n, d in self.sim.execution.lanes.items() if d.do is not Do.WAIT}
        if not lanes:
            return
        lane = data.draw(st.sampled_from(sorted(lanes)))
        attempt = lanes[lane]
        frozen = data.draw(st.booleans())
        decision = self.sim.recover(attempt, dead=dead, sends=sends, frozen=frozen)
        if lost_reply:
            decision = self.sim.recover(attempt, dead=dead)
        self.sim.execution.take(decision, lane)

    # --- time and the world outside ---------------------------------------------------------

    @rule(seconds=st.sampled_from([0.4, 3.0, 31.0, 90.0, 400.0, 931.0]))
    def time_passes(self, seconds: float) -> None:
        self.sim.advance(seconds)

    @precondition(lambda self: self.sim.receiver.on_the_way)
    @rule(data=st.data())
    def request_lands(self, data: Any) -> None:
        requests = self.sim.receiver.on_the_way
        at = data.draw(st.integers(0, len(requests) - 1))
        self.sim.receiver.land(requests[at], self.sim.now)

    # --- operators --------------------------------------------------------------------------

    @precondition(lambda self: self.sim.doubts)
    @rule(
        data=st.data(),
        abandon=st.sampled_from([False, False, False, True]),
        deaf=st.booleans(),
    )
    def operator_resolves(self, data: Any, abandon: bool, deaf: bool) -> None:
        step_id = data.draw(st.sampled_from(self.sim.doubts))
        self.sim.resolve(step_id, abandon=abandon, deaf=deaf)

    @precondition(lambda self: self.sim.asked)
    @rule(data=st.data(), how=st.sampled_from(DECISIONS), deaf=st.booleans())
    def person_decides(self, data: Any, how: str, deaf: bool) -> None:
        self.sim.decide(data.draw(st.sampled_from(self.sim.asked)), how, deaf=deaf)

    @rule(often=st.integers(0, 9), deaf=st.booleans())
    def somebody_cancels(self, often: int, deaf: bool) -> None:
        """Now and then, else no run would come to another end."""
        if not often:
            self.sim.cancel(deaf=deaf)

    @precondition(lambda self: self.sim.deaf)
    @rule()
    def operators_answer_is_signalled(self) -> None:
        self.sim.signal()

    @precondition(lambda self: self.sim.run.status is RunStatus.FAILED or self.sim.run.stalled)
    @rule(names_all=st.booleans())
    def operator_resumes(self, names_all: bool) -> None:
        self.sim.resume(names_all=names_all)

    # --- workers ----------------------------------------------------------------------------

    @precondition(lambda self: self.drives)
    @rule(
        data=st.data(),
        ends=st.lists(st.sampled_from(ENDS), min_size=1, max_size=3),
        jitter=st.floats(0, 0.999),
        dies_after=st.sampled_from([False, False, False, True]),
    )
    def attempts_are_made(
        self, data: Any, ends: list[str], jitter: float, dies_after: bool
    ) -> None:
        """The driver comes to an attempt; a process takes it up, perhaps for no more than this."""
        for end in ends:
            for _ in range(3):
                if self.drives and not self.sim.idle:
                    go_on(self.sim)
            if self.sim.idle:
                decision = data.draw(st.sampled_from(self.sim.idle))
                self.attempts(decision, end, jitter, dies_after=dies_after)

    @property
    def drives(self) -> bool:
        """Whether the driver has something to do that is no process's."""
        driving = self.at in {At.BEGIN, At.SETTLE, At.PARK} or bool(self.sim.idle)
        return driving and not self.sim.run.status.ended

    def attempts(self, decision: Decision, ends: str, jitter: float, *, dies_after: bool) -> None:
        """A process takes an attempt up; it may outlive it."""
        if ends in NEVER_BEGAN:
            answer = self.sim.never_began(decision, gone=ends == "has no version")
            self.sim.execution.take(answer, decision.lane)
            return
        process = take_up(self.sim, decision)
        if process is None:
            return
        if ends in {"sends", "times out"}:
            process.send(self.sim)
        if ends == "times out":
            answer = self.sim.recover(decision, dead=False, frozen=True)
            self.sim.execution.take(answer, decision.lane)
        elif ends == "comes late":
            process.rest(self.sim, jitter)
        elif ends not in {"freezes", "sends"}:
            self.acts(process, ends, jitter, dies_after=dies_after)

    @precondition(lambda self: self.sim.processes)
    @rule(data=st.data(), does=st.sampled_from(ACTS), jitter=st.floats(0, 0.999))
    def process_wakes(self, data: Any, does: str, jitter: float) -> None:
        """Whether or not its attempt was taken over meanwhile."""
        self.acts(data.draw(st.sampled_from(self.sim.processes)), does, jitter)

    def acts(self, process: Process, does: str, jitter: float, *, dies_after: bool = False) -> None:
        """One thing that a process may do."""
        match does:
            case "marks":
                process.mark(self.sim)
            case "sends":
                process.send(self.sim)
            case "dies" | "dies, its receipt kept":
                process.send(self.sim)
                process.die(self.sim, keeps_receipt="receipt" in does)
            case "finds its store busy":
                process.mark(self.sim)
                process.rest(self.sim, jitter)
            case "decides":
                process.decide_and_freeze(self.sim)
            case "commits what it decided":
                if process.held is not None:
                    process.commit_held(self.sim)
            case "reports":
                self.reports(process)
            case _:
                process.end(self.sim, does, jitter, dies_after=dies_after)

    def reports(self, process: Process) -> None:
        """Progress moves the log, if the attempt is still open."""
        report = Report(process.decision.step_id, process.decision.fence, 0.5)
        generation = process.execution.generation
        try:
            self.sim.store.carry_out(report, generation, self.sim.now)
        except AttemptClosed:
            return

    # --- what always holds ------------------------------------------------------------------

    @invariant()
    def a_failing_run_never_succeeds(self) -> None:
        if self.sim.run.failing is not None:
            assert self.sim.run.status is not RunStatus.SUCCEEDED

    @invariant()
    def an_answer_is_heard(self) -> None:
        assert not self.sim.sleeps_through_an_answer()
        assert not self.sim.lane_sleeps_on()

    @invariant()
    def what_may_have_happened_is_known_as_such(self) -> None:
        """The ledger says unknown once its sender is given up; no step ended against the truth."""
        self.check_the_truth()

    def check_the_truth(self) -> None:
        """Compare the ledger with the receiver (G3, G4)."""
        sim = self.sim
        for step_id, effect in sim.store.effects.items():
            row = sim.store.steps[step_id]
            if row.status is StepStatus.SUCCEEDED:
                assert sim.receiver.effects[step_id] == 1, f"{step_id} did not happen"
            if effect.state is EffectState.APPLIED:
                assert sim.receiver.effects[step_id] == 1, f"{step_id} did not happen"
            if EffectState.APPLIED is effect.state or row.status in PAST:
                continue
            if not self.touched(step_id):
                continue
            assert row.status not in GIVEN_UP or abandoned(row)
            sending = step_id in sim.run.open and effect.sent_fence == row.fence
            assert sending or effect.unknown_since is not None

    def touched(self, step_id: str) -> bool:
        """Whether a write has happened or still may."""
        frozen = [p for p in self.sim.processes if p.may_send and p.decision.step_id == step_id]
        return bool(frozen) or self.sim.receiver.touched(step_id)

    def teardown(self) -> None:
        """Left alone but for an operator, a run ends, and nothing ever comes too late."""
        if hasattr(self, "sim"):
            finish(self.sim)
            self.check_the_truth()


TestDriverAndWorkers = DriverAndWorkers.TestCase
TestDriverAndWorkers.settings = PROFILES[os.environ.get("ONWARD_TEST_PROFILE", "onward")]
