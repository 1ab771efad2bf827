"""`onward check`, on the workflows that ship and on others that are wrong."""

from __future__ import annotations

from typing import Any

import pytest
from onward.cli import app
from onward.sdk import Applied, NotApplied, Step, StepContext, Workflow, tool
from onward.sdk.catalogue import Catalogue
from onward.sdk.check import faults, warnings
from pydantic import BaseModel
from typer.testing import CliRunner

from infra import check as checking
from infra.check import check


class Value(BaseModel):
    value: Any = None


def find(ctx: StepContext, request: Value) -> Applied | NotApplied:
    raise NotImplementedError


def act(ctx: StepContext, request: Value) -> Value:
    return request


def holding(settles_after: float, *steps: Step, **more: Any) -> Catalogue:
    """A catalogue of one write tool and a workflow of these steps."""
    idempotency = more.pop("idempotency", "probe")
    probe = find if idempotency == "probe" else None
    register = tool(
        effect="write", idempotency=idempotency, probe=probe, settles_after=settles_after, **more
    )
    flow = Workflow("flow", version=1, input=Value, steps=steps)
    return Catalogue({"act": register(act)}, {"flow": flow})


@pytest.mark.parametrize(
    ("idempotency", "settles", "warned"),
    [("probe", 2, True), ("none", 9.9, True), ("probe", 10, False), ("native", 2, False)],
)
def test_a_low_settles_after_is_warned_about(
    idempotency: Any, settles: float, warned: bool
) -> None:
    """Where a write is sent again because somebody did not find it."""
    found = list(warnings(holding(settles, idempotency=idempotency)))
    assert [f"tool act: settles_after is {settles} s"] * warned == [
        text.split(";", maxsplit=1)[0] for text in found
    ]


def test_a_plan_that_would_be_refused_is_a_fault() -> None:
    """With its place."""
    catalogue = holding(30)
    catalogue.workflows["flow"] = Workflow(
        "flow", version=1, input=Value, steps=[Step("a", catalogue.tools["act"], {"other": 1})]
    )
    (fault,) = faults(catalogue)
    assert "workflow flow/steps/0/input/other: tool 'act' has no input 'other'" == fault


@pytest.mark.parametrize(
    ("timeout", "own", "seconds"),
    [(20, None, 90), (60, None, 90), (120, None, 150), (20, 200, 230)],
)
def test_a_function_outlives_its_longest_attempt(
    timeout: int, own: int | None, seconds: int
) -> None:
    """Of a tool, or of a step that asks for more."""
    catalogue = holding(30, timeout=timeout)
    step = Step("a", catalogue.tools["act"], timeout=own)
    catalogue.workflows["flow"] = Workflow("flow", version=1, input=Value, steps=[step])
    assert seconds == catalogue.function_seconds
    assert [] == list(faults(catalogue))
    assert {seconds} == {spec.policy.function_seconds for spec in catalogue.specs.values()}


def test_what_ships_has_no_fault() -> None:
    """With and without the tools that inject faults."""
    assert () == check().faults == check(drills=True).faults


def test_the_command_prints_warnings_and_fails_on_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a workflow that cannot be imported."""
    done = CliRunner().invoke(app, ["check"])
    assert 0 == done.exit_code
    assert "workflows were looked at" in done.output
    assert len(check().warnings) == done.output.count("warning  tool ")

    def broken(**_: Any) -> Catalogue:
        raise ImportError("no module named nowhere")

    monkeypatch.setattr(checking, "load_catalogue", broken)
    failed = CliRunner().invoke(app, ["check"])
    assert (2, "fault    ImportError: no module named nowhere") == (
        failed.exit_code,
        failed.output.splitlines()[0],
    )
