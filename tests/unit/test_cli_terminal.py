"""What people's data holds is shown on a terminal as text, by every command."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from onward.cli import app
from onward.cli.drill import report
from onward.cli.follow import conclude, follow
from onward.cli.terminal import Terminal, json_line, one_line, shown
from onward.client import Onward
from typer.testing import CliRunner

from infra.local.drills.finding import Finding
from tests.unit.scripted_api import ScriptedApi, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

CLI = Path(__file__).resolve().parents[2] / "shared" / "onward" / "cli"

HOSTILE = (
    "a\x1b]0;owned\x07b\x1b[2J\x1b[31mc\x9b1Ad\u202ee\u2066f\u200bg\rh\x08i\x7fj\u2028k"
    "[bold]l[/bold][/red]m[link=https://evil.example]n[/link]:boom:\\[o"
)
OBEYED = re.compile("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2028\u2066-\u2069]")
RICHS_OWN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[[0-9]*[AK]|\r")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedApi]:
    for api in serve():
        monkeypatch.setenv("ONWARD_API_URL", api.url)
        monkeypatch.setenv("ONWARD_API_KEY", "ow_dev_key")
        api.routes |= {f"{method} {path}": (200, body) for method, path, body in ANSWERS}
        api.log = EVENTS
        yield api


RUN = {
    "run_id": "run_1",
    "workflow": HOSTILE,
    "status": HOSTILE,
    "created_at": "2026-11-29T10:00:00.000Z",
    "started_at": "2026-11-29T10:00:00.100Z",
    "ended_at": None,
    "as_of_seq": 0,
    "steps": [{"id": HOSTILE, "status": HOSTILE, "error": {"message": HOSTILE}}],
    "counts": {"total": 2, "done": 2, "skipped": 0, "attempts": 4},
    "result": {HOSTILE: [HOSTILE]},
    "error": {"message": f"one\n{HOSTILE}", "code": HOSTILE, "step": HOSTILE},
    "open_questions": [{"step_id": HOSTILE, "message": HOSTILE}],
}
SCHEMA = {"properties": {HOSTILE: {}}, "required": []}
DELIVERY = {"run_id": HOSTILE, "endpoint_id": HOSTILE, "state": HOSTILE, "acked_seq": 1}
ENDPOINT = {"id": HOSTILE, "url": HOSTILE, "event_types": [HOSTILE], "status": HOSTILE}
ENDPOINT |= {"disabled_because": None, "pending_because": HOSTILE, "timeouts_in_a_row": 0}
EFFECT = {"step_id": HOSTILE, "tool": HOSTILE, "state": HOSTILE, "fence": 1, "sent_at": None}
SUSPECTED = {"duplicate_suspected_at": HOSTILE}
CAUSE = {"cause": HOSTILE, "count": 1, "typical_steps": [HOSTILE], "resume_median_seconds": 1}
CAUSE |= {"resume_max_seconds": 1, "tokens_saved": 1, "duplicates_prevented": 1}
KEY = {"id": HOSTILE, "subject": HOSTILE, "roles": [HOSTILE], "state": HOSTILE}
KEY |= {"created_at": HOSTILE, "last_used_at": None, "expires_at": None}
TOOL = {"name": HOSTILE, "effect": HOSTILE, "idempotency": None, "timeout": 1}
LISTED = {"run_id": HOSTILE, "status": HOSTILE, "workflow": HOSTILE}
AUDITED = {"at": HOSTILE, "action": HOSTILE, "target": HOSTILE, "subject": HOSTILE}

ANSWERS: list[tuple[str, str, Any]] = [
    ("GET", "/runs/run_1", RUN),
    (
        "GET",
        "/runs",
        {"runs": [LISTED | {"created_at": HOSTILE, "ended_at": None}], "next_page_token": None},
    ),
    ("POST", "/runs", {"run_id": "run_1", "status": HOSTILE}),
    ("GET", "/workflows", {"workflows": [{"name": HOSTILE, "version": 1, "input_schema": SCHEMA}]}),
    ("GET", "/tools", {"tools": [TOOL | {"input_schema": SCHEMA}]}),
    ("GET", "/endpoints", {"endpoints": [ENDPOINT]}),
    ("PUT", "/endpoints/a", {"secret": HOSTILE}),
    ("POST", "/endpoints/a/rotate", {"secret": HOSTILE}),
    ("GET", "/deliveries", {"deliveries": [DELIVERY | {"attempts": 1, "last_error": HOSTILE}]}),
    ("GET", "/runs/run_1/effects", {"effects": [EFFECT | {"key": HOSTILE}]}),
    ("GET", "/runs/run_2/effects", {"effects": [EFFECT | {"key": "k"} | SUSPECTED]}),
    ("DELETE", "/endpoints/a", {}),
    ("POST", "/deliveries/redrive", {"redriven": 1}),
    ("DELETE", "/keys/k", {}),
    ("GET", "/stats/recovery", {"causes": [CAUSE]}),
    ("POST", "/runs/run_1/steps/pay/resolution", {"status": HOSTILE}),
    ("POST", "/runs/run_1/resume", {"status": HOSTILE}),
    ("POST", "/patrol", {"looked": 1, "repairs": {HOSTILE: 1}}),
    ("GET", "/keys", {"keys": [KEY], "next_page_token": None}),
    (
        "GET",
        "/audit",
        {"entries": [AUDITED | {"key_id": HOSTILE, "comment": HOSTILE}], "next_page_token": None},
    ),
]


def event(number: int, what: str, **data: Any) -> dict[str, Any]:
    time = f"2026-11-29T10:00:{number:02d}.000Z"
    kind = f"onward.{what}"
    return {"type": kind, "time": time, "sequence": f"{number:010d}", "data": data}


EVENTS = [
    event(1, "run.started", generation=1),
    event(2, "step.started", step_id=HOSTILE, attempt=1),
    event(3, "step.progress", step_id=HOSTILE, attempt=1, fraction=0.5, note=HOSTILE),
    event(4, "step.retrying", step_id=HOSTILE, attempt=1, delay_seconds=9, message=HOSTILE),
    event(5, "step.taken_over", step_id=HOSTILE, attempt=2, cause=HOSTILE),
    event(6, "step.needs_reconciliation", step_id=HOSTILE, code=HOSTILE, message=HOSTILE),
    event(7, "step.reconciled", step_id=HOSTILE, outcome=HOSTILE, by=HOSTILE),
    event(8, f"step.{HOSTILE}", step_id=HOSTILE, message=HOSTILE),
    event(9, "run.resumed", cause=HOSTILE, by=HOSTILE, generation=2),
    event(10, "run.waiting", steps=[{"step_id": HOSTILE, "status": HOSTILE}]),
    event(11, "run.failed", message=f"a\n10:00:12  run succeeded {HOSTILE}"),
]

COMMANDS = [
    ("show", "run_1"),
    ("watch", "run_1"),
    ("run", "hello"),
    ("run", "hello", "--watch"),
    ("list",),
    ("workflows",),
    ("tools",),
    ("endpoints",),
    ("endpoint", "put", "a", "https://a.example"),
    ("endpoint", "rotate", "a"),
    ("deliveries",),
    ("deliveries", "run_1"),
    ("effects", "run_1"),
    ("effects", "run_2"),
    ("recovery",),
    ("resolve", "run_1", "pay", "abandon"),
    ("resume", "run_1"),
    ("patrol",),
    ("keys",),
    ("audit",),
]
IDS = [" ".join(command) for command in COMMANDS]

SAYING_NOTHING = [
    ("endpoint", "delete", "a"),
    ("redrive",),
    ("keys", "revoke", "k", "--comment", "[bold]done[/bold]"),
]
"""What these are answered is not shown; a refusal is."""


@pytest.mark.parametrize("command", COMMANDS, ids=IDS)
def test_what_is_printed_is_text(api: ScriptedApi, command: tuple[str, ...]) -> None:
    """Controls are escapes one can see, markup stands as it was written."""
    done = CliRunner().invoke(app, command)

    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert OBEYED.search(done.output) is None
    assert "\x1b" not in done.output
    assert "\\x1b]0;owned" in done.output
    if command[0] != "audit":  # a table of six such cells breaks them
        assert "[bold]l[/bold][/red]m[link=https://evil.example]n[/link]:boom:" in done.output
    assert "10:00:12  run succeeded" not in [line[:23] for line in done.output.splitlines()]


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if c[0] not in {"endpoint", "resolve", "resume"}], ids=" ".join
)
def test_json_says_the_same_and_commands_nothing(
    api: ScriptedApi, command: tuple[str, ...]
) -> None:
    """Programs read the value as it is."""
    done = CliRunner().invoke(app, [*command, "--json"])

    assert OBEYED.search(done.output) is None
    documents = [json.loads(line) for line in done.output.splitlines()]
    assert any(HOSTILE in text for document in documents for text in walk(document))


def walk(value: Any) -> Iterator[str]:
    """Yield every text in JSON."""
    if isinstance(value, str):
        yield value
    for inner in value.items() if isinstance(value, dict) else ():
        yield from walk(list(inner))
    for inner in value if isinstance(value, list) else ():
        yield from walk(inner)


@pytest.mark.parametrize("command", [*COMMANDS, *SAYING_NOTHING], ids=" ".join)
def test_a_refusal_is_text(api: ScriptedApi, command: tuple[str, ...]) -> None:
    """Whoever answers, and whatever it quotes."""
    problem = {"code": HOSTILE, "detail": HOSTILE}
    for route in list(api.routes):
        errors = [{"pointer": HOSTILE, "message": HOSTILE}] if "POST" in route else []
        api.routes[route] = (400, problem | {"errors": errors})

    done = CliRunner().invoke(app, command)

    assert 2 == done.exit_code
    assert OBEYED.search(done.output) is None
    assert "\x1b" not in done.output
    assert "[bold]l[/bold]" in done.output


def test_a_live_table_holds_no_command_but_its_own(api: ScriptedApi) -> None:
    """On a real terminal, where colours and the cursor are used."""
    file = io.StringIO()
    console = Terminal(file=file, force_terminal=True, width=120, color_system="standard")
    with Onward(api.url, "k") as client:
        follow(client, "run_1", console)
        conclude(client.get("run_1"), console)

    left = RICHS_OWN.sub("", file.getvalue())
    assert "\x1b" not in left
    assert OBEYED.search(left) is None


def test_a_drills_finding_is_text() -> None:
    """It quotes what a receiver and a client saw."""
    file = io.StringIO()
    finding = Finding("zombie", HOSTILE, HOSTILE, 1, HOSTILE, (HOSTILE,), (HOSTILE,))

    report([finding], Terminal(file=file, width=1000), as_json=False)

    assert OBEYED.search(file.getvalue()) is None
    assert 4 == file.getvalue().count("[bold]l[/bold]")


def test_no_command_has_another_console() -> None:
    """Each one could forget what this one never does; nor does anything parse markup of data."""
    for path in CLI.glob("*.py"):
        text = path.read_text()
        if path.name != "terminal.py":
            assert not re.search(r"\bConsole\(|(?<![.\w])print\(|from_markup|typer\.echo", text), (
                path
            )


def test_readable_text_is_left_alone() -> None:
    """Of every script, with its joiners, and line ends where they are ours."""
    for text in ("grüß 東京 \u0645\u0631\u062d\u0628\u0627", "👩\u200d💻", "a\n\tb", ""):
        assert text == shown(text)
    assert "a\\nb\\x1b" == one_line("a\nb\x1b")
    assert {"a\x9b": "\u202e\U000e0041"} == json.loads(json_line({"a\x9b": "\u202e\U000e0041"}))
    assert json_line({"a\x9b": "\u202e\ud800"}).isprintable()
