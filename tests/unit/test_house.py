"""The house's measures, over all that is shipped: names, circles, sizes.

What was there before a measure was taken is listed in `tests/data/house.json`. The lists must be
equal to what is found, so that they only shrink: an offender that was mended is struck out, and a
new one is mended instead of listed.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTED = json.loads((ROOT / "tests" / "data" / "house.json").read_text())
SAMPLES = ("functions/workflows/", "functions/documents/")
"""Their models are their own: a workflow's `Finding` is no word of the house."""

MOST_LINES = 300
MOST_LINES_OF_A_FUNCTION = 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def shipped() -> dict[str, str]:
    """The text of every module that is shipped, by its path."""
    paths = sorted(
        p for room in ("shared", "infra", "functions") for p in (ROOT / room).rglob("*.py")
    )
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def twice(texts: Mapping[str, str]) -> list[str]:
    """Names that more than one class has."""
    names = Counter(
        node.name
        for path, text in texts.items()
        if not path.startswith(SAMPLES)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    )
    return sorted(name for name, count in names.items() if count > 1)


def module(path: str) -> str:
    """A path's module, as it is imported."""
    parts = list(Path(path).with_suffix("").parts)
    parts = parts[1:] if parts[0] in {"shared", "functions"} else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(text: str, known: frozenset[str]) -> Iterator[str]:
    """Modules of ours that a module names, for types or within a function as well."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            source = node.module.removeprefix("functions.")
            for alias in node.names:
                whole = f"{source}.{alias.name}"
                if whole in known or source in known:
                    yield whole if whole in known else source


def circles(texts: Mapping[str, str]) -> list[list[str]]:
    """Sets of modules each of which leads to all the others."""
    known = frozenset(map(module, texts))
    edges = {module(path): set(imported(text, known)) for path, text in texts.items()}
    reached = {start: reach(edges, start) for start in edges}
    found = {
        tuple(sorted(m for m in reached[start] if start in reached[m]))
        for start in edges
        if start in reached[start]
    }
    return sorted(map(list, found))


def reach(edges: Mapping[str, set[str]], start: str) -> set[str]:
    """Modules that a module leads to, itself only if there is a circle."""
    seen: set[str] = set()
    left = list(edges[start])
    while left:
        at = left.pop()
        if at not in seen:
            seen.add(at)
            left.extend(edges[at])
    return seen


def length(function: Function) -> int:
    """Lines from `def` to the last one, without the docstring's."""
    whole = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is None:
        return whole
    return whole - ((first.end_lineno or first.lineno) - first.lineno + 1)


def long_functions(texts: Mapping[str, str]) -> list[str]:
    """Functions of more lines than one screen shows."""
    return sorted(
        f"{path}: {node.name}"
        for path, text in texts.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and length(node) > MOST_LINES_OF_A_FUNCTION
    )


def long_files(texts: Mapping[str, str]) -> list[str]:
    """Files that are about more than one thing."""
    return sorted(path for path, text in texts.items() if text.count("\n") > MOST_LINES)


MEASURES = {
    "class names with two meanings": twice,
    "circles of imports": circles,
    "functions over 40 lines": long_functions,
    "files over 300 lines": long_files,
}


@pytest.mark.parametrize("measure", MEASURES)
def test_nothing_offends_but_what_is_listed(measure: str) -> None:
    """And nothing is listed that offends no longer."""
    assert LISTED[measure] == MEASURES[measure](shipped())


def test_each_measure_sees_what_it_is_for() -> None:
    """A house with one offence of each kind, one of them for types only."""
    body = "\n".join(["    x = 1"] * 41)
    texts = {
        "shared/onward/a.py": "from onward import b\nclass Fault: ...\n",
        "shared/onward/b.py": "if TYPE_CHECKING:\n    import onward.a\nclass Fault: ...\n",
        "functions/workflows/w/c.py": "class Fault: ...\nclass Own: ...\n",
        "functions/d.py": f"class Own: ...\ndef f():\n{body}\n" + "\n" * 300,
    }

    assert ["Fault"] == twice(texts)
    assert [["onward.a", "onward.b"]] == circles(texts)
    assert ["functions/d.py: f"] == long_functions(texts)
    assert ["functions/d.py"] == long_files(texts)
