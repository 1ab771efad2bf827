"""Drills that can say no: each guarantee is broken on purpose, and its drill says so.

The stack is whole and the drills are real. Between them stands a service that tells what a stack
would tell whose guarantee is broken: another number of attempts, another status, a log without
the event that the drill looks for. Effects are doubled at the receiver itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from onward.client import Onward

from infra.local.drills import lost_response
from infra.local.drills.finding import Finding, Watched
from infra.local.drills.outside import ACTIONS, Outside, outside
from infra.local.drills.runner import DRILLS, run
from infra.local.drills.stage import Stage
from infra.local.stack import Stack

Change = Callable[[str, Any], None]


@dataclass
class Changed(httpx.BaseTransport):
    """Hands requests on to the stack, and changes what it answers."""

    change: Change = field(default=lambda _path, _document: None)
    _inner: httpx.HTTPTransport = field(default_factory=httpx.HTTPTransport)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._inner.handle_request(request)
        answer.read()
        answer.close()
        if answer.status_code != httpx.codes.OK:
            return httpx.Response(
                answer.status_code, headers=answer.headers, content=answer.content
            )
        document = answer.json()
        self.change(request.url.path, document)
        return httpx.Response(200, json=document)

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def told() -> Changed:
    return Changed()


@pytest.fixture
def stage(stack: Stack, told: Changed, tmp_path: Path) -> Iterator[Stage]:
    with (
        Onward(stack.api_url, stack.api_key, transport=told) as onward,
        outside(tmp_path / "ledger.jsonl") as receiver,
    ):
        yield Stage(stack, onward, receiver, quick=True)


def snapshots(change: Callable[[dict[str, Any]], None]) -> Change:
    """Change the snapshots of runs."""

    def apply(_path: str, document: Any) -> None:
        if "steps" in document and "as_of_seq" in document:
            change(document)

    return apply


def attempts(step_id: str, number: int) -> Change:
    """A step was tried another number of times."""

    def apply(run: dict[str, Any]) -> None:
        for step in run["steps"]:
            if step["id"] == step_id:
                step["attempts"] = number

    return snapshots(apply)


def member(name: str, value: Any) -> Change:
    """The run as a whole is said to be otherwise."""
    return snapshots(lambda run: run.update({name: value}))


def unseen(kind: str) -> Change:
    """No event of a type is in the log: there is another one in its place."""

    def apply(_path: str, document: Any) -> None:
        for event in document.get("events", ()):
            if event["type"] == f"onward.{kind}":
                event["type"] = "onward.step.other"

    return apply


def empty(path: str, name: str) -> Change:
    """A list is empty that the drill finds something in."""

    def apply(asked: str, document: Any) -> None:
        if path in asked and name in document:
            document[name] = []

    return apply


BROKEN: dict[str, tuple[str, Change, str]] = {
    "a page that comes back saw less": ("refresh", member("as_of_seq", 999), "the client saw"),
    "nobody took the dead worker's step": ("kill-worker", unseen("step.progress"), "no attempt"),
    "a finished step ran again": ("kill-worker", attempts("order", 2), "ran again"),
    "the run of a dead worker failed": ("kill-worker", member("status", "failed"), "is failed"),
    "the zombie was tried once more": ("zombie", attempts("decide", 3), "took 3 attempts"),
    "a hung call was not taken over": ("gateway-timeout", unseen("step.taken_over"), "nobody took"),
    "a hung call showed no second": ("gateway-timeout", unseen("step.progress"), "0 attempts came"),
    "a refusal was not retried": ("row-lock", attempts("account", 1), "1 attempts"),
    "a lost end is called heard": ("silent-loss", member("sync_status", "synced"), "snapshot said"),
    "no delivery was kept": ("endpoint-down", empty("/deliveries", "deliveries"), "not kept"),
    "one generation did it all": ("dead-execution", member("generation", 1), "generation 1"),
    "some of fifty failed": ("burst", member("status", "failed"), "is failed"),
}


@pytest.mark.parametrize(("drill", "change", "saw"), BROKEN.values(), ids=BROKEN)
def test_a_drill_says_what_broke(
    stage: Stage, told: Changed, drill: str, change: Change, saw: str
) -> None:
    """With what it saw, and without a word that it could not be carried out."""
    told.change = change
    (found,) = islice(DRILLS[drill](stage), 1)
    assert "broken" == found.verdict
    assert saw in found.detail
    assert json.loads(found.to_json())["verdict"] == "broken"


def test_each_drill_is_among_those_that_say_no() -> None:
    named = {drill for drill, _, _ in BROKEN.values()}
    assert DRILLS.keys() == named | {"lost-response"}


def test_a_write_that_nobody_asks_about_is_reported(stage: Stage, told: Changed) -> None:
    """The ledger does not know of it: whoever asked its receiver would not know for what."""
    told.change = empty("/effects", "effects")
    refund = stage.submit({"book": dict(lost_response.LOST)}, lost_response.UNKEYED)
    found = lost_response._by_hand(stage, "none", "applied", refund)
    assert ("broken", True) == (found.verdict, "no such write" in found.detail)


@pytest.mark.parametrize("count", [0, 2])
def test_an_effect_that_is_missing_or_double_outside_breaks_every_drill(
    tmp_path: Path, count: int
) -> None:
    """Counted at the receiver, whatever the run says of itself."""
    run_of = {"status": "succeeded", "error": None, "as_of_seq": 0, "steps": []}
    with outside(tmp_path / "ledger.jsonl") as receiver:
        for action in ACTIONS:
            for number in range(count if action == "book" else 1):
                _write(receiver, action, f"key-{number}")
        judged = Stage(
            Stack("", "", "", "", str(tmp_path), 1, 1), Onward("http://x", "k"), receiver
        )
        found = judged.judge("any", "", Watched("o-1", run_of, []))  # type: ignore[arg-type]
    assert ("broken", True) == (found.verdict, f"book: {count} effects" in found.detail)


def _write(receiver: Outside, action: str, key: str) -> None:
    body = {"order_id": "o-1", "action": action, "body": {}}
    answer = httpx.post(
        f"{receiver.url}/writes", json=body, headers={"Idempotency-Key": key, "Fence": "1"}
    )
    assert answer.status_code < 300


def test_a_drill_that_cannot_go_on_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it met is its finding, with the place, so that somebody can look there."""

    def crashes(_stage: Stage) -> Iterator[Finding]:
        yield Finding("first", "one", "succeeded", 1, "")
        raise KeyError("sequence")

    def holds(_stage: Stage) -> Iterator[Finding]:
        yield Finding("second", "", "succeeded", 1, "")

    monkeypatch.setitem(DRILLS, "first", crashes)
    monkeypatch.setitem(DRILLS, "second", holds)
    stack = Stack("http://127.0.0.1:9", "", "", "key", str(tmp_path), 1, 1)
    found = list(run(stack, ["first", "second"]))
    assert ["held", "broken", "held"] == [each.verdict for each in found]
    assert "KeyError: 'sequence' (test_drills_broken.py:" in found[1].detail
