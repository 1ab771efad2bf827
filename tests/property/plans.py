"""Random valid plans: chains, diamonds, wide fans, joins, fan-outs, every kind of tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from tests.builders import NOW, TOOLS, compiled, ref, step

if TYPE_CHECKING:
    from onward.domain.model import Json
    from onward.domain.plan import CompiledPlan

LISTS: dict[str, Json] = {
    "none": [],
    "one": [1],
    "few": [1, 2, 3],
    "many": list(range(13)),
    "yes": True,
    "no": False,
    "late": NOW + 700,
}
FANS = ["none", "one", "few", "many"]
KINDS = ["plain"] * 6 + ["fan"] * 2 + ["asks"] * 2 + ["sleeps", "perhaps", "broken"]
APPROVALS: list[Json] = [
    {},
    {"expires": 400},
    {"expires": 400, "on_expiry": "reject", "editable": ["x"]},
]
SLEEPS: list[dict[str, Json]] = [{"sleep": 40}, {"sleep": "2h"}, {"sleep_until": ref("input.late")}]
BROKEN = "input.missing"
SHAPES = ["writes", "writes", "writes", "random", "random", "chain", "star"]
PLAIN = sorted(name for name, tool in TOOLS.items() if not tool.expands)
WRITES = sorted(name for name, tool in TOOLS.items() if tool.policy.writes)


@st.composite
def plans(draw: Any) -> CompiledPlan:
    """A valid plan of 1 to 14 steps; with more dependents than lanes every now and then.

    Or of one or two writes, so that much happens to each of them.
    """
    steps: list[dict[str, Json]] = []
    shape = draw(
        st.sampled_from(["writes", "writes", "writes", "random", "random", "chain", "star"])
    )
    for index in range(draw(st.integers(1, 2 if shape == "writes" else 14))):
        if shape == "writes":
            keys = draw(st.sampled_from([{}, {}, {"approval": {"expires": 400}}]))
            steps.append(step(f"s{index}", draw(st.sampled_from(WRITES)), **keys))
            continue
        earlier = [str(s["id"]) for s in steps]
        steps.append(draw(_steps(f"s{index}", _needs(draw, shape, earlier))))
    return compiled(*steps)


def _needs(draw: Any, shape: str, earlier: list[str]) -> list[str]:
    if not earlier:
        return []
    if shape == "chain":
        return earlier[-1:]
    if shape == "star":
        return earlier[:1]
    chosen: list[str] = draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True))
    return chosen


@st.composite
def _steps(draw: Any, step_id: str, needs: list[str]) -> dict[str, Json]:
    as_input = draw(st.integers(0, len(needs)))
    template: dict[str, Json] = {need: ref(f"steps.{need}") for need in needs[:as_input]}
    keys: dict[str, Json] = {"input": template, "optional": draw(st.booleans())}
    if needs[as_input:]:
        keys["after"] = list(needs[as_input:])
    kind = draw(st.sampled_from(KINDS))
    if kind == "fan":
        keys["for_each"] = ref(f"input.{draw(st.sampled_from(FANS))}")
        template["item"] = ref("item")
    elif kind == "asks":
        keys["approval"] = draw(st.sampled_from(APPROVALS))
    elif kind == "sleeps":
        del keys["input"]
        keys |= draw(st.sampled_from(SLEEPS)) | {"after": [*needs]}
        return {"id": step_id, **keys}
    elif kind == "perhaps":
        keys["when"] = ref(f"input.{draw(st.sampled_from(['yes', 'no']))}")
    elif kind == "broken":
        template["broken"] = ref(BROKEN)
        keys["optional"] = draw(st.sampled_from([True, True, True, False]))
    return step(step_id, draw(st.sampled_from(PLAIN)), **keys)
