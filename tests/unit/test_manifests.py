from __future__ import annotations

from dataclasses import replace

import pytest
from onward.app.payloads.manifests import gathered
from onward.app.payloads.store import Clock, TooSlow
from onward.domain.errors import Contended
from onward.domain.manifest import decoded, encoded
from onward.domain.model import Payload, Step, StepStatus, child_id

OUTPUTS = [Payload('{"n":1}'), Payload(ref="pay_ab", size=5_012), None, Payload(ref="pay_cd")]


class Rows:
    """Rows of a fan-out; those in `late` are older than the run's at the first reads of them."""

    def __init__(self, children: int, late: dict[int, int] | None = None) -> None:
        self.now = 0.0
        self.read: list[int] = []
        self.late = late or {}
        self.children = children

    def fetch(self, step_ids: list[str]) -> dict[str, Step | None]:
        self.read.append(len(step_ids))
        return {step_id: self._row(int(step_id.split(".")[1])) for step_id in step_ids}

    def _row(self, index: int) -> Step | None:
        row = Step(child_id("f", index), "0#f", StepStatus.SUCCEEDED, index=index)
        if self.late.get(index, 0) > 0:
            self.late[index] -= 1
            return replace(row, status=StepStatus.EXECUTING) if index % 2 else None
        if index % 10 == 0:
            return replace(row, status=StepStatus.SKIPPED)
        return replace(row, output=Payload(str(index)))

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self, until: float = 100) -> Clock:
        return Clock(lambda: self.now, self.sleep, until)


def test_a_manifest_says_what_was_put_into_it() -> None:
    """Small outputs themselves, large ones by reference, nothing for what was skipped."""
    assert OUTPUTS == decoded(encoded(OUTPUTS))
    assert encoded(OUTPUTS) == encoded(decoded(encoded(OUTPUTS)))
    assert [] == decoded(encoded([]))


def test_rows_are_read_in_pages_of_a_hundred() -> None:
    """But for those that end with the commit, whose rows do not tell yet."""
    rows = Rows(250)
    found = gathered(rows.fetch, "f", 250, rows.clock(), {249: Payload('"now"')})
    assert [49, 100, 100] == sorted(rows.read)
    assert [None, Payload("1"), Payload('"now"')] == [found[0], found[1], found[249]]


def test_a_row_that_is_older_than_its_run_is_read_again() -> None:
    """A read of many rows is no snapshot: a child's may not show yet that it has ended."""
    rows = Rows(120, late={3: 2, 4: 1})
    found = gathered(rows.fetch, "f", 120, rows.clock(), {})
    assert [Payload("3"), Payload("4")] == found[3:5]
    assert [1, 2, 20, 100] == sorted(rows.read)


def test_a_row_that_never_shows_its_end_makes_no_manifest() -> None:
    """Nothing is written that says less than what is there."""
    rows = Rows(5, late={3: 1_000})
    with pytest.raises(Contended, match="child 3 of f"):
        gathered(rows.fetch, "f", 5, rows.clock(), {})


def test_rows_are_not_read_past_the_time() -> None:
    """What there is to commit is committed without them."""
    rows = Rows(500)
    rows.now = 100
    with pytest.raises(TooSlow):
        gathered(rows.fetch, "f", 500, rows.clock(), {})
    assert [] == rows.read
