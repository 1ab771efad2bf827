"""One tool a recovery policy, all of them writing to the same outside world."""

from __future__ import annotations

from typing import Any

from onward.domain.model import Policy
from onward.domain.plan import ToolSpec
from onward.sdk import Applied, NotApplied, StepContext, tool
from pydantic import BaseModel

from tests.fault.receiver import OUTSIDE

SETTLES = 2.0


class Value(BaseModel):
    value: Any = None


@tool(effect="read")
def look(ctx: StepContext, request: Value) -> Value:
    ctx.usage(10, 1)
    return request


@tool(effect="write", idempotency="native")
def keyed(ctx: StepContext, request: Value) -> Value:
    OUTSIDE.honour_key(ctx.step_id, ctx.idempotency_key)
    return request


@tool(effect="write", idempotency="fenced")
def fenced(ctx: StepContext, request: Value) -> Value:
    OUTSIDE.honour_fence(ctx.step_id, ctx.idempotency_key, ctx.fence)
    return request


def found(ctx: StepContext, request: Value) -> Applied | NotApplied:
    return Applied(request) if ctx.idempotency_key in OUTSIDE.keys else NotApplied()


@tool(effect="write", idempotency="probe", probe=found, settles_after=SETTLES)
def probed(ctx: StepContext, request: Value) -> Value:
    OUTSIDE.do(ctx.step_id, ctx.idempotency_key)
    return request


@tool(effect="write", idempotency="none", settles_after=SETTLES)
def unkeyed(ctx: StepContext, request: Value) -> Value:
    OUTSIDE.do(ctx.step_id, ctx.idempotency_key)
    return request


TOOLS: dict[str, ToolSpec] = {
    made.name: made.spec for made in (look, keyed, fenced, probed, unkeyed)
}
POLICIES: dict[str, Policy] = {made.name: made.policy for made in (keyed, fenced, probed, unkeyed)}
