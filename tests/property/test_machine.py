"""The state machine under every fault that the driver, its workers and time can do to it.

For a long run: ONWARD_TEST_PROFILE=thorough pytest tests/property.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from onward.domain.model import MAIN_LANE, RunStatus, StepStatus
from onward.domain.protocol import AttemptClosed, Begin, Complete, Recover, Report, Restart, Settle

from tests.builders import payload, store_of
from tests.driver_model import At, Execution
from tests.property.course import finish, go_on
from tests.property.invariants import PAST, abandoned
from tests.property.plans import LISTS, plans
from tests.property.simulation import Simulation
from tests.property.workers import FAILURES, take_up

if TYPE_CHECKING:
    from onward.domain.plan import CompiledPlan

SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
PROFILES = {
    name: settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        print_blob=True,
        suppress_health_check=SLOW,
    )
    for name, examples, steps in (("onward", 100, 50), ("thorough", 3_000, 100))
}
GIVEN_UP = {StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED}
STAGES = ["frozen", "marks", "sends", "sends"]


class DriverAndWorkers(RuleBasedStateMachine):
    """Every rule is something that may happen next."""

    sim: Simulation

    @initialize(
        plan=plans(),
        deadline=st.sampled_from([None, None, None, 120.0, 2_000.0]),
        retries=st.sampled_from([None, None, 3]),
        tokens=st.sampled_from([None, None, None, 50]),
        late=st.booleans(),
    )
    def submit(self, plan: CompiledPlan, *, late: bool, **limits: Any) -> None:
        deadline, retries, tokens = limits["deadline"], limits["retries"], limits["tokens"]
        store = store_of(plan, LISTS, deadline_seconds=deadline, retries=retries, tokens=tokens)
        self.sim = Simulation(store, late=late)

    @property
    def at(self) -> At:
        """Where the current execution is."""
        return self.sim.execution.at

    # --- the driver and the patrol ----------------------------------------------------------

    @precondition(lambda self: not self.sim.run.status.ended)
    @rule(moves=st.sampled_from([1, 1, 2, 5]))
    def all_goes_well(self, moves: int) -> None:
        for _ in range(moves):
            go_on(self.sim)

    @precondition(lambda self: self.at in {At.BEGIN, At.SETTLE})
    @rule()
    def main_lane_decides_and_its_reply_is_lost(self) -> None:
        self.sim.decide_in_main(lost_reply=True)

    @precondition(lambda self: self.at is At.PARK and self.sim.token is None)
    @rule()
    def driver_goes_to_sleep(self) -> None:
        self.sim.park()

    @precondition(lambda self: self.at is At.PARK)
    @rule()
    def park_is_woken_early(self) -> None:
        self.sim.end_park(over=False)

    @precondition(lambda self: self.at is At.LANES)
    @rule(sure=st.integers(0, 3))
    def map_dies(self, sure: int) -> None:
        """All lanes are lost at once; their processes live on."""
        if not sure:
            self.sim.execution.lanes = {}
            self.sim.execution.at = At.SETTLE

    @precondition(lambda self: not self.sim.run.status.ended)
    @rule(alive=st.booleans(), times=st.sampled_from([0, 0, 0, 0, 1, 1, 2, 4]))
    def executions_are_replaced(self, alive: bool, times: int) -> None:
        for _ in range(times):
            self.sim.replace_execution(alive=alive)

    @precondition(lambda self: self.sim.run.stalled and self.at is At.DONE)
    @rule()
    def stalled_run_is_started_after_all(self) -> None:
        self.sim.executions[-1] = Execution(self.sim.run.generation)

    @precondition(lambda self: len(self.sim.executions) > 1)
    @rule(data=st.data())
    def old_execution_asks(self, data: Any) -> None:
        """Whatever a replaced execution asks, it is told to stop and changes nothing."""
        old = data.draw(st.sampled_from(self.sim.executions[:-1]))
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

    @precondition(lambda self: self.sim.execution.lanes)
    @rule(data=st.data(), lost_reply=st.booleans(), sends=st.booleans(), dead=st.booleans())
    def attempt_is_lost(self, data: Any, lost_reply: bool, sends: bool, dead: bool) -> None:
        """The driver gives an attempt up whose process, unless it is dead, lives on."""
        lanes = self.sim.execution.lanes
        lane = data.draw(st.sampled_from(sorted(lanes)))
        attempt = lanes[lane]
        decision = self.sim.recover(attempt, dead=dead, sends=sends)
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

    @precondition(lambda self: self.sim.deaf)
    @rule()
    def operators_answer_is_signalled(self) -> None:
        self.sim.signal()

    @precondition(lambda self: self.sim.run.status is RunStatus.FAILED or self.sim.run.stalled)
    @rule(names_all=st.booleans())
    def operator_resumes(self, names_all: bool) -> None:
        self.sim.resume(names_all=names_all)

    # --- workers ----------------------------------------------------------------------------

    @precondition(lambda self: self.sim.idle)
    @rule(data=st.data(), count=st.sampled_from([1, 1, 3]), stage=st.sampled_from(STAGES))
    def processes_start(self, data: Any, count: int, stage: str) -> None:
        for decision in data.draw(st.permutations(self.sim.idle))[:count]:
            process = take_up(self.sim, decision) if decision in self.sim.idle else None
            if process is not None and stage == "marks":
                process.mark(self.sim)
            if process is not None and stage == "sends":
                process.send(self.sim)

    @precondition(lambda self: self.sim.idle)
    @rule(
        data=st.data(),
        result=st.sampled_from(["ok", "unknown", *FAILURES]),
        jitter=st.floats(0, 0.999),
        ends=st.sampled_from(["answers", "answers", "answers", "dies_after", "times_out"]),
    )
    def attempt_goes_badly(self, data: Any, result: str, jitter: float, ends: str) -> None:
        """It fails, or its answer is lost, or it is given up while it still runs."""
        decision = data.draw(st.sampled_from(self.sim.idle))
        process = take_up(self.sim, decision)
        if process is None:
            return
        if ends == "times_out":
            process.send(self.sim)
            answer = self.sim.recover(decision, dead=False)
            self.sim.execution.take(answer, decision.lane)
        else:
            process.end(self.sim, result, jitter, dies_after=ends == "dies_after")

    @precondition(lambda self: self.sim.processes)
    @rule(data=st.data())
    def frozen_process_sends(self, data: Any) -> None:
        data.draw(st.sampled_from(self.sim.processes)).send(self.sim)

    @precondition(lambda self: self.sim.processes)
    @rule(
        data=st.data(),
        result=st.sampled_from(["ok", "ok", *FAILURES]),
        jitter=st.floats(0, 0.999),
        dies_after=st.booleans(),
    )
    def process_commits(self, data: Any, result: str, jitter: float, dies_after: bool) -> None:
        process = data.draw(st.sampled_from(self.sim.processes))
        process.end(self.sim, result, jitter, dies_after=dies_after)

    @precondition(lambda self: self.sim.processes)
    @rule(data=st.data(), keeps_receipt=st.booleans())
    def process_dies(self, data: Any, keeps_receipt: bool) -> None:
        process = data.draw(st.sampled_from(self.sim.processes))
        process.die(self.sim, keeps_receipt=keeps_receipt)

    @precondition(lambda self: self.sim.processes)
    @rule(data=st.data())
    def process_decides_and_freezes(self, data: Any) -> None:
        data.draw(st.sampled_from(self.sim.processes)).decide_and_freeze(self.sim)

    @precondition(lambda self: any(p.held for p in self.sim.processes))
    @rule(data=st.data())
    def process_commits_what_it_decided(self, data: Any) -> None:
        held = [process for process in self.sim.processes if process.held]
        data.draw(st.sampled_from(held)).commit_held(self.sim)

    @precondition(lambda self: self.sim.processes)
    @rule(data=st.data())
    def process_reports(self, data: Any) -> None:
        process = data.draw(st.sampled_from(self.sim.processes))
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
            if row.status in PAST or not self.touched(step_id):
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
