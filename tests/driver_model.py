"""The state machine `driver.asl.json` in memory: what one execution does with decisions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from onward.domain.model import MAIN_LANE, RunStatus, StepStatus
from onward.domain.protocol import Begin, Complete, Decision, Do, Fail, Settle, WakeLane

from infra.driver import DEFINITION
from tests.builders import NOW, payload

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.domain.model import Failure, Json
    from onward.domain.protocol import Command

    from tests.memory_store import MemoryStore


TOO_MANY: Final = "Lambda.TooManyRequestsException"

States = dict[str, dict[str, Any]]


def states() -> States:
    """Return all states of the driver, those of its Map too, as `driver.asl.json` has them."""
    machine: dict[str, Any] = json.loads(DEFINITION.read_text())
    return machine["States"] | machine["States"]["Lanes"]["ItemProcessor"]["States"]


class Refused(Exception):
    """A state gave up asking for its function at this time, with this error."""

    def __init__(self, state: str, at: float) -> None:
        """Say which state and when."""
        super().__init__(f"{state}: {TOO_MANY}")
        self.at = at


@dataclass(slots=True)
class Refusals:
    """Lambda refuses every invocation for some seconds; the template says when it is asked again.

    The window opens with the `first` invocation. `chance` is the part of a pause that full jitter
    leaves of it (0 to 1).
    """

    states: States
    chance: Callable[[], float]
    first: int = 0
    seconds: float = 0.0
    asked: list[str] = field(default_factory=list)
    until: float = float("-inf")
    refused: Counter[str] = field(default_factory=Counter)

    def taken(self, state: str, now: float) -> float:
        """Return when a state's invocation is taken, by its retriers; raises Refused."""
        self.asked.append(state)
        if len(self.asked) == self.first:
            self.until = now + self.seconds
        retriers = self.states[state].get("Retry", [])
        fits = [each for each in retriers if {TOO_MANY, "States.ALL"} & {*each["ErrorEquals"]}]
        tries = 0
        while now < self.until:
            self.refused[state] += 1
            # The first retrier that names the error is the one (States Language: "Retrying").
            if not fits or tries >= fits[0].get("MaxAttempts", 3):
                raise Refused(state, now)
            now += self._pause(fits[0], tries)
            tries += 1
        return now

    def _pause(self, retrier: dict[str, Any], tries: int) -> float:
        """Return the seconds before the next try; the exponent is cut where the cap holds."""
        grown = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2.0) ** min(
            tries, 64
        )
        pause = min(grown, retrier.get("MaxDelaySeconds", grown))
        full = retrier.get("JitterStrategy", "NONE") == "FULL"
        return float(pause * self.chance() if full else pause)


class At(StrEnum):
    """The states in which an execution waits for something."""

    BEGIN = "Begin"
    RUN_STEP = "RunStep"
    LANES = "Lanes"
    SETTLE = "Settle"
    PARK = "Park"
    DONE = "Done"


@dataclass(slots=True)
class Execution:
    """One execution of the driver: `lanes` are what it waits for, by lane: attempts, or a wait."""

    generation: int
    at: At = At.BEGIN
    lanes: dict[int, Decision] = field(default_factory=dict)
    parked: Decision | None = None
    transitions: Counter[str] = field(default_factory=Counter)

    def take(self, decision: Decision, lane: int = MAIN_LANE) -> None:
        """Follow a decision that was returned to the main lane or to a lane of the Map."""
        self.transitions[decision.do] += 1
        if self.at is At.LANES:
            self._take_in_lane(decision, lane)
            return
        self.lanes, self.parked = {}, None
        match decision.do:
            case Do.STEP | Do.DELAY:
                self.at, self.lanes = At.RUN_STEP, {MAIN_LANE: decision}
            case Do.FANOUT:
                self.at, self.lanes = At.LANES, {d.lane: d for d in decision.lanes}
                assert len(self.lanes) == len(decision.lanes)
            case Do.WAIT:
                self.at, self.parked = At.PARK, decision
            case Do.HANDOFF:
                self.at = At.SETTLE
            case Do.STOP:
                self.at = At.DONE

    def _take_in_lane(self, decision: Decision, lane: int) -> None:
        if decision.do in {Do.STEP, Do.DELAY, Do.WAIT}:
            self.lanes[lane] = decision
            return
        del self.lanes[lane]
        if not self.lanes:
            self.at = At.SETTLE

    @property
    def parked_lane(self) -> int | None:
        """The lane of the Map that waits with the run's waits."""
        parked = [lane for lane, decision in self.lanes.items() if decision.do is Do.WAIT]
        assert len(parked) <= 1
        return parked[0] if parked else None


class Worker:
    """A worker whose tools return, but for the failures that were written down for a step.

    A tool returns a list of `size` items where its input asks for one, else its step's id.
    """

    def __init__(
        self, store: MemoryStore, failures: dict[str, list[Failure]] | None = None
    ) -> None:
        """Answer for the attempts of this store's run; one failure is used up an attempt."""
        self.store = store
        self.failures = failures or {}

    def __call__(self, decision: Decision) -> Command:
        """Return what the attempt commits."""
        step_id, fence = decision.step_id, decision.fence
        if self.failures.get(step_id):
            return Fail(step_id, fence, self.failures[step_id].pop(0), jitter=0.5)
        return Complete(step_id, fence, payload(self.value(decision)))

    def value(self, decision: Decision) -> Json:
        """Return the attempt's output."""
        planned = self.store.plan[decision.plan_key]
        size = planned.input.get("size") if isinstance(planned.input, dict) else None
        return {"items": list(range(size))} if isinstance(size, int) else decision.step_id


@dataclass(slots=True)
class Drive:
    """Drives a run without faults but those of `tool`; time passes only while it waits."""

    store: MemoryStore
    tool: Callable[[Decision], Command] | None = None
    now: float = NOW
    decisions: int = 0
    execution: Execution = field(init=False)

    def __post_init__(self) -> None:
        """Start with the execution of the run's generation."""
        self.execution = Execution(self.store.run.generation)
        self.tool = self.tool or Worker(self.store)

    def to_the_end(self, limit: int = 5_000) -> MemoryStore:
        """Drive until the run ended or waits for a person; no more than `limit` decisions."""
        while not self.store.run.status.ended and not self.waits_for_a_person():
            assert self.decisions < limit, f"no end after {limit} decisions: {self.store.run}"
            self.move()
        return self.store

    def waits_for_a_person(self) -> bool:
        """Whether nothing but an answer can move the run."""
        run = self.store.run
        kinds = {wait.kind for wait in run.waiting.values()}
        return (
            self.execution.at is At.PARK
            and run.status is RunStatus.NEEDS_RECONCILIATION
            and kinds == {StepStatus.NEEDS_RECONCILIATION}
            and run.deadline is None
        )

    def move(self) -> None:
        """Let the execution take one step; lanes take turns."""
        self.decisions += 1
        execution = self.execution
        match execution.at:
            case At.BEGIN:
                execution.take(self.send(Begin()))
            case At.SETTLE:
                execution.take(self.send(Settle()))
            case At.PARK:
                assert execution.parked is not None
                self.now += execution.parked.seconds
                execution.take(self.send(Settle()))
            case At.DONE:
                assert self.store.run.generation > execution.generation
                self.execution = Execution(self.store.run.generation)
            case At.RUN_STEP | At.LANES:
                self._run_lane(next(iter(execution.lanes)))

    def _run_lane(self, lane: int) -> None:
        decision = self.execution.lanes.pop(lane)
        self.execution.lanes[lane] = decision  # the lane goes to the end of the line
        if decision.do is Do.WAIT:
            if self.store.run.open:
                return  # what works comes first; its last commit wakes this lane
            self.execution.take(self.send(WakeLane(lane)), lane)
            return
        if decision.do is Do.DELAY:
            self.now += decision.seconds
        assert self.tool is not None
        self.execution.take(self.send(self.tool(decision)), lane)

    def send(self, command: Command) -> Decision:
        """Carry a command out in this execution's generation."""
        return self.store.carry_out(command, self.execution.generation, self.now).decision
