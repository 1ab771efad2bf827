"""The sample tool that the README and plans of one's own use."""

from __future__ import annotations

import pytest
from onward.sdk.testing import context
from pydantic import ValidationError
from workflows.samples.plan import hello
from workflows.samples.tools import Echo, Echoed, echo


def test_echo_returns_its_value() -> None:
    """Any JSON value, without a pause unless asked for."""
    assert Echoed(value={"a": [1, None]}) == echo(context(), Echo(value={"a": [1, None]}))


def test_echo_shows_its_progress_while_it_pauses() -> None:
    """With the caller's note."""
    said: list[tuple[float, str]] = []
    ctx = context()
    ctx.report = lambda fraction, note: said.append((fraction, note))

    echo(ctx, Echo(value=1, seconds=0.01, note="brewing"))

    assert [(0.0, "brewing")] == said


@pytest.mark.parametrize("seconds", [-1, 51])
def test_pauses_stay_within_the_tools_time(seconds: float) -> None:
    """A pause beyond the time-out could never succeed."""
    with pytest.raises(ValidationError):
        Echo(value=1, seconds=seconds)


def test_hello_greets_the_world_unless_told_otherwise() -> None:
    """Its input has a default."""
    assert {"name": "world"} == hello.check_input({})
