"""A probe is believed only where the worker that asks sees by its own clock that all has settled.

Settle and park are five minutes ahead here; the write lands just before it has settled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.model import Payload, RunStatus
from onward.domain.protocol import Decision, Do
from onward.sdk import Applied, NotApplied, StepContext

from tests.store import scripted_tools as tools
from tests.store.conftest import Time
from tests.store.driver import Driver
from tests.store.runs import Journey, journey, steps

pytestmark = pytest.mark.usefixtures("script")

AHEAD = 300.0
SETTLES = 30.0

asked: list[float] = []
landed: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def receiver(monkeypatch: pytest.MonkeyPatch, time: Time) -> Iterator[None]:
    """It holds what has landed by its key; `asked` is when."""
    asked.clear()
    landed.clear()

    def find(ctx: StepContext, request: tools.Value) -> Applied | NotApplied:
        asked.append(time.now)
        key = ctx.idempotency_key
        return Applied(request, keys=(key,)) if landed[key] else NotApplied()

    monkeypatch.setattr(tools.probed, "probe", find)
    yield
    asked.clear()


@pytest.fixture
def lost(store: RunStore, reader: RunReader, blobs: Any, time: Time) -> tuple[Journey, Decision]:
    """A write whose worker died after it had sent; the driver waits."""
    plan = steps({"id": "pay", "tool": "probed", "input": {"value": 1}})
    made = journey(store, reader, blobs, time, plan)
    driver = Driver(made.drive, made.run_id)
    tools.SCRIPT["pay"] = [tools.dies]
    decision = driver.attempt(driver.settle(1, begin=True))
    assert (Do.WAIT, SETTLES) == (decision.do, decision.seconds)
    return made, decision


def ahead(made: Journey, time: Time) -> Decision:
    """What a settle decides whose clock is wrong."""
    made.drive.clock = lambda: time.now + AHEAD
    decision = Driver(made.drive, made.run_id).settle(1)
    made.drive.clock = time.clock
    return decision


def test_a_probe_that_is_opened_too_early_asks_nothing(
    lost: tuple[Journey, Decision], time: Time
) -> None:
    """Its write lands later and is found: one effect, and no try is gone."""
    made, _ = lost
    driver = Driver(made.drive, made.run_id)
    (key,) = tools.CALLS
    before = made.run.retries_left

    asks = ahead(made, time)
    assert Do.STEP is asks.do
    waits = driver.attempt(asks)

    assert (Do.WAIT, []) == (waits.do, asked)
    assert before == made.run.retries_left
    time.now += SETTLES - 1
    landed[key] += 1
    assert Do.WAIT is ahead(made, time).do
    time.now += 2
    driver.follow(ahead(made, time), 1)

    assert RunStatus.SUCCEEDED is made.run.status
    assert ([time.now], 1) == (asked, sum(tools.CALLS.values()))


def test_what_is_left_of_a_wait_is_waited_for_if_it_is_short(
    lost: tuple[Journey, Decision], time: Time
) -> None:
    """Clocks differ by a little; no attempt is opened again for that."""
    made, _ = lost
    time.now += SETTLES - 3
    Driver(made.drive, made.run_id).follow(ahead(made, time), 1)
    assert (3.0, 1) == (time.naps[-1], len(asked))
    assert asked[0] == made.run.created_at + SETTLES


def test_a_receipt_that_is_there_is_not_asked_for(
    lost: tuple[Journey, Decision], time: Time
) -> None:
    """It came after the attempt that asks was opened."""
    made, _ = lost
    time.now += SETTLES
    driver = Driver(made.drive, made.run_id)
    asks = driver.settle(1)
    made.store.keep_receipt(made.run_id, "pay", 1, Payload('{"value":"B-7"}'))

    driver.follow(asks, 1)

    row = made.drive.reader.rows(made.run_id, steps=["pay"]).steps["pay"]
    assert row is not None
    assert ([], '{"value":"B-7"}') == (asked, row.output and row.output.text)
