"""Every end of a tool is a committed outcome that names it, and every value it returns is kept."""

from __future__ import annotations

import asyncio
import json
import math
import os
from typing import Any

import pytest
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.effects import Effect, EffectState
from onward.domain.errors import NotWaiting
from onward.domain.model import Payload, RunStatus, StepStatus
from onward.domain.protocol import Resolve, Resume, Verdict
from onward.sdk import InvalidInput, OutcomeUnknown, StepContext
from pydantic import SecretStr

from tests.store import scripted_tools as tools
from tests.store.driver import Driver
from tests.store.runs import Journey, journey, steps

pytestmark = pytest.mark.usefixtures("script")

NAME = os.fsdecode(b"caf\xe9.txt")


@pytest.fixture
def run_of(store: RunStore, reader: RunReader, blobs: Any, time: Any) -> Any:
    def of(tool: str, act: Any, **step: Any) -> Journey:
        """A run of one step, followed to where nobody but a person can help."""
        plan = steps({"id": "pay", "tool": tool, "input": {"value": 1}, **step})
        made = journey(store, reader, blobs, time, plan)
        tools.SCRIPT["pay"] = [act] * 4
        Driver(made.drive, made.run_id).execute()
        return made

    return of


def row_of(made: Journey) -> Any:
    row = made.drive.reader.rows(made.run_id, steps=["pay"]).steps["pay"]
    assert row is not None
    return row


def effect_of(made: Journey) -> Any:
    (effect,) = made.drive.reader.records(made.run_id, Effect)
    return effect


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Odd(Exception):
    """Whatever a library may hang on its errors."""

    @property
    def response(self) -> Any:
        return {"Error": None, "ResponseMetadata": 7}


class Leaves(BaseException):
    """As some frameworks cancel."""


class Cursed(InvalidInput):
    code = "caf\udce9"  # type: ignore[misc]


class Group(BaseExceptionGroup[BaseException]):
    pass


ENDS: list[tuple[BaseException, str]] = [
    (SystemExit("no licence"), "SystemExit: no licence"),
    (SystemExit(3), "SystemExit: 3"),
    (KeyboardInterrupt(), "KeyboardInterrupt"),
    (GeneratorExit(), "GeneratorExit"),
    (asyncio.CancelledError("the call was cancelled"), "CancelledError: the call was cancelled"),
    (Leaves("elsewhere"), "Leaves: elsewhere"),
    (Group("two", [ValueError("a"), SystemExit()]), "Group: two (2 sub-exceptions)"),
    (ValueError(f"cannot use {NAME}"), "ValueError: cannot use caf\ufffd.txt"),
    (Mute(), "Mute: <Mute without words>"),
    (Odd("o"), "Odd: o"),
    (MemoryError(), "MemoryError"),
    (RecursionError("deep"), "RecursionError: deep"),
    (ValueError("x" * 5_000_000), "ValueError: xxx"),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError: 'utf-8'"),
]


@pytest.mark.parametrize(("error", "said"), ENDS, ids=range(len(ENDS)))
def test_however_a_read_ends_the_log_says_how(run_of: Any, error: BaseException, said: str) -> None:
    """It is tried as often as it may be, and nothing is called lost."""
    made = run_of("read", tools.raises(error))

    row = row_of(made)
    assert (RunStatus.FAILED, StepStatus.FAILED) == (made.run.status, row.status)
    assert row.error.message.startswith(said)
    assert len(row.error.message) <= 500
    told = [e.type for e in made.drive.reader.events(made.run_id, 0, 100)]
    assert "step.taken_over" not in told
    assert 3 == told.count("step.retrying")


@pytest.mark.parametrize(("error", "said"), ENDS, ids=range(len(ENDS)))
def test_however_a_write_ends_nobody_claims_to_know(
    run_of: Any, error: BaseException, said: str
) -> None:
    """Once it may have been sent; the question says what was raised."""
    made = run_of("once", tools.raises(error))

    row = row_of(made)
    assert StepStatus.NEEDS_RECONCILIATION is row.status
    assert ("outcome_unknown", True) == (row.error.code, row.error.message.startswith(said))
    assert [1] == list(tools.CALLS.values())


@pytest.mark.parametrize(
    "error", [InvalidInput(f"cannot use {NAME}"), Cursed(f"cannot use {NAME}")]
)
def test_a_refusal_with_a_name_that_is_no_utf8_is_a_refusal(run_of: Any, error: Exception) -> None:
    """Of a write too: its tool said that nothing was applied."""
    made = run_of("once", tools.raises(error))

    assert StepStatus.FAILED is row_of(made).status
    assert "cannot use caf\ufffd.txt" == row_of(made).error.message
    assert EffectState.NOT_APPLIED is effect_of(made).state


def gives(value: Any) -> Any:
    def act() -> None:
        raise tools.Returns(value)

    return act


LOST = [
    (math.nan, "value: nan is no JSON number"),
    ([1, {"a": -math.inf}], "value.1.a: -inf is no JSON number"),
    (SecretStr("s3"), "value: a secret, which JSON would carry as asterisks"),
    ({(1, 2): 3}, "value: the key (1, 2) is no text"),
    (NAME, "value: a lone surrogate"),
    (object(), "value: Unable to serialize unknown type"),
    (10**5000, "value: a whole number of more than 4300 digits"),
]


@pytest.mark.parametrize(("value", "said"), LOST, ids=range(len(LOST)))
def test_what_a_read_returns_and_json_cannot_carry_fails_it(
    run_of: Any, value: Any, said: str
) -> None:
    """At once, by the place of it, and never as null or asterisks."""
    made = run_of("read", gives(value))

    row = row_of(made)
    assert (StepStatus.FAILED, "invalid_output", None) == (row.status, row.error.code, row.output)
    assert f"read returned what cannot be kept: {said}" in row.error.message
    assert [1] == list(tools.CALLS.values())


@pytest.mark.parametrize("tool", ["once", "native"])
@pytest.mark.parametrize(("value", "said"), LOST, ids=range(len(LOST)))
def test_a_write_that_returned_was_applied(run_of: Any, tool: str, value: Any, said: str) -> None:
    """Its step fails and says why; nobody is asked, and nothing is sent again."""
    made = run_of(tool, gives(value))

    row, effect = row_of(made), effect_of(made)
    assert (StepStatus.FAILED, "invalid_output", None) == (row.status, row.error.code, row.output)
    assert said in row.error.message
    assert (EffectState.APPLIED, row.error.message) == (effect.state, effect.receipt.refused)
    assert "s3" not in json.dumps(effect.receipt.text)
    assert [1] == list(tools.CALLS.values())


def test_an_optional_write_whose_result_cannot_be_kept_is_skipped(run_of: Any) -> None:
    """Its effect stays in the ledger."""
    made = run_of("once", gives(math.nan), optional=True)

    assert (RunStatus.SUCCEEDED, StepStatus.SKIPPED) == (made.run.status, row_of(made).status)
    assert EffectState.APPLIED is effect_of(made).state


def test_a_resumed_write_is_not_sent_again(run_of: Any) -> None:
    """A person gives what it returned; no other answer can be right."""
    made = run_of("native", gives(math.nan))
    driver = Driver(made.drive, made.run_id)

    made.move(Resume("ada", ("pay",)), None)
    driver.execute(2)

    assert StepStatus.NEEDS_RECONCILIATION is row_of(made).status
    assert "native returned what cannot be kept" in row_of(made).error.message
    for verdict, said in ((Verdict.NOT_APPLIED, "was applied"), (Verdict.APPLIED, "give its")):
        with pytest.raises(NotWaiting, match=said):
            made.decide(Resolve("pay", verdict, "ada"), None)
    made.move(Resolve("pay", Verdict.APPLIED, "ada", Payload('{"value":7}')), None)
    driver.execute(2)
    assert (RunStatus.SUCCEEDED, '{"value":7}') == (made.run.status, row_of(made).output.text)
    assert [1] == list(tools.CALLS.values())


def test_a_resumed_write_can_be_given_up(run_of: Any) -> None:
    """Where nobody knows what it returned."""
    made = run_of("once", gives(math.nan))
    made.move(Resume("ada", ("pay",)), None)
    Driver(made.drive, made.run_id).execute(2)

    made.move(Resolve("pay", Verdict.ABANDON, "ada"), None)

    assert (StepStatus.FAILED, "abandoned") == (row_of(made).status, row_of(made).error.code)
    assert EffectState.APPLIED is effect_of(made).state


def test_progress_and_usage_take_whatever_a_tool_says(run_of: Any) -> None:
    """A note that is no UTF-8, a fraction and tokens that are no numbers cost no step."""

    def act(ctx: StepContext) -> None:
        ctx.progress(math.nan, f"reading {NAME}")
        for fraction in (math.inf, -1, 10**400, "half", None, True):
            ctx._reported_at = 0.0
            ctx.progress(fraction, "\x1b[2J" + "n" * 100_000)  # type: ignore[arg-type]
        for tokens in (math.nan, math.inf, -5, 10**400, "7", None, True, 2.9):
            ctx.usage(tokens, tokens, "m\udce9")  # type: ignore[arg-type]

    made = run_of("watched", act)

    assert RunStatus.SUCCEEDED is made.run.status
    events = made.drive.reader.events(made.run_id, 0, 100)
    notes = [e.data["note"] for e in events if e.type == "step.progress"]
    assert "reading caf\ufffd.txt" == notes[0]
    assert all(0 <= float(str(e.data["fraction"])) <= 1 for e in events if "fraction" in e.data)
    assert 0 < row_of(made).usage.input_tokens < 10**13


@pytest.mark.parametrize(
    ("name", "content_type", "said"),
    [
        ("", "text/plain", "name"),
        ("x" * 300, "text/plain", "name"),
        (7, "text/plain", "name"),
        ("a.txt", "text/plain\r\nX-Evil: 1", "content type"),
        ("a.txt", "caf\u00e9", "content type"),
        ("a.txt", None, "content type"),
    ],
)
def test_an_artifact_that_cannot_be_named_so_is_refused(
    run_of: Any, name: Any, content_type: Any, said: str
) -> None:
    """By what is wrong with it."""
    made = run_of("watched", lambda ctx: ctx.put_artifact(name, b"x", content_type))

    assert ("invalid_input", True) == (row_of(made).error.code, said in row_of(made).error.message)


def test_an_artifacts_name_that_is_no_utf8_gets_a_replacement_sign(run_of: Any) -> None:
    """The bytes are what matters."""
    made = run_of("watched", lambda ctx: tools.KEPT.append(ctx.put_artifact(NAME, b"x")))

    assert RunStatus.SUCCEEDED is made.run.status
    assert "caf\ufffd.txt" == tools.KEPT[-1].name


@pytest.mark.parametrize("reason", [f"no {NAME}", None, 7])
def test_a_probe_may_give_any_reason(run_of: Any, reason: Any) -> None:
    """It is asked again; what it said stays text."""
    made = run_of("read", tools.raises(OutcomeUnknown(reason)))

    assert "outcome_unknown" == row_of(made).error.code
