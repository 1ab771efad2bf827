"""Code may write to the child's pipe itself; what it claims there is worth what it could return."""

from __future__ import annotations

import pytest
from onward.sandbox.job import Job
from onward.sandbox.run import Cell

WRITE = """
import contextlib
os = contextlib.os
def run(data):
    for pipe in range(3, 1024):
        try:
            os.write(pipe, data.encode())
        except OSError:
            continue
        os._exit(0)
"""

NO_VALUE = {
    "infinity": '{"value": 1e999}',
    "less than that": '{"value": [{"a": -1e400}]}',
    "a word for it": '{"value": Infinity}',
    "no number": '{"value": NaN}',
    "half a character": '{"value": "\\ud800"}',
    "half a character as a name": '{"value": {"\\udfff": 1}}',
    "too deep": '{"value": ' + "[" * 60 + "]" * 60 + "}",
    "an endless number": '{"value": ' + "9" * 5000 + "}",
    "two documents": '{"value": 1}{"value": 2}',
    "half a document": '{"value": 1',
    "no document": "true",
    "no kind": "{}",
    "time": '{"kind": "timeout", "message": "m", "line": 1}',
    "its end": '{"kind": "killed", "message": "m", "line": 1}',
    "too much": '{"kind": "output_too_large", "message": "m", "line": 1}',
    "a kind that there is not": '{"kind": "innocent", "message": "m", "line": 1}',
    "another kind of kind": '{"kind": ["raised"], "message": "m", "line": 1}',
}


@pytest.fixture(scope="module")
def cell() -> Cell:
    return Cell()


@pytest.mark.parametrize("claim", NO_VALUE.values(), ids=NO_VALUE)
def test_a_claim_that_code_could_not_return_is_no_value(cell: Cell, claim: str) -> None:
    """Nor is it believed that it ran out of time or was ended: that is seen from outside."""
    verdict = cell.run(Job(WRITE, claim, timeout=5))
    assert verdict.fault is not None
    assert (None, True) == (verdict.value, verdict.fault.kind in {"not_json", "killed"})


@pytest.mark.parametrize(
    ("claim", "value"),
    [('{"value": 1e308}', 1e308), ('{"value": {"a": [null, 1]}}', {"a": [None, 1]})],
)
def test_a_claim_that_code_could_return_is_what_it_returned(
    cell: Cell, claim: str, value: object
) -> None:
    assert value == cell.run(Job(WRITE, claim, timeout=5)).value


def test_a_line_that_is_claimed_is_a_number_or_none(cell: Cell) -> None:
    verdict = cell.run(Job(WRITE, '{"kind": "raised", "message": "m", "line": true}', timeout=5))
    assert verdict.fault is not None
    assert ("raised", None) == (verdict.fault.kind, verdict.fault.line)
