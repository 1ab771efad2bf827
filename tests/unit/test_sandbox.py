"""Running code: what comes back, whatever the code does."""

from __future__ import annotations

import ast
import json
import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from onward.app.driving.classify import classify
from onward.domain.errors import CodeFailed, InvalidInput, SandboxUnavailable
from onward.sandbox.job import MAX_CODE, MAX_DATA, Job
from onward.sandbox.modules import SANDBOX_MODULES
from onward.sandbox.run import KEPT_OUTPUT, Cell
from onward.sandbox.verdict import MAX_RESULT, Fault, Verdict
from onward.sdk.testing import context

from tests.unit.attacks import children

# In parts that need a command line, a file or a network, or that another one replaces.
NEVER_CALLED = frozenset(
    {"argparse", "doctest", "getopt", "shutil", "socket", "subprocess"}
    | {"_blake2", "_md5", "_sha1", "_sha2", "_sha256", "_sha3", "_sha512"}
)

SPIN = "def run(d):\n    while True:\n        pass"
CLOSE = "import os\ndef run(d):\n    [os.close(n) for n in (0, 1, 2) if n]\n    {}"
ANSWER = (
    "import os\ndef run(d):\n    for n in range(3, 30):\n        try:\n            os.write(n, {})"
)
ANSWER += "\n        except OSError:\n            pass\n    os._exit(0)"


@pytest.fixture(scope="module")
def cell() -> Cell:
    """One for all tests: whatever one did, the next one works."""
    return Cell()


def body(*lines: str) -> str:
    return "\n    ".join(["def run(d):", *lines])


@pytest.mark.parametrize(
    "value", [None, True, 1.5, 10**30, "é\u2028\n", [1, [2]], {"a": {"b": []}}]
)
def test_values_go_in_and_come_out(cell: Cell, value: Any) -> None:
    """Any JSON value, unchanged."""
    assert value == cell.run(Job(body("return d"), value)).value


def test_what_is_printed_comes_along(cell: Cell) -> None:
    """Its beginning, also of what goes to standard error."""
    code = body("import sys", "print('é')", "print('oh', file=sys.stderr)", "print('x' * 20000)")
    verdict = cell.run(Job(code))

    assert verdict.fault is None
    assert verdict.stdout.startswith("é\noh\nxxx")
    assert KEPT_OUTPUT == len(verdict.stdout.encode())


@pytest.mark.parametrize("name", sorted(SANDBOX_MODULES))
def test_a_module_on_the_list_can_be_imported(cell: Cell, name: str) -> None:
    """By the code itself, after the doors are shut."""
    assert cell.run(Job(f"import {name}\ndef run(d):\n    return {name}.__name__")).value == name


@pytest.mark.parametrize("name", sorted(SANDBOX_MODULES))
def test_what_a_module_imports_later_is_there(cell: Cell, name: str) -> None:
    """Seen in its source: nothing can be imported any more when it is first used."""
    late = imported_late(name) - NEVER_CALLED
    loaded = cell.run(Job(f"import {name}, sys\ndef run(d):\n    return list(sys.modules)")).value

    assert isinstance(loaded, list)
    assert set() == late - set(loaded)


def imported_late(name: str) -> set[str]:
    """Return what the functions of a module import."""
    origin = find_spec(name).origin  # type: ignore[union-attr]
    if origin is None or not origin.endswith(".py"):
        return set()
    functions = (
        node
        for node in ast.walk(ast.parse(Path(origin).read_text()))
        if "Def" in type(node).__name__
    )
    inner = [node for function in functions for node in ast.walk(function)]
    plain = {alias.name for node in inner if isinstance(node, ast.Import) for alias in node.names}
    others = (node for node in inner if isinstance(node, ast.ImportFrom) and not node.level)
    return plain | {node.module for node in others if node.module}


def test_modules_work_after_the_doors_are_shut(cell: Cell) -> None:
    """Those that analyses are made of, with what they import when they are first used."""
    code = """
from collections import Counter, namedtuple
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
import csv, io, math, random, re, statistics, time

@dataclass
class Row:
    day: str
    sum: float

def run(d):
    rows = [Row(*line) for line in csv.reader(io.StringIO(d))]
    days = [datetime.strptime(row.day, "%d.%m.%Y") for row in rows]
    return {
        "first": min(days).strftime("%A %d %B"),
        "later": (max(days) + timedelta(days=1)).isoformat(),
        "quartiles": statistics.quantiles([float(row.sum) for row in rows], n=4),
        "normal": statistics.NormalDist(0, 1).cdf(0),
        "exact": str(sum(Decimal(row.sum) for row in rows)),
        "rows": [asdict(row) for row in rows][:1],
        "most": Counter(re.findall(r"\\d", d)).most_common(1),
        "point": namedtuple("Point", "x y")(1, math.inf > 2),
        "chance": 0 <= random.random() < 1,
        "now": time.localtime().tm_year > 2000,
    }
"""
    verdict = cell.run(Job(code, "01.02.2024,1.10\n03.04.2024,2.20\n"))

    assert verdict.fault is None, verdict.fault
    assert isinstance(verdict.value, dict)
    assert ("Thursday 01 February", "3.30") == (verdict.value["first"], verdict.value["exact"])


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (body("x = 1", "return 1 / 0"), Fault("raised", "ZeroDivisionError: division by zero", 3)),
        (body("import sys", "sys.exit(3)"), Fault("raised", "SystemExit: 3", 3)),
        ("raise KeyboardInterrupt", Fault("raised", "KeyboardInterrupt", 1)),
        (body("return input()"), Fault("raised", "PermissionError: the sandbox refuses", 2)),
        (body("return run(d)"), Fault("raised", "RecursionError: maximum recursion depth", 2)),
        ("def run(d:\n    pass", Fault("syntax", "'(' was never closed", 1)),
        ("x = '\0'", Fault("syntax", "", None)),
        ("(" * 5000, Fault("syntax", "too many nested parentheses", 1)),
        ("x = " + "-" * 50000 + "1", Fault("syntax", "the code cannot be compiled", None)),
        ("runs = 1", Fault("syntax", "there is no function run(data)", None)),
        (body("return float('nan')"), Fault("not_json", "ValueError: Out of range", None)),
        (body("return {1}"), Fault("not_json", "TypeError: Object of type set", None)),
        (body("return '\\ud800'"), Fault("not_json", "the result has text with half", None)),
        (
            body("d = []", "d.append(d)", "return d"),
            Fault("not_json", "ValueError: Circular", None),
        ),
        (
            body("for _ in range(60): d = [d]", "return d"),
            Fault("not_json", "the result is nested deeper than 50 levels", None),
        ),
        (
            body(f"return 'x' * {MAX_RESULT}"),
            Fault("output_too_large", "the result is larger than 256 KB", None),
        ),
        (
            body("for _ in range(10**5): print('x' * 1000)"),
            Fault("output_too_large", "the code printed more than 1 MB", None),
        ),
        (body("bytearray(4 * 2**30)"), Fault("memory", "the code needed more than its 64 MB", 2)),
        (
            body("d = []", "while True:", "    d.append(str(len(d)) * 1000)"),
            Fault("memory", "the code needed more than its 64 MB", 4),
        ),
        (SPIN, Fault("timeout", "the code did not end within 1 s", None)),
        (body("import time", "time.sleep(99)"), Fault("timeout", "the code did not end", None)),
        (CLOSE.format("os.closerange(0, 99)\n    while 1: pass"), Fault("timeout", "", None)),
        (body("import os", "os._exit(0)"), Fault("killed", "the code ended its process", None)),
        (body("import os", "os.abort()"), Fault("killed", "the code's process was ended", None)),
        (ANSWER.format("b'{]'"), Fault("killed", "the code ended its process", None)),
        (ANSWER.format("b'[' * 99999"), Fault("killed", "the code ended its process", None)),
        (ANSWER.format('b\'{"kind": "ok"}\''), Fault("killed", "the code ended", None)),
        (ANSWER.format("b'{\"value\": NaN}'"), Fault("not_json", "NaN is not a JSON", None)),
    ],
)
def test_what_goes_wrong_is_told(cell: Cell, code: str, fault: Fault) -> None:
    """Its kind, message and line, within the time that the job has; then the next one works."""
    started = time.monotonic()
    found = cell.run(Job(code, timeout=1, memory=64)).fault

    assert found is not None
    assert (fault.kind, fault.message) == (found.kind, found.message[: len(fault.message)])
    assert fault.line in {None, found.line}
    assert time.monotonic() - started < 4
    assert [] == children(os.getpid())
    assert 7 == cell.run(Job(body("return 7"))).value


def test_closing_its_output_keeps_the_result(cell: Cell) -> None:
    """The answer has a way of its own."""
    assert 5 == cell.run(Job(CLOSE.format("return 5"))).value


def test_an_error_that_cannot_say_itself_is_told(cell: Cell) -> None:
    """By its class."""
    code = "class Odd(Exception):\n    def __str__(self): raise self\n" + body("raise Odd")

    assert Fault("raised", "Odd", 4) == cell.run(Job(code)).fault


def test_a_verdict_travels_as_json(cell: Cell) -> None:
    """As the function answers it."""
    for code in (body("return d"), body("print(1)", "raise ValueError(d)"), SPIN):
        verdict = cell.run(Job(code, [1], timeout=0.2))
        assert verdict == Verdict.of(json.loads(json.dumps(verdict.to_json())))


def test_a_step_is_told_kind_line_message_and_last_words() -> None:
    """And fails at once: the same code on the same data fails the same way."""
    with pytest.raises(CodeFailed) as failed:
        context().sandbox(body("print('at row', d)", "return 1 / d"), 0)

    error = failed.value
    assert ("raised", 3, "at row 0\n") == (error.kind, error.line, error.stdout)
    assert str(error) == (
        "the code failed (raised, line 3): ZeroDivisionError: division by zero; printed: …at row 0"
    )
    assert ("code_failed", False) == (
        classify(error, writes=False, now=0.0).code,
        classify(error, writes=False, now=0.0).retryable,
    )


def test_a_step_gets_the_value() -> None:
    """The port is called like a function."""
    assert 6 == context().sandbox("def run(data): return sum(data)", [1, 2, 3])


@pytest.mark.parametrize(
    ("job", "text"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": 61}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"memory": 63}, "memory"),
        ({"memory": 513}, "memory"),
        ({"code": "#" * MAX_CODE}, "longer than 64 KB"),
        ({"code": "'\ud800'"}, "the code is not JSON"),
        ({"data": "x" * MAX_DATA}, "larger than 4 MB"),
        ({"data": float("inf")}, "the data is not JSON"),
        ({"data": {1, 2}}, "the data is not JSON"),
    ],
)
def test_a_job_out_of_bounds_is_refused(job: dict[str, Any], text: str) -> None:
    """Before anything runs, and naming the bound."""
    with pytest.raises(InvalidInput, match=text):
        Job(**{"code": "def run(d): pass"} | job)


def test_large_data_goes_in_whole(cell: Cell) -> None:
    """More than a pipe holds at once."""
    assert 3 * 2**20 == cell.run(Job(body("return len(d)"), "x" * 3 * 2**20)).value


def test_an_interpreter_that_cannot_be_started_is_not_the_codes_fault(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step may try again."""
    monkeypatch.setattr("sys.executable", "/nowhere/python")

    with pytest.raises(SandboxUnavailable) as refused:
        cell.run(Job(body("return 1")))
    assert classify(refused.value, writes=False, now=0.0).retryable
