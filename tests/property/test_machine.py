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
from onward.domain.model import MAIN_LANE, RunStatus
from onward.domain.protocol import AttemptClosed, Begin, Complete, Recover, Report, Restart, Settle

from tests.builders import payload, store_of
from tests.driver_model import At
from tests.property.plans import LISTS, plans
from tests.property.simulation import FAILURES, GIVEN_UP, Simulation

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
    for name, examples, steps in (("onward", 250, 60), ("thorough", 3_000, 100))
}


class DriverAndWorkers(RuleBasedStateMachine):
    """Every rule is something that may happen next."""

    simulation: Simulation

    @initialize(
        plan=plans(),
        deadline=st.sampled_from([None, None, None, 120.0]),
        retries=st.sampled_from([None, None, 3]),
        tokens=st.sampled_from([None, None, None, 50]),
    )
    def submit(self, plan: CompiledPlan, **limits: Any) -> None:
        deadline, retries, tokens = limits["deadline"], limits["retries"], limits["tokens"]
        self.simulation = Simulation(
            store_of(plan, LISTS, deadline_seconds=deadline, retries=retries, tokens=tokens)
        )

    @property
    def at(self) -> At:
        """Where the current execution is."""
        return self.simulation.execution.at

    @precondition(lambda self: not self.simulation.run.status.ended)
    @rule(moves=st.sampled_from([1, 1, 2, 5]))
    def all_goes_well(self, moves: int) -> None:
        for _ in range(moves):
            self.simulation.go_on()

    @precondition(lambda self: self.at in {At.BEGIN, At.SETTLE})
    @rule()
    def main_lane_decides_and_its_reply_is_lost(self) -> None:
        self.simulation.decide_in_main(lost_reply=True)

    @precondition(lambda self: self.at is At.PARK)
    @rule()
    def park_is_woken_early(self) -> None:
        self.simulation.end_park(over=False)

    @precondition(lambda self: self.at is At.LANES)
    @rule(sure=st.integers(0, 3))
    def map_dies(self, sure: int) -> None:
        """All lanes are lost at once; their processes live on."""
        if not sure:
            self.simulation.execution.lanes = {}
            self.simulation.execution.at = At.SETTLE

    @precondition(lambda self: not self.simulation.run.status.ended)
    @rule(alive=st.booleans(), sure=st.integers(0, 5))
    def execution_is_replaced(self, alive: bool, sure: int) -> None:
        if not sure:
            self.simulation.replace_execution(alive=alive)

    @precondition(lambda self: len(self.simulation.executions) > 1)
    @rule(data=st.data())
    def old_execution_asks(self, data: Any) -> None:
        """Whatever a replaced execution asks, it is told to stop and changes nothing."""
        simulation = self.simulation
        old = data.draw(st.sampled_from(simulation.executions[:-1]))
        rows = simulation.store.steps.items()
        step_id, fence = data.draw(st.sampled_from([("x", 1), *((s, r.fence) for s, r in rows)]))
        commands = [
            Begin(),
            Settle(),
            Restart("again"),
            Complete(step_id, fence, payload("late")),
            Recover(step_id, fence, MAIN_LANE, "late", dead=False),
        ]
        simulation.send(data.draw(st.sampled_from(commands)), old)

    @rule(seconds=st.sampled_from([0.4, 3.0, 31.0, 90.0]))
    def time_passes(self, seconds: float) -> None:
        self.simulation.now += seconds

    @precondition(lambda self: self.simulation.idle)
    @rule(data=st.data(), count=st.sampled_from([1, 1, 3]), marks=st.booleans())
    def processes_start(self, data: Any, count: int, marks: bool) -> None:
        for decision in data.draw(st.permutations(self.simulation.idle))[:count]:
            self.simulation.start(decision, marks=marks)

    @precondition(lambda self: self.simulation.idle)
    @rule(
        data=st.data(),
        result=st.sampled_from(["ok", *FAILURES]),
        jitter=st.floats(0, 0.999),
        ends=st.sampled_from(["answers", "answers", "answers", "dies_after", "times_out", "late"]),
    )
    def attempt_goes_badly(self, data: Any, result: str, jitter: float, ends: str) -> None:
        """It fails, or its answer is lost, or it is given up while it still runs (or commits)."""
        decision = data.draw(st.sampled_from(self.simulation.idle))
        process = self.simulation.start(decision)
        if ends in {"times_out", "late"}:
            answer = self.simulation.recover(decision, dead=False)
            self.simulation.execution.take(answer, decision.lane)
        if ends != "times_out":
            self.simulation.end(process, result, jitter, dies_after=ends == "dies_after")

    @precondition(lambda self: self.simulation.processes)
    @rule(data=st.data())
    def frozen_process_sends(self, data: Any) -> None:
        self.simulation.mark(data.draw(st.sampled_from(self.simulation.processes)))

    @precondition(lambda self: self.simulation.processes)
    @rule(
        data=st.data(),
        result=st.sampled_from(["ok", "ok", *FAILURES]),
        jitter=st.floats(0, 0.999),
        dies_after=st.booleans(),
    )
    def process_commits(
        self,
        data: Any,
        result: str,
        jitter: float,
        dies_after: bool,
    ) -> None:
        process = data.draw(st.sampled_from(self.simulation.processes))
        self.simulation.end(process, result, jitter, dies_after=dies_after)

    @precondition(lambda self: self.simulation.processes)
    @rule(data=st.data(), keeps_receipt=st.booleans())
    def process_dies(self, data: Any, keeps_receipt: bool) -> None:
        process = data.draw(st.sampled_from(self.simulation.processes))
        self.simulation.die(process, keeps_receipt=keeps_receipt)

    @precondition(lambda self: self.simulation.processes)
    @rule(data=st.data())
    def process_decides_and_freezes(self, data: Any) -> None:
        self.simulation.decide_and_freeze(data.draw(st.sampled_from(self.simulation.processes)))

    @precondition(lambda self: any(p.held for p in self.simulation.processes))
    @rule(data=st.data())
    def process_commits_what_it_decided(self, data: Any) -> None:
        held = [process for process in self.simulation.processes if process.held]
        self.simulation.commit_held(data.draw(st.sampled_from(held)))

    @precondition(lambda self: self.simulation.processes)
    @rule(data=st.data())
    def process_reports(self, data: Any) -> None:
        process = data.draw(st.sampled_from(self.simulation.processes))
        report = Report(process.decision.step_id, process.decision.fence, 0.5)
        generation = process.execution.generation
        try:
            self.simulation.store.carry_out(report, generation, self.simulation.now)
        except AttemptClosed:
            return

    @precondition(lambda self: self.simulation.execution.lanes)
    @rule(
        data=st.data(),
        lost_reply=st.booleans(),
        sends=st.booleans(),
        dead=st.booleans(),
    )
    def attempt_is_lost(
        self,
        data: Any,
        lost_reply: bool,
        sends: bool,
        dead: bool,
    ) -> None:
        """The driver gives an attempt up whose process, if it has one, lives on."""
        lanes = self.simulation.execution.lanes
        lane = data.draw(st.sampled_from(sorted(lanes)))
        attempt = lanes[lane]
        decision = self.simulation.recover(attempt, dead=dead, sends=sends)
        if lost_reply:
            decision = self.simulation.recover(attempt, dead=dead)
        self.simulation.execution.take(decision, lane)

    @invariant()
    def a_failing_run_never_succeeds(self) -> None:
        if self.simulation.run.failing is not None:
            assert self.simulation.run.status is not RunStatus.SUCCEEDED

    @invariant()
    def a_doubtful_send_stays_known_as_such(self) -> None:
        """Once its attempt closed, the ledger says unknown, and no step was given up over it."""
        for step_id, sends in self.simulation.doubtful.items():
            effect = self.simulation.store.effects[step_id]
            row = self.simulation.store.steps[step_id]
            if sends:
                assert row.status not in GIVEN_UP
            if sends and row.fence > (effect.sent_fence or 0):
                assert effect.unknown_since is not None or effect.state is EffectState.APPLIED

    def teardown(self) -> None:
        """Left alone, a run ends or waits for a person."""
        if hasattr(self, "simulation"):
            self.simulation.end_without_faults()


TestDriverAndWorkers = DriverAndWorkers.TestCase
TestDriverAndWorkers.settings = PROFILES[os.environ.get("ONWARD_TEST_PROFILE", "onward")]
