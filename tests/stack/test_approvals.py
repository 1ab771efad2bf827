"""People decide on a whole stack: at once, after a restart, and on an edited amount."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from onward.client import Onward

from infra.local.drills.outside import outside
from infra.local.stack import down, up

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.outside import Outside
    from infra.local.stack import Stack

PATIENCE = 30.0


def asking(receiver: Outside, order_id: str, **approval: Any) -> dict[str, Any]:
    """A refund's number, which a native receiver writes once a key, behind an approval."""
    order = {"order_id": order_id, "customer": "c", "item": "lamp", "price": "20"}
    told = {"order": order, "amount": "20", "receiver_url": receiver.url}
    step = {"id": "number", "tool": "create_number", "input": told, "approval": approval}
    return {"steps": [step]}


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Outside]:
    with outside(tmp_path / "ledger.jsonl") as running:
        yield running


@pytest.fixture
def ann(stack: Stack, state: Path) -> Iterator[Onward]:
    with Onward(stack.api_url, approver_key(state)) as client:
        yield client


def approver_key(state: Path) -> str:
    """A key of the development tenant that approves what its group finance may."""
    command = [Path(sys.executable).with_name("onward"), "key", "--tenant", "dev", "--json"]
    roles = ["--role", "approver:finance", "--subject", "ann"]
    issued = subprocess.run(
        [*command, *roles, "--state", state], check=True, capture_output=True, text=True
    ).stdout
    return str(json.loads(issued)["api_key"])


def proposed(client: Onward, run_id: str) -> dict[str, Any]:
    """What a run's step proposes, once it waits."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for row in client.approvals():
            if row["run_id"] == run_id:
                return dict(row)
        time.sleep(0.2)
    raise AssertionError(f"{run_id} asked for nothing: {client.get(run_id)}")


def test_an_edited_refund_is_what_the_receiver_got(
    onward: Onward, ann: Onward, receiver: Outside
) -> None:
    """Under the edited action's key; ledger, approval and receipt name the same digest."""
    plan = asking(receiver, "o-edited", groups=["finance"], editable=["amount"])
    run_id = onward.submit(plan=plan)["run_id"]
    version = proposed(ann, run_id)["action_version"]
    decided = ann.approve(run_id, "number", version, edited_input={"amount": "12.50"})
    run = onward.wait(run_id)
    (effect,) = onward.effects(run_id)["effects"]
    assert "succeeded" == run["status"]
    assert decided["approved_version"] != version
    assert f"{run_id}/number/{decided['approved_version']}" == effect["key"]
    assert decided["approved_version"] == effect["action_version"]
    assert ["12.50"] == receiver.amounts(effect["key"])
    assert [] == receiver.amounts(f"{run_id}/number/{version}")
    assert {"arrival": 1, "effect": 1} == receiver.counts("o-edited")["number"]


def test_fifty_approvals_at_once_after_a_restart_have_one_effect(
    onward: Onward, ann: Onward, receiver: Outside, stack: Stack
) -> None:
    """One effects the change, the others get the same answer."""
    run_id = onward.submit(plan=asking(receiver, "o-fifty", groups=["finance"]))["run_id"]
    version = proposed(ann, run_id)["action_version"]
    state = Path(stack.state_dir)
    down(state)
    up(None, state, drills=True)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ann.approve(run_id, "number", version), range(50)))
    assert 1 == len({json.dumps(answer, sort_keys=True) for answer in answers})
    assert "succeeded" == onward.wait(run_id)["status"]
    assert {"arrival": 1, "effect": 1} == receiver.counts("o-fifty")["number"]
    kinds = [event["type"] for event in onward.events(run_id)["events"]]
    assert 1 == kinds.count("onward.step.approved")


def test_a_rejected_action_never_happens(onward: Onward, ann: Onward, receiver: Outside) -> None:
    """Its run fails and says who refused it, and why."""
    run_id = onward.submit(plan=asking(receiver, "o-no", groups=["finance"]))["run_id"]
    version = proposed(ann, run_id)["action_version"]
    ann.reject(run_id, "number", version, comment="not ours")
    run = onward.wait(run_id)
    assert ("failed", "rejected") == (run["status"], run["error"]["code"])
    assert "not ours" in run["error"]["message"]
    assert {} == receiver.counts("o-no").get("number", {})
