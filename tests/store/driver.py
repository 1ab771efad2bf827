"""What driver.asl.json does, in one thread: it follows decisions until it is told to stop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onward.app.driving.carry_out import Drive
from onward.app.driving.execute_step import Attempt, Worker, execute_step
from onward.app.driving.park_driver import park_driver
from onward.app.driving.recover_step import recover_step
from onward.app.driving.settle_run import settle_run
from onward.domain.plan import ToolSpec
from onward.domain.protocol import Decision, Do
from onward.sdk import Model
from onward.sdk.context import Sandbox, no_sandbox
from onward.sdk.testing import MemoryLog

from tests.store.runs import TOOLS
from tests.store.scripted_tools import Died

MARGIN = 60.0
REQUEST = "0a64e7d2-6d2a-4c54-9d0a-6ac1bc1ad6cd"
"""Of every invocation: the driver waits for the one that it made."""


@dataclass
class Driver:
    """One execution at a time; `did` lists its moves."""

    drive: Drive
    run_id: str
    did: list[str] = field(default_factory=list)
    parks: int = 3
    tools: Mapping[str, ToolSpec] = field(default_factory=lambda: TOOLS)
    models: Sequence[Model] = ()
    sandbox: Sandbox = no_sandbox
    woken: list[str] = field(default_factory=list)

    def execute(self, generation: int = 1) -> Decision:
        """Begin a generation and follow it to its end."""
        return self.follow(self.settle(generation, begin=True), generation)

    def follow(self, decision: Decision, generation: int) -> Decision:
        """Do what decisions say until one says stop, or nobody answers a wait."""
        while decision.do is not Do.STOP:
            self.did.append(decision.do.value)
            if decision.do in {Do.STEP, Do.DELAY}:
                decision = self.attempt(decision)
            elif decision.do is Do.FANOUT:
                self.lanes(decision.lanes)
                decision = self.settle(generation)
            elif decision.do is Do.HANDOFF:
                decision = self.settle(generation)
            elif not self.park(decision):
                return decision
            else:
                decision = self.settle(generation)
        return decision

    def settle(self, generation: int, *, begin: bool = False, lane: int | None = None) -> Decision:
        return settle_run(
            self.drive, self.run_id, generation, self._until(), begin=begin, lane=lane
        )

    def lanes(self, lanes: tuple[Decision, ...]) -> None:
        """Take turns: each lane makes one move, then the next one does.

        One that is parked is woken when no other works any more.
        """
        running = list(lanes)
        while running:
            working = [decision for decision in running if decision.do is not Do.WAIT]
            parked = [decision for decision in running if decision.do is Do.WAIT]
            if working:
                moved = [self.attempt(decision) for decision in working] + parked
            else:
                moved = [self.settle(one.generation, lane=one.lane) for one in parked]
            running = [decision for decision in moved if decision.do in _IN_LANES]

    def attempt(self, decision: Decision) -> Decision:
        """RunStep with its Catch: what the worker raises, or its death, goes to recover."""
        if decision.do is Do.DELAY:
            self.drive.sleep(decision.seconds)
        worker = Worker(
            drive=self.drive,
            log=MemoryLog(),
            request_id=REQUEST,
            until=self._until(),
            end_process=_cannot_end,
            tools=lambda: self.tools,
            models=self.models,
            sandbox=self.sandbox,
            wake=self.woken.append,
        )
        try:
            return execute_step(worker, Attempt.of(decision.to_json()))
        except Died:
            return self.recover(decision, "Runtime.ExitError")
        except Exception as error:  # noqa: BLE001 - Step Functions catches whatever it is
            return self.recover(decision, type(error).__name__)

    def recover(self, decision: Decision, error: str) -> Decision:
        self.did.append("recover")
        cause = f"RequestId: {REQUEST} Error: Runtime exited with error: signal: killed"
        event: dict[str, Any] = {**decision.to_json(), "error": {"Error": error, "Cause": cause}}
        return recover_step(self.drive, event, self._until())

    def park(self, decision: Decision) -> bool:
        """Sleep until the wait is over; False when it was for nobody we know."""
        answered: list[str] = []
        generation = decision.generation
        ask = (self.drive, self.run_id, generation, "token", answered.append, decision.seconds)
        slept = park_driver(*ask)
        assert slept is not bool(answered)
        self.parks -= 1
        self.drive.sleep(decision.seconds)
        return self.parks > 0

    def _until(self) -> float:
        return self.drive.clock() + MARGIN


_IN_LANES = {Do.STEP, Do.DELAY, Do.WAIT}


def _cannot_end() -> None:
    raise AssertionError("the deadline's watch fired in a test")
