"""The driver whose every invocation Lambda may refuse, on a model clock."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from onward.app.driving.carry_out import carry_out
from onward.domain.model import MAIN_LANE
from onward.domain.protocol import Do, Restart

from tests.driver_model import TOO_MANY, Refused
from tests.store.driver import Driver

if TYPE_CHECKING:
    from onward.domain.model import Run
    from onward.domain.protocol import Decision

    from tests.driver_model import Refusals

PATROL: Final = 60.0
"""Seconds until the patrol replaces an execution that died."""


@dataclass
class RefusedDriver(Driver):
    """Asks for each function as its state says; lanes wait side by side, not one after another.

    `error` is what a step's Catch hands on when its state gave up.
    """

    refusals: Refusals | None = None
    error: str = TOO_MANY

    def to_the_end(self) -> None:
        """Execute, with the patrol's restarts of executions that died of a refusal."""
        generation = self._run().generation
        while not self._run().status.ended and not self._run().stalled:
            try:
                self.execute(generation)
            except Refused:
                self.drive.sleep(PATROL)
                dead = Restart("execution_failed", by_itself=True)
                carry_out(self.drive, self.run_id, generation, dead, self._until())
            generation = self._run().generation

    def settle(self, generation: int, *, begin: bool = False, lane: int | None = None) -> Decision:
        """Invoke settle, as Begin or Settle; a parked lane's is asked for in `lanes`."""
        if lane is None:
            self._sleep_to(self._taken("Begin" if begin else "Settle"))
        return super().settle(generation, begin=begin, lane=lane)

    def attempt(self, decision: Decision) -> Decision:
        """RunStep, after its Delay and with its Catch."""
        if decision.do is Do.DELAY:
            self.drive.sleep(decision.seconds)
        try:
            self._sleep_to(self._taken("RunStep"))
        except Refused as refused:
            self._sleep_to(refused.at)
            return self.recover(decision, self.error)
        return super().attempt(_now(decision))

    def recover(self, decision: Decision, error: str) -> Decision:
        """Recover, or the lane's."""
        self._sleep_to(self._taken("Recover" if decision.lane == MAIN_LANE else "LaneRecover"))
        return super().recover(decision, error)

    def park(self, decision: Decision) -> bool:
        """Park; where it gave up, Pause leads back to Settle."""
        try:
            self._sleep_to(self._taken("Park"))
        except Refused as refused:
            self._sleep_to(refused.at + 60.0)
            return True
        return super().park(decision)

    def lanes(self, lanes: tuple[Decision, ...]) -> None:
        """Let each lane go on when its invocation is taken; one that dies takes the Map along."""
        waiting = [self._asked(decision) for decision in lanes]
        heapq.heapify(waiting)
        while waiting:
            at, _, decision, error = heapq.heappop(waiting)
            if decision.do is not Do.WAIT or waiting:
                self._sleep_to(at)
            try:
                answer = self._answered(decision, error)
            except Refused as refused:
                self._sleep_to(refused.at)
                return
            if answer.do in {Do.STEP, Do.DELAY, Do.WAIT}:
                heapq.heappush(waiting, self._asked(answer))

    def _answered(self, decision: Decision, error: str) -> Decision:
        if decision.do is Do.WAIT:
            return self.settle(decision.generation, lane=decision.lane)
        return self.recover(decision, error) if error else Driver.attempt(self, decision)

    def _asked(self, decision: Decision) -> tuple[float, int, Decision, str]:
        """Return when a lane's attempt begins, or its Catch, and with which error."""
        pause = decision.seconds if decision.do in {Do.DELAY, Do.WAIT} else 0
        if decision.do is Do.WAIT:  # its last other lane wakes it sooner
            return self._taken("LaneWake", pause), decision.lane, decision, ""
        try:
            return self._taken("LaneStep", pause), decision.lane, _now(decision), ""
        except Refused as refused:
            return refused.at, decision.lane, _now(decision), self.error

    def _taken(self, state: str, after: float = 0.0) -> float:
        assert self.refusals is not None
        return self.refusals.taken(state, self.drive.clock() + after)

    def _sleep_to(self, at: float) -> None:
        self.drive.sleep(max(0.0, at - self.drive.clock()))

    def _run(self) -> Run:
        found = self.drive.reader.run(self.run_id)
        assert found is not None
        return found


def _now(decision: Decision) -> Decision:
    """Return the decision as the state behind its delay has it."""
    return replace(decision, do=Do.STEP, seconds=0) if decision.do is Do.DELAY else decision
