"""Tools whose attempts do what a test wrote down for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from onward.app.driving.call_tool import WorkerDied
from onward.sdk import Applied, NotApplied, StepContext, tool
from pydantic import BaseModel


class Died(WorkerDied):
    """The worker's process ended here; nothing catches it."""


class Returns(Exception):
    """What the tool returns instead of its input."""


class Value(BaseModel):
    value: Any = None


SCRIPT: dict[str, list[Callable[[], object]]] = {}
"""By step id: what happens in its next attempts before the tool returns its input."""

KEPT: list[Any] = []
"""What an attempt kept for its test."""

CALLS: Counter[str] = Counter()
"""By idempotency key: how often a tool was really called."""


def forget() -> None:
    SCRIPT.clear()
    CALLS.clear()
    KEPT.clear()


def dies() -> None:
    raise Died


def raises(error: BaseException) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail


def _act(ctx: StepContext, request: Value) -> Value:
    CALLS[ctx.idempotency_key] += 1
    ctx.usage(3, 4)
    script = SCRIPT.get(ctx.step_id)
    try:
        if script:
            script.pop(0)()
    except Returns as told:
        return Value.model_construct(value=told.args[0])
    return request


@tool(effect="read")
def read(ctx: StepContext, request: Value) -> Value:
    return _act(ctx, request)


@tool(effect="read")
def watched(ctx: StepContext, request: Value) -> Value:
    """Do with its context what the test wrote down."""
    act: Any = SCRIPT[ctx.step_id].pop(0)
    act(ctx)
    return request


@tool(effect="write", idempotency="native")
def native(ctx: StepContext, request: Value) -> Value:
    return _act(ctx, request)


@tool(effect="write", idempotency="none")
def once(ctx: StepContext, request: Value) -> Value:
    return _act(ctx, request)


def find(ctx: StepContext, request: Value) -> Applied | NotApplied:
    """Ask the receiver that a test puts here."""
    raise NotImplementedError


@tool(effect="write", idempotency="probe", probe=find)
def probed(ctx: StepContext, request: Value) -> Value:
    return _act(ctx, request)


@tool(effect="write", idempotency="none")
def telling(ctx: StepContext, request: Value) -> Value:
    done = _act(ctx, request)
    ctx.progress(1.0, "sent")
    return done


class Added(BaseModel):
    steps: list[dict[str, Any]]


@tool(effect="read", expands=True)
def expand(ctx: StepContext, request: Value) -> Added:
    _act(ctx, request)
    return Added(steps=json.loads(request.value))


@tool(effect="read", expands=True)
def dig(ctx: StepContext, request: Value) -> Added:
    """Add one step that digs on, down to 0."""
    _act(ctx, request)
    below = {"id": f"d{request.value - 1}", "tool": "dig", "input": {"value": request.value - 1}}
    return Added(steps=[below] if request.value else [])
