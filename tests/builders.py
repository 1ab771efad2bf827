"""Small makers of plans, runs and payloads, with what a test does not care about filled in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from onward.domain.model import Payload, Policy
from onward.domain.plan import CompiledPlan, ToolSpec, compile_plan

from tests.memory_store import MemoryStore

if TYPE_CHECKING:
    from onward.domain.model import Json
    from onward.domain.protocol import Command, Decision

NOW: Final = 1_000_000.0
RUN_ID: Final = "run_1"


def spec(name: str, *, expands: bool = False, **policy: Any) -> ToolSpec:
    """A tool that takes any input."""
    return ToolSpec(name, f"tools:{name}", Policy(**policy), expands=expands)


TOOLS: Final = {
    tool.name: tool
    for tool in (
        spec("read"),
        spec("once", attempts=1),
        spec("expand", expands=True),
        spec("native", effect="write", idempotency="native"),
        spec("forgets", effect="write", idempotency="native", key_ttl=1_100),
        spec("fenced", effect="write", idempotency="fenced"),
        spec("probe", effect="write", idempotency="probe"),
        spec("none", effect="write", idempotency="none", attempts=2),
    )
}


def step(step_id: str, tool: str = "read", **keys: Json) -> dict[str, Json]:
    """A step of a plan document."""
    return {"id": step_id, "tool": tool, **keys}


def ref(path: str) -> dict[str, Json]:
    """A reference node."""
    return {"$ref": path}


def compiled(*steps: dict[str, Json]) -> CompiledPlan:
    """The compiled plan of these steps."""
    return compile_plan({"steps": list(steps)}, TOOLS)


def chain(length: int, tool: str = "read") -> CompiledPlan:
    """Steps s0 … that each take the one before."""
    return compiled(
        *(
            step(f"s{i}", tool, input={"x": ref(f"steps.s{i - 1}")} if i else {})
            for i in range(length)
        )
    )


def fan(children: int, tool: str = "read", **keys: Json) -> CompiledPlan:
    """A list of so many items, a `for_each` over it, and a step that takes what they say."""
    return compiled(
        step("list", input={"size": children}),
        step("each", tool, for_each=ref("steps.list.items"), input={"x": ref("item")}, **keys),
        step("sum", input={"all": ref("steps.each")}),
    )


def store_of(plan: CompiledPlan, run_input: Json = None, **submit: Any) -> MemoryStore:
    """A store that holds one freshly submitted run of a plan."""
    return MemoryStore.submitted(plan, RUN_ID, NOW, run_input, **submit)


def send(store: MemoryStore, command: Command, at: float = NOW) -> Decision:
    """Carry a command of the run's driver out and return its next move."""
    return store.carry_out(command, store.run.generation, at).decision


def payload(value: Json) -> Payload:
    """A value at rest."""
    return Payload(json.dumps(value))
