"""The table of events: what reads it agrees with it, and so does its description."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from onward import client
from onward.client.feed import Feed, Sign
from onward.domain.events import (
    ENDS,
    INTERRUPTIONS,
    NAMESPACE,
    SHAPES,
    STEP_ENDS,
    TYPES,
    EventData,
    FanOutStarted,
    RunResumed,
    RunSucceeded,
    RunWaiting,
    matches,
)
from onward.domain.model import RunStatus, StepStatus
from onward.metrics import Metric

ROOT = Path(__file__).parents[2]
MEANINGS = ("ends", "shows", "counts", "interrupts")
STATUSES = {"run": set(RunStatus), "step": set(StepStatus)}


def row(shape: type[EventData]) -> tuple[str, list[str]]:
    """What the description says of a shape."""
    optional = shape.__dict__
    return shape.type, [f"[{n}]" if n in optional else n for n in shape.__annotations__]


def test_the_description_lists_every_type_with_its_members() -> None:
    """`docs/events.md` has one row for each shape, in this order, and says which types are ends."""
    text = (ROOT / "docs" / "events.md").read_text()
    listed = re.findall(r"^\| `([a-z_.]+)` \| (.*?) \|", text, re.MULTILINE)
    ends = re.findall(r"`([a-z_.]+)`", text.split("A run ends with")[1])

    assert [row(shape) for shape in SHAPES] == [(t, re.findall(r"`(.+?)`", m)) for t, m in listed]
    assert sorted(ENDS) == sorted(ends)


def test_a_run_ends_with_an_event_for_each_status_that_ends_it() -> None:
    """No status ends a run without an event that says so, and no event ends it otherwise."""
    assert {f"run.{status.value}" for status in RunStatus if status.ended} == ENDS
    assert {f"step.{each}" for each in ("succeeded", "failed", "skipped")} == STEP_ENDS


def test_each_shape_means_what_its_type_means() -> None:
    """Two shapes of one type agree; metrics and statuses are those that there are."""
    for shape in SHAPES:
        same = TYPES[shape.type]
        assert [getattr(same, m) for m in MEANINGS] == [getattr(shape, m) for m in MEANINGS]
        assert shape.counts is None or Metric(shape.counts)
        subject = shape.type.partition(".")[0]
        assert shape.shows is None or shape.shows in STATUSES[subject]
        assert shape.ends <= (shape.shows is not None)


def test_optional_members_are_left_out_when_nothing_is_known() -> None:
    """A member without a default is said even when it is null; one with a default is not."""
    assert {"generation": 3} == RunResumed(generation=3).members
    assert {"generation": 3, "cause": "wait_over"} == RunResumed(
        generation=3, cause="wait_over"
    ).members
    assert {"step_id": "a", "children": 0} == FanOutStarted(step_id="a", children=0).members


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("RunFailed(step_id=None, code='x')", 'Missing named argument "message"'),
        ("RunFailed(step_id=None, code=7, message='x')", 'Argument "code"'),
        ("RunFailed(step_id=None, code='x', message='x', seq=1)", "Unexpected keyword argument"),
    ],
)
def test_a_wrong_member_is_an_error_of_types(call: str, said: str, tmp_path: Path) -> None:
    """The members of an event are checked where it is built, by mypy."""
    built = tmp_path / "built.py"
    built.write_text(f"from onward.domain.events import RunFailed\n\n{call}\n")
    mypy = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-incremental"]

    checked = subprocess.run(
        [*mypy, "--config-file=", "--strict", str(built)],
        cwd=ROOT / "shared",
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == checked.returncode
    assert said in checked.stdout


@pytest.mark.parametrize("kind", sorted(ENDS))
def test_a_client_looks_for_more_after_each_end(kind: str) -> None:
    """The client's ends are the table's, with their namespace."""
    event = {"id": "run_1/1", "type": NAMESPACE + kind, "sequence": "0000000001"}
    feed = Feed("run_1", 0)
    taken = feed.take(json.dumps({"type": "event", "event": event}))

    assert event == taken
    assert Sign.LOOK is feed.after(taken)
    assert {NAMESPACE + kind for kind in ENDS} == client.ENDS


def test_interruptions_are_told_in_the_table_s_order() -> None:
    """Waiting and resuming come first, each type once."""
    assert (RunWaiting.type, RunResumed.type) == INTERRUPTIONS[:2]
    assert len(set(INTERRUPTIONS)) == len(INTERRUPTIONS)
    assert RunSucceeded.type not in INTERRUPTIONS


def test_a_filter_is_a_type_a_beginning_or_everything() -> None:
    """What stands before the star must begin the type; without a star the two are equal."""
    heard = {p: [t for t in TYPES if matches(p, t)] for p in ("run.failed", "run.*", "*", "run")}

    assert ["run.failed"] == heard["run.failed"]
    assert [t for t in TYPES if t.startswith("run.")] == heard["run.*"]
    assert list(TYPES) == heard["*"]
    assert [] == heard["run"]
