"""A run from its birth to its end, in a world whose processes die: driver, operator, patience."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from onward.app.driving.carry_out import carry_out
from onward.app.driving.execute_once import execute_once
from onward.app.driving.execute_step import Attempt, Worker
from onward.aws.idempotency import Once
from onward.aws.run_reader import RunReader
from onward.domain.errors import NotWaiting
from onward.domain.model import Payload, Run, RunStatus
from onward.domain.protocol import Decision, Do, Resolve, Verdict
from onward.sdk.testing import MemoryLog

from tests.fault.receiver import OUTSIDE
from tests.fault.tools import TOOLS
from tests.store.caller import Context
from tests.store.driver import REQUEST, Driver
from tests.store.scripted_tools import Died

RETRIES = 8
ANSWERS = 5
LONG = 2_000.0


@dataclass
class Mortal(Driver):
    """Every process may die: the driver's own are tried again, as its `Retry` says."""

    once: Once | None = None
    observer: RunReader | None = None
    """Reads what the test asks, beside the clients whose calls go wrong."""

    def settle(self, generation: int, *, begin: bool = False, lane: int | None = None) -> Decision:
        return self._retried(lambda: Driver.settle(self, generation, begin=begin, lane=lane))

    def recover(self, decision: Decision, error: str) -> Decision:
        return self._retried(lambda: Driver.recover(self, decision, error))

    def attempt(self, decision: Decision) -> Decision:
        """RunStep: the worker is idempotent per attempt; its end goes to recover."""
        if decision.do is Do.DELAY:
            self.drive.sleep(decision.seconds)
        once = self.once
        assert once is not None
        once.begin(Context())
        document = decision.to_json()
        try:
            answer = execute_once(self._worker(), once, Attempt.of(document))
        except Died:
            return self.recover(decision, "Runtime.ExitError")
        except Exception as error:  # noqa: BLE001 - Step Functions catches whatever it is
            return self.recover(decision, type(error).__name__)
        return _decision(answer)

    def _worker(self) -> Worker:
        return Worker(
            drive=self.drive,
            log=MemoryLog(),
            request_id=REQUEST,
            until=self._until(),
            end_process=lambda: None,
            tools=lambda: TOOLS,
        )

    def park(self, decision: Decision) -> bool:
        return bool(self._retried(lambda: Driver.park(self, decision)))

    def answer(self, step_id: str) -> None:
        """Say of a write in doubt what the outside knows; asked again if the answer got lost."""
        done = OUTSIDE.effects[step_id] > 0
        verdict = Verdict.APPLIED if done else Verdict.NOT_APPLIED
        result = Payload('{"value":"seen"}') if done else None
        command = Resolve(step_id, verdict, "ada", result)
        with suppress(NotWaiting):  # the answer before, whose reply was lost, counted
            until = self._until()
            self._retried(lambda: carry_out(self.drive, self.run_id, None, command, until))

    def _retried(self, work: Any) -> Any:
        """The retrier of the driver's tasks: 1, 2, 4 … 60 s, half of each with full jitter."""
        for count in range(RETRIES):
            try:
                return work()
            except Died:
                continue
            except NotWaiting:
                raise
            except Exception as error:  # noqa: BLE001 - States.ALL
                last = error
            self.drive.sleep(min(60, 2**count) / 2)
        raise last


def _decision(document: dict[str, Any]) -> Decision:
    """Read a decision as the state machine does."""
    lanes = tuple(_decision(lane) for lane in document.get("lanes", []))
    known = {k: v for k, v in document.items() if k not in {"do", "lanes"}}
    return Decision(do=Do(document["do"]), lanes=lanes, **known)


def to_the_end(driver: Mortal) -> Run:
    """Follow a run; an operator who looks at the outside answers what it asks."""
    driver.execute()
    for _ in range(ANSWERS):
        run = current(driver)
        if run.status is not RunStatus.NEEDS_RECONCILIATION:
            return run
        driver.drive.sleep(LONG)
        for step_id in run.waiting:
            driver.answer(step_id)
        driver.follow(driver.settle(run.generation), run.generation)
    return current(driver)


def current(driver: Mortal) -> Run:
    assert driver.observer is not None
    run = driver.observer.run(driver.run_id)
    assert run is not None
    return run
