"""What a tool is told of its try: the number that its run's snapshot shows."""

from __future__ import annotations

from typing import Any

import pytest
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.model import RunStatus
from onward.sdk import NotApplied, StepContext

from tests.store import scripted_tools as tools
from tests.store.conftest import Time
from tests.store.driver import Driver
from tests.store.runs import journey, steps

pytestmark = pytest.mark.usefixtures("script")


def test_a_probed_write_is_told_its_second_try_and_third_fence(
    store: RunStore, reader: RunReader, blobs: Any, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for its probe raised the fence, and was no try."""
    told: list[tuple[int, int, str]] = []

    def find(ctx: StepContext, request: tools.Value) -> NotApplied:
        told.append((ctx.attempt, ctx.fence, ctx.attempt_id))
        return NotApplied()

    monkeypatch.setattr(tools.probed, "probe", find)
    plan = steps({"id": "pay", "tool": "probed", "input": {"value": 1}})
    made = journey(store, reader, blobs, time, plan)
    tools.SCRIPT["pay"] = [tools.dies]
    Driver(made.drive, made.run_id).execute()

    row = reader.rows(made.run_id, steps=["pay"]).steps["pay"]
    assert row is not None
    assert [(2, 3, "pay#3")] == told
    assert (RunStatus.SUCCEEDED, 2, 2, 3) == (
        made.run.status,
        made.run.attempts,
        row.attempt,
        row.fence,
    )
