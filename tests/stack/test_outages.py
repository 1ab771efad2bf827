"""What AWS refuses for a while takes nothing off a run: rehearsed in the emulator itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError
from onward.client import Onward

from infra.local.deploy import client
from infra.local.outages import STARTS, TABLES, announce

if TYPE_CHECKING:
    from infra.local.stack import Stack

ECHO = {"tool": "echo", "input": {"value": 1, "quiet": True}}
PLAN = {"steps": [{"id": f"s{n}", "after": [f"s{n - 1}"] if n else []} | ECHO for n in range(8)]}
SECONDS = 5.0


@pytest.mark.parametrize("what", [TABLES, STARTS])
def test_a_run_goes_on_when_capacity_is_back(
    stack: Stack, state: Path, onward: Onward, what: str
) -> None:
    """It ends well, with one try a step and a budget of no retries; nothing is asked of anybody."""
    run_id = onward.submit(plan=PLAN, budget={"retries": 0})["run_id"]
    announce(state, **{what: SECONDS})
    run = onward.wait(run_id, patience=120)
    assert ("succeeded", 8, [1] * 8) == (
        run["status"],
        run["counts"]["attempts"],
        [step["attempts"] for step in run["steps"]],
    ), run["error"]


def test_busy_tables_refuse_whoever_asks(stack: Stack, state: Path) -> None:
    """And no longer than was announced."""
    table = stack.outputs["RunsTable"]
    key = {"pk": {"S": "none"}, "sk": {"S": "none"}}
    announce(state, tables=60)
    with pytest.raises(ClientError, match="ThrottlingException"):
        client("dynamodb", stack).get_item(TableName=table, Key=key)
    announce(state)
    began = time.monotonic()
    client("dynamodb", stack).get_item(TableName=table, Key=key)
    assert time.monotonic() - began < SECONDS
