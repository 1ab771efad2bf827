"""`onward keys` and `audit`, against a service on a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from onward.cli import app
from typer.testing import CliRunner, Result

from tests.unit.scripted_api import ScriptedApi, serve

KEY: dict[str, Any] = {
    "id": "key_0123456789abcdef0123",
    "subject": "ci",
    "roles": ["operator", "submitter"],
    "state": "active",
    "created_at": "2026-11-29T10:00:00.000Z",
    "expires_at": None,
    "last_used_at": "2026-11-29T11:00:00.000Z",
    "revoked_at": None,
}
ENTRY: dict[str, Any] = {
    "at": "2026-11-29T10:00:00.000Z",
    "action": "run.resume",
    "target": "run_1",
    "key_id": KEY["id"],
    "subject": "ada",
    "comment": "",
}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedApi]:
    for api in serve():
        monkeypatch.setenv("ONWARD_API_URL", api.url)
        monkeypatch.setenv("ONWARD_API_KEY", "ow_dev_key")
        yield api


def onward(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_keys_are_listed_in_a_table_or_as_json(api: ScriptedApi) -> None:
    """Whose, what for, and when they were used."""
    api.routes["GET /keys"] = (200, {"keys": [KEY]})
    shown = onward("keys").stdout
    for part in (KEY["id"], "ci", "operator, submitter", "active", "11:00"):
        assert part in shown
    assert [KEY] == [json.loads(line) for line in onward("keys", "--json").stdout.splitlines()]


def test_a_key_is_revoked_by_its_id(api: ScriptedApi) -> None:
    """With a comment, and with `--last` the last one of an operator."""
    api.routes[f"DELETE /keys/{KEY['id']}"] = (200, {})
    done = onward("keys", "revoke", KEY["id"], "--comment", "left us", "--last")
    assert (0, f"{KEY['id']}  revoked\n") == (done.exit_code, done.stdout)
    (asked,) = api.asked
    assert {"comment": ["left us"], "last": ["true"]} == parse_qs(urlsplit(asked.path).query)


def test_the_last_operators_key_is_told_of(api: ScriptedApi) -> None:
    """What to say instead is in the line; exit code 2."""
    problem = {"code": "last_operator_key", "detail": "say last=true", "status": 409}
    api.routes[f"DELETE /keys/{KEY['id']}"] = (409, problem)
    done = onward("keys", "revoke", KEY["id"])
    assert 2 == done.exit_code
    assert "last=true (last_operator_key)" in done.stderr


def test_the_audit_log_turns_pages_until_it_has_enough(api: ScriptedApi) -> None:
    """Newest first, as they come."""
    pages = [
        {"entries": [ENTRY | {"target": "run_3"}], "next_page_token": "a"},
        {"entries": [ENTRY | {"target": "run_2"}, ENTRY], "next_page_token": "b"},
    ]
    api.turns["GET /audit"] = [(200, page) for page in pages]
    done = onward("audit", "--limit", "2", "--since", "2026-11-29T00:00:00Z", "--json")
    assert ["run_3", "run_2"] == [json.loads(line)["target"] for line in done.stdout.splitlines()]
    assert ["2026-11-29T00:00:00Z"] == parse_qs(urlsplit(api.asked[1].path).query)["since"]


def test_an_empty_log_says_so(api: ScriptedApi) -> None:
    """In words, not as an empty table."""
    api.routes["GET /audit"] = (200, {"entries": [], "next_page_token": None})
    assert "no operator has done anything\n" == onward("audit").stdout


def test_a_comment_goes_along_with_what_operators_do(api: ScriptedApi) -> None:
    """And none is sent where none was given."""
    api.routes["POST /runs/run_1/resume"] = (202, {"status": "queued"})
    onward("resume", "run_1", "--comment", "the bank is back")
    onward("resume", "run_1")
    assert [{"comment": "the bank is back"}, {}] == [asked.json() for asked in api.asked]
