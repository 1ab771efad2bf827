"""Tools that need nothing: for first steps, plans of your own, and measurements."""

from __future__ import annotations

from threading import Event
from typing import Any, Final

from onward.sdk import StepContext, tool
from pydantic import BaseModel, Field

TICK: Final = 0.5


class Echo(BaseModel):
    """What to return, after how many seconds, and what to say meanwhile; `quiet` says nothing."""

    value: Any
    seconds: float = Field(default=0, ge=0, le=50)
    note: str | None = None
    quiet: bool = False


class Echoed(BaseModel):
    """The same value."""

    value: Any


@tool(effect="read", timeout=60)
def echo(ctx: StepContext, request: Echo) -> Echoed:
    """Return the value after a pause that shows its progress, unless it is to be quiet."""
    passed = 0.0
    pause = Event()  # never set: a wait for it is a pause
    while passed < request.seconds:
        if not request.quiet:
            ctx.progress(passed / request.seconds, request.note or "waiting")
        step = min(TICK, request.seconds - passed)
        pause.wait(step)
        passed += step
    return Echoed(value=request.value)
