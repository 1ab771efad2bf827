"""Tools that fail as they are told."""

from __future__ import annotations

import json
from typing import Any, Literal

from onward.sdk import (
    Fatal,
    InvalidInput,
    PermissionDenied,
    RateLimited,
    StepContext,
    Transient,
    tool,
)
from pydantic import BaseModel, Field


class Flaky(BaseModel):
    """How many attempts fail, and with what; `retry_after` in seconds."""

    value: Any = None
    failures: int = Field(default=1, ge=0)
    error: Literal["transient", "rate_limited", "invalid", "permission", "fatal"] = "transient"
    retry_after: float = Field(default=0, ge=0)


class Survived(BaseModel):
    """The value, and the attempt that returned it."""

    value: Any
    attempt: int


@tool(effect="read", timeout=30)
def flaky(ctx: StepContext, request: Flaky) -> Survived:
    """Fail the first attempts, then return."""
    if ctx.attempt <= request.failures:
        text = f"attempt {ctx.attempt} of {request.failures} that fail"
        raise {
            "transient": Transient(text),
            "rate_limited": RateLimited(text, retry_after=request.retry_after),
            "invalid": InvalidInput(text),
            "permission": PermissionDenied(text),
            "fatal": Fatal(text),
        }[request.error]
    return Survived(value=request.value, attempt=ctx.attempt)


class Code(BaseModel):
    """Python source that defines `run(data)`; `timeout` in seconds, `memory` in MB."""

    code: str
    data: Any = None
    timeout: float = 10
    memory: int = 256


class Ran(BaseModel):
    """What `run` returned."""

    value: Any


@tool(effect="read", timeout=100)
def run_code(ctx: StepContext, request: Code) -> Ran:
    """Run whatever code is given, in the sandbox."""
    value = ctx.sandbox(request.code, request.data, timeout=request.timeout, memory=request.memory)
    return Ran(value=value)


class Told(BaseModel):
    """Further steps as a JSON text: a plan's own template would fill in their references."""

    steps: str


class Planned(BaseModel):
    """Steps to add to the run."""

    steps: Any


@tool(effect="read", timeout=30, expands=True)
def plan_as_told(_ctx: StepContext, request: Told) -> Planned:
    """Add the steps that are given, as a model might have planned them: badly."""
    try:
        return Planned(steps=json.loads(request.steps))
    except ValueError as error:
        raise InvalidInput(f"the steps are not JSON: {error}") from error
