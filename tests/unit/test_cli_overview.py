"""`onward list`, `workflows` and `tools`, against a service on a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from onward.cli import app
from typer.testing import CliRunner, Result

from tests.unit.scripted_api import Asked, ScriptedApi, serve

SCHEMA = {"properties": {"file": {}, "title": {}}, "required": ["file"]}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedApi]:
    for api in serve():
        monkeypatch.setenv("ONWARD_API_URL", api.url)
        monkeypatch.setenv("ONWARD_API_KEY", "ow_dev_key")
        yield api


def onward(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def row(number: int, **members: Any) -> dict[str, Any]:
    known = {"status": "succeeded", "workflow": "excel-report", "ended_at": None}
    return {"run_id": f"run_{number}", "created_at": "2026-11-29T10:00:00.000Z"} | known | members


def query(asked: Asked) -> dict[str, list[str]]:
    return parse_qs(urlsplit(asked.path).query)


def test_list_prints_a_line_a_run(api: ScriptedApi) -> None:
    """Columns stand one below the other, and no line is cut."""
    rows = [row(1, workflow="w" * 100), row(12, status="failed", ended_at="x")]
    api.routes["GET /runs"] = (200, {"runs": rows, "next_page_token": None})
    first, second = onward("list").stdout.splitlines()
    assert first == f"run_1   succeeded  {'w' * 100}  2026-11-29T10:00:00.000Z"
    assert second.startswith("run_12  failed     excel-report  ")
    assert {"limit": ["20"]} == query(api.asked[0])


def test_list_turns_pages_until_it_has_enough(api: ScriptedApi) -> None:
    """With its filters, and a page may be empty; --json prints a document a line."""
    pages = [
        {"runs": [row(1), row(2)], "next_page_token": "a"},
        {"runs": [], "next_page_token": "b"},
        {"runs": [row(3), row(4)], "next_page_token": "c"},
    ]
    api.turns["GET /runs"] = [(200, page) for page in pages]
    done = onward("list", "--limit", "3", "--status", "failed", "--workflow", "w", "--json")
    found = [json.loads(line)["run_id"] for line in done.stdout.splitlines()]
    assert ["run_1", "run_2", "run_3"] == found
    filters = {"limit": ["3"], "status": ["failed"], "workflow": ["w"]}
    assert [
        filters,
        filters | {"page_token": ["a"]},
        filters | {"page_token": ["b"]},
    ] == [query(asked) for asked in api.asked]


def test_an_empty_list_is_no_failure(api: ScriptedApi) -> None:
    """It prints nothing."""
    api.routes["GET /runs"] = (200, {"runs": [], "next_page_token": None})
    done = onward("list")
    assert (0, "") == (done.exit_code, done.stdout)


@pytest.mark.parametrize(
    ("command", "known", "line"),
    [
        ("workflows", {"version": 3}, "thing  3  file title?"),
        (
            "tools",
            {"effect": "write", "idempotency": "native", "timeout": 60},
            "thing  write  native  60  file title?",
        ),
    ],
)
def test_the_catalogue_is_a_line_each(
    api: ScriptedApi, command: str, known: dict[str, Any], line: str
) -> None:
    """With what each takes; --json has all that the service says."""
    described = {"name": "thing", "input_schema": SCHEMA} | known
    api.routes[f"GET /{command}"] = (200, {command: [described]})
    assert [line] == onward(command).stdout.splitlines()
    assert described == json.loads(onward(command, "--json").stdout)


def test_a_table_in_a_pipe_is_whole(api: ScriptedApi) -> None:
    """Nothing of a cell is cut off or broken, however many columns there are."""
    cause = {
        "cause": "Lambda.TooManyRequestsException",
        "count": 3,
        "typical_steps": ["inspect", "compose-the-report", "publish"],
        "resume_median_seconds": 0.25,
        "resume_max_seconds": 904.713,
        "tokens_saved": 5120,
        "duplicates_prevented": 2,
    }
    api.routes["GET /stats/recovery"] = (200, {"days": 7, "causes": [cause]})
    shown = onward("recovery").stdout

    assert "Lambda.TooManyRequestsException" in shown
    assert "inspect, compose-the-report, publish" in shown
