"""The commands as a person or a script calls them, against a service on a real socket."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from onward.cli import app
from typer.testing import CliRunner

from tests.unit.scripted_api import ScriptedApi, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

EVENTS: list[tuple[str, dict[str, Any]]] = [
    ("run.queued", {"workflow": "excel-report", "steps": 2}),
    ("run.started", {"generation": 1}),
    ("step.started", {"step_id": "inspect", "attempt": 1, "tool": "inspect"}),
    ("step.retrying", {"step_id": "inspect", "attempt": 1, "delay_seconds": 1, "message": "busy"}),
    ("step.taken_over", {"step_id": "inspect", "attempt": 2, "cause": "Runtime.ExitError"}),
    ("step.progress", {"step_id": "inspect", "attempt": 2, "fraction": 0.5, "note": "sheet 1"}),
    ("step.succeeded", {"step_id": "inspect", "attempt": 2}),
    ("step.started", {"step_id": "analyse", "children": 2}),
    ("step.started", {"step_id": "analyse.0", "attempt": 1}),
    ("step.succeeded", {"step_id": "analyse.0", "attempt": 1}),
]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedApi]:
    for api in serve():
        monkeypatch.setenv("ONWARD_API_URL", api.url)
        monkeypatch.setenv("ONWARD_API_KEY", "ow_dev_key")
        yield api


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("ONWARD_API_URL", raising=False)
    monkeypatch.delenv("ONWARD_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def onward(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def snapshot(status: str, error: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "run_id": "run_1",
        "workflow": "excel-report",
        "status": status,
        "created_at": "2026-11-29T10:00:00.000Z",
        "started_at": "2026-11-29T10:00:00.100Z",
        "ended_at": "2026-11-29T10:00:02.500Z",
        "as_of_seq": 11,
        "steps": [
            {"id": "inspect", "status": "succeeded", "attempts": 2},
            {"id": "analyse", "status": "succeeded", "children": {"total": 2, "done": 2}},
        ],
        "counts": {"total": 2, "done": 2, "skipped": 0, "attempts": 4},
        "result": {"rows": 3} if error is None else None,
        "error": error,
    }


def events(end: str, **data: Any) -> list[dict[str, Any]]:
    return [
        {
            "type": f"onward.{what}",
            "time": f"2026-11-29T10:00:{number:02d}.000Z",
            "sequence": f"{number:010d}",
            "data": members,
        }
        for number, (what, members) in enumerate([*EVENTS, (end, data)], start=1)
    ]


def test_run_sends_the_input_and_the_key(api: ScriptedApi) -> None:
    """What `run` submits is the JSON it was given, under the key it was given."""
    api.routes["POST /runs"] = (202, snapshot("queued"))

    done = onward("run", "excel-report", "--input", '{"title": "T"}', "--key", "K", "--json")

    assert done.exit_code == 0
    assert json.loads(done.stdout)["run_id"] == "run_1"
    (asked,) = api.asked
    assert asked.json() == {"workflow": "excel-report", "input": {"title": "T"}}
    assert asked.headers["Idempotency-Key"] == "K"
    assert asked.headers["Authorization"] == "Bearer ow_dev_key"


def test_run_uploads_files_and_passes_their_artifacts(api: ScriptedApi, tmp_path: Path) -> None:
    """`--file name=path` becomes input.name, by way of the artifact store."""
    workbook = tmp_path / "book.xlsx"
    workbook.write_bytes(b"content")
    artifact = {"ref": "art_1", "name": "book.xlsx", "size": 7, "content_type": "x"}
    place = {"upload_url": f"{api.url}/put", "headers": {}, "artifact": artifact}
    api.routes |= {
        "POST /uploads": (201, place),
        "PUT /put": (200, {}),
        "POST /runs": (202, snapshot("queued")),
    }

    done = onward("run", "excel-report", "--file", f"file={workbook}")

    assert done.exit_code == 0
    assert "onward watch run_1" in done.stdout
    assert [asked.path for asked in api.asked] == ["/uploads", "/put", "/runs"]
    digest = sha256(b"content").hexdigest()
    assert api.asked[0].json() == {"name": "book.xlsx", "size": 7, "sha256": digest}
    assert api.asked[1].body == b"content"
    assert api.asked[2].json()["input"] == {"file": artifact}


def test_run_takes_a_plan_from_a_file(api: ScriptedApi, tmp_path: Path) -> None:
    """`--plan @file` submits the steps without naming a workflow."""
    plan = {"steps": [{"id": "a", "tool": "echo", "input": {}}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    api.routes["POST /runs"] = (202, snapshot("queued"))

    done = onward("run", "--plan", f"@{tmp_path / 'plan.json'}")

    assert done.exit_code == 0
    assert api.asked[0].json() == {"plan": plan, "input": {}}


def test_every_fault_of_a_refused_plan_is_printed(api: ScriptedApi) -> None:
    """Three faults are three lines with their pointers, and exit code 2."""
    faults = [{"pointer": f"/plan/steps/{n}", "message": f"fault [{n}]"} for n in range(3)]
    document = {"code": "invalid_plan", "detail": "a; b; c", "errors": faults}
    api.routes["POST /runs"] = (422, document)

    done = onward("run", "--plan", '{"steps": []}')

    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: refused, 3 at fault (invalid_plan)")
    for fault in faults:
        assert f"{fault['pointer']}: {fault['message']}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run"], "name a workflow"),
        (["run", "w", "--plan", "{}"], "name a workflow"),
        (["run", "w", "--input", "{"], "--input is not JSON"),
        (["run", "w", "--input", "[1]"], "must be a JSON object"),
        (["run", "w", "--input", "@none.json"], "cannot read none.json"),
        (["run", "w", "--file", "book.xlsx"], "field=path"),
        (["run", "w", "--file", "file=none.xlsx"], "cannot read none.xlsx"),
        (["watch"], "Missing argument"),
        (["show", "run_1", "--nonsense"], "No such option"),
        (["demo", "none.xlsx"], "cannot read none.xlsx"),
        (["up", "--port", "70000"], "--port"),
    ],
)
def test_wrong_use_is_said_before_anything_is_sent(
    api: ScriptedApi, arguments: list[str], complaint: str
) -> None:
    """Exit code 2, a reason on standard error, and no request."""
    done = onward(*arguments)

    assert done.exit_code == 2
    assert complaint in done.stderr
    assert api.asked == []


def test_watch_tells_every_event_and_how_it_ended(api: ScriptedApi) -> None:
    """Where no terminal listens, each event is a line; success is exit code 0."""
    api.log = events("run.succeeded")
    api.routes["GET /runs/run_1"] = (200, snapshot("succeeded"))

    done = onward("watch", "run_1")

    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[3] == "10:00:04  inspect retrying in 1.0 s - busy"
    assert lines[4] == "10:00:05  step inspect: worker died, attempt 2 took over"
    assert lines[5] == "10:00:06  inspect 50% sheet 1"
    assert lines[7] == "10:00:08  analyse started (2 children)"
    assert len(lines) == len(api.log) + 1
    assert lines[-1] == "Run run_1 succeeded: 2 of 2 steps done in 4 attempts, 2.5 s."


@pytest.mark.parametrize("end", ["run.failed", "run.cancelled"])
def test_watch_of_a_run_that_did_not_succeed(api: ScriptedApi, end: str) -> None:
    """Failed and cancelled runs are exit code 1, with the step and the reason."""
    api.log = events(end)
    error = {"code": "invalid_input", "message": "not a workbook", "step": "inspect"}
    api.routes["GET /runs/run_1"] = (200, snapshot(end.removeprefix("run."), error))

    done = onward("watch", "run_1")

    assert done.exit_code == 1
    assert "step inspect: not a workbook (invalid_input)" in done.stdout


def test_watch_as_json_is_the_log(api: ScriptedApi) -> None:
    """`--json` prints the events as they came, one a line, and nothing else."""
    api.log = events("run.succeeded")
    api.routes["GET /runs/run_1"] = (200, snapshot("succeeded"))

    done = onward("watch", "run_1", "--json")

    assert [json.loads(line) for line in done.stdout.splitlines()] == api.log


def test_run_and_watch_in_one(api: ScriptedApi) -> None:
    """`run --watch` ends with the run, and with its exit code."""
    api.log = events("run.failed")
    error = {"code": "fatal", "message": "broken", "step": None}
    api.routes["POST /runs"] = (202, snapshot("queued"))
    api.routes["GET /runs/run_1"] = (200, snapshot("failed", error))

    done = onward("run", "excel-report", "--watch")

    assert done.exit_code == 1
    assert "broken (fatal)" in done.stdout


def test_show_prints_steps_and_result(api: ScriptedApi) -> None:
    """A snapshot for people names every step; reading a run is a success whatever it came to."""
    api.routes["GET /runs/run_1"] = (200, snapshot("succeeded"))

    done = onward("show", "run_1")

    assert done.exit_code == 0
    for expected in ("inspect", "analyse", "2/2", '"rows": 3'):
        assert expected in done.stdout


def test_show_as_json_is_the_snapshot(api: ScriptedApi) -> None:
    """`--json` prints the snapshot as it came, on one line."""
    api.routes["GET /runs/run_1"] = (200, snapshot("succeeded"))

    done = onward("show", "run_1", "--json")

    (line,) = done.stdout.splitlines()
    assert json.loads(line) == snapshot("succeeded")


def test_an_unknown_run_is_wrong_use(api: ScriptedApi) -> None:
    """The service's 404 is exit code 2 with its words."""
    done = onward("show", "run_2")

    assert done.exit_code == 2
    assert "no such run (run_not_found)" in done.stderr


def test_without_a_stack_the_way_to_one_is_named(nowhere: Path) -> None:
    """No environment and no state file is exit code 3 and says how to start one."""
    done = onward("show", "run_1")

    assert done.exit_code == 3
    assert "onward up" in done.stderr


def test_a_stack_that_is_down_is_not_reachable(nowhere: Path) -> None:
    """A state file that outlived its stack is exit code 3."""
    state = nowhere / ".onward"
    state.mkdir()
    stack = {"api_url": "http://127.0.0.1:9", "api_key": "ow_dev_key"}
    (state / "stack.json").write_text(json.dumps(stack))

    done = onward("show", "run_1")
    watched = onward("watch", "run_1")

    assert done.exit_code == watched.exit_code == 3
    assert "no answer from http://127.0.0.1:9" in done.stderr
    assert watched.stderr.endswith("once it is back: onward watch run_1\n")


def test_an_address_without_a_key_is_wrong_use(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local stack's key is never sent to an address that the environment names."""
    monkeypatch.setenv("ONWARD_API_URL", "http://elsewhere")

    done = onward("show", "run_1")

    assert done.exit_code == 2
    assert "ONWARD_API_KEY" in done.stderr
