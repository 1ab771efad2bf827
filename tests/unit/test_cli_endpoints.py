from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from onward.cli import app
from typer.testing import CliRunner

from tests.unit.scripted_api import ScriptedApi, serve

REFUSED = "OPTIONS was answered with 405"
GONE = "answered 410 Gone"
ODD = "https://a.example/[bold]x[/bold]?[red]"


def endpoint(name: str, status: str, **because: str) -> dict[str, Any]:
    """Return an endpoint as the service shows it."""
    whole = {"id": name, "url": f"https://{name}.example/", "event_types": ["run.*", "step.failed"]}
    whole |= {"status_url": None, "created_at": "2026-11-29T10:00:00.000Z", "disabled_at": None}
    whole |= {"status": status, "enabled": status == "enabled", "timeouts_in_a_row": 0}
    return whole | {"pending_because": None, "disabled_because": None} | because


SHOWN = [
    endpoint("billing", "enabled"),
    endpoint("new", "pending", pending_because=REFUSED),
    endpoint("old", "disabled", disabled_because=GONE),
    endpoint("odd", "enabled") | {"url": ODD},
]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedApi]:
    for api in serve():
        monkeypatch.setenv("ONWARD_API_URL", api.url)
        monkeypatch.setenv("ONWARD_API_KEY", "ow_dev_key")
        api.routes["GET /endpoints"] = (200, {"endpoints": SHOWN})
        yield api


def test_each_endpoint_says_whether_it_hears_and_why_not(api: ScriptedApi) -> None:
    """One that has not agreed yet is not one that is disabled: another thing is to be done."""
    done = CliRunner().invoke(app, ["endpoints"])

    assert 0 == done.exit_code
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in done.output.splitlines()
        if line.startswith("│")
    ]
    assert [
        ["billing", "enabled", ""],
        ["new", "pending", REFUSED],
        ["old", "disabled", GONE],
        ["odd", "enabled", ""],
    ] == [[row[0], *row[3:5]] for row in rows]
    assert ODD in done.output


def test_json_leaves_the_endpoints_as_they_are(api: ScriptedApi) -> None:
    """No column is made for programs."""
    done = CliRunner().invoke(app, ["endpoints", "--json"])
    assert SHOWN == [json.loads(line) for line in done.output.splitlines()]
