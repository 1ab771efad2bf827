"""Plans: validated as a whole, every fault named, and compiled into immutable planned steps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Final

from onward.domain.errors import Fault, InvalidPlan
from onward.domain.limits import MAX_STEP_TIMEOUT, MAX_STEPS
from onward.domain.model import FIRST_PART, Json, PlannedStep, Policy, plan_key
from onward.domain.template import REF, parse, references, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

STEP_ID: Final = re.compile(r"[a-z0-9_-]{1,64}")
_STEP_KEYS: Final = frozenset({"id", "tool", "input", "after", "for_each", "optional", "timeout"})
_LATER_KEYS: Final = frozenset({"approval", "runs_on"})


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a plan must know of a tool. `fields`: all input names, None when any are allowed."""

    name: str
    entry: str
    policy: Policy
    required: frozenset[str] = frozenset()
    fields: frozenset[str] | None = None
    expands: bool = False


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """The steps of one part with needs and dependents worked out, and its roots."""

    steps: tuple[PlannedStep, ...]
    roots: PlannedStep
    result_from: str


@dataclass(slots=True)
class _Draft:
    """A step that is being checked."""

    id: str
    pointer: str
    document: dict[str, Json]
    tool: ToolSpec | None
    needs: set[str] = field(default_factory=set)


def compile_plan(
    document: Json, tools: Mapping[str, ToolSpec], *, pointer: str = "/plan", part: str = FIRST_PART
) -> CompiledPlan:
    """Validate a plan document and compile it; raises InvalidPlan naming every fault at once."""
    faults: list[Fault] = []
    drafts = _drafts(document, tools, pointer, faults)
    for draft in drafts.values():
        _check_references(draft, drafts, faults)
    _check_cycles(drafts, pointer, faults)
    if faults:
        raise InvalidPlan(f"the plan has {len(faults)} fault(s)", tuple(faults))
    return _link([_planned(draft, part) for draft in drafts.values()], part)


def _drafts(
    document: Json, tools: Mapping[str, ToolSpec], pointer: str, faults: list[Fault]
) -> dict[str, _Draft]:
    if not isinstance(document, dict) or not isinstance(document.get("steps"), list):
        faults.append(Fault(pointer, 'a plan is an object with a list "steps"'))
        return {}
    faults.extend(
        Fault(f"{pointer}/{key}", f"unknown key {key!r}") for key in document if key != "steps"
    )
    steps = document["steps"]
    assert isinstance(steps, list)  # noqa: S101 - checked above, for the type checker
    if not 1 <= len(steps) <= MAX_STEPS:
        faults.append(
            Fault(f"{pointer}/steps", f"a plan has 1 to {MAX_STEPS} steps, not {len(steps)}")
        )
    drafts: dict[str, _Draft] = {}
    for index, step in enumerate(steps):
        draft = _draft(step, tools, f"{pointer}/steps/{index}", faults)
        if draft is not None and draft.id in drafts:
            faults.append(Fault(f"{draft.pointer}/id", f"duplicate step id {draft.id!r}"))
        elif draft is not None:
            drafts[draft.id] = draft
    return drafts


def _draft(
    step: Json, tools: Mapping[str, ToolSpec], pointer: str, faults: list[Fault]
) -> _Draft | None:
    if not isinstance(step, dict):
        faults.append(Fault(pointer, "a step is an object"))
        return None
    for key in step.keys() - _STEP_KEYS:
        why = "is not available yet" if key in _LATER_KEYS else "is not a key of a step"
        faults.append(Fault(f"{pointer}/{key}", f"{key!r} {why}"))
    step_id, name = step.get("id"), step.get("tool")
    if not isinstance(step_id, str) or not STEP_ID.fullmatch(step_id):
        faults.append(Fault(f"{pointer}/id", f"a step id matches {STEP_ID.pattern}"))
        return None
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None:
        faults.append(Fault(f"{pointer}/tool", f"unknown tool {name!r}"))
    draft = _Draft(step_id, pointer, step, tool)
    _check_shape(draft, faults)
    _check_input(draft, faults)
    return draft


def _check_shape(draft: _Draft, faults: list[Fault]) -> None:
    step, at = draft.document, draft.pointer
    if not isinstance(step.get("optional", False), bool):
        faults.append(Fault(f"{at}/optional", "optional is true or false"))
    timeout = step.get("timeout", 1)
    whole = isinstance(timeout, int) and not isinstance(timeout, bool)
    if not whole or not 1 <= int(str(timeout)) <= MAX_STEP_TIMEOUT:
        faults.append(
            Fault(f"{at}/timeout", f"timeout is whole seconds from 1 to {MAX_STEP_TIMEOUT}")
        )
    after = step.get("after", [])
    if not isinstance(after, list) or not all(isinstance(a, str) for a in after):
        faults.append(Fault(f"{at}/after", "after is a list of step ids"))
    for_each = step.get("for_each")
    if for_each is not None and not (isinstance(for_each, dict) and set(for_each) == {REF}):
        faults.append(Fault(f"{at}/for_each", f'for_each is one reference: {{"{REF}": "…"}}'))


def _check_input(draft: _Draft, faults: list[Fault]) -> None:
    template, tool, at = draft.document.get("input", {}), draft.tool, f"{draft.pointer}/input"
    if not isinstance(template, dict):
        faults.append(Fault(at, "input is an object"))
        return
    if tool is None or REF in template:
        return
    for name in sorted(tool.required - template.keys()):
        faults.append(Fault(at, f"tool {tool.name!r} needs the input {name!r}"))
    if tool.fields is not None:
        faults.extend(
            Fault(f"{at}/{name}", f"tool {tool.name!r} has no input {name!r}")
            for name in sorted(template.keys() - tool.fields)
        )


def _check_references(draft: _Draft, drafts: dict[str, _Draft], faults: list[Fault]) -> None:
    """Check that references name steps that exist, and collect what the step needs."""
    step = draft.document
    in_input = [(p, node, True) for p, node in walk(step.get("input", {}), "/input")]
    in_for_each = [(p, node, False) for p, node in walk(step.get("for_each"), "/for_each")]
    for below, node, in_template in in_input + in_for_each:
        pointer = draft.pointer + below
        text = node.get(REF) if isinstance(node, dict) else None
        reference = parse(text)
        if reference is None or (isinstance(node, dict) and len(node) != 1):
            faults.append(Fault(pointer, f"{text!r} is not input.…, steps.<id>.… or item.…"))
        elif reference.root == "item" and not (in_template and step.get("for_each")):
            faults.append(Fault(pointer, "item is there only in the input of a for_each step"))
        elif reference.step is not None:
            _need(draft, reference.step, pointer, drafts, faults)
    after = step.get("after", [])
    for index, other in enumerate(after if isinstance(after, list) else []):
        if isinstance(other, str):
            _need(draft, other, f"{draft.pointer}/after/{index}", drafts, faults)


def _need(
    draft: _Draft, other: str, pointer: str, drafts: dict[str, _Draft], faults: list[Fault]
) -> None:
    if other not in drafts:
        faults.append(Fault(pointer, f"there is no step {other!r}"))
    else:
        draft.needs.add(other)


def _check_cycles(drafts: dict[str, _Draft], pointer: str, faults: list[Fault]) -> None:
    """Name every cycle once: cut the last one found and look again."""
    graph = {draft.id: set(draft.needs) for draft in drafts.values()}
    while True:
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle: list[str] = list(reversed(error.args[1]))
            faults.append(Fault(f"{pointer}/steps", f"cycle: {' → '.join(cycle)}"))
            graph[cycle[0]].discard(cycle[1])
        else:
            return


def _planned(draft: _Draft, part: str) -> PlannedStep:
    step, tool = draft.document, draft.tool
    assert tool is not None  # noqa: S101 - an unknown tool is a fault, and there are none
    timeout = step.get("timeout")
    policy = tool.policy if timeout is None else replace(tool.policy, timeout=int(str(timeout)))
    return PlannedStep(
        key=plan_key(part, draft.id),
        tool=tool.name,
        entry=tool.entry,
        input=step.get("input", {}),
        needs=tuple(plan_key(part, need) for need in sorted(draft.needs)),
        for_each=step.get("for_each"),
        optional=bool(step.get("optional", False)),
        expands=tool.expands,
        policy=policy,
    )


def _link(steps: list[PlannedStep], part: str) -> CompiledPlan:
    """Give every step its dependents: those that need only it, and joins with their count."""
    singles: dict[str, list[str]] = {step.key: [] for step in steps}
    joins: dict[str, list[tuple[str, int]]] = {step.key: [] for step in steps}
    for step in steps:
        for need in step.needs:
            if len(step.needs) == 1:
                singles[need].append(step.key)
            else:
                joins[need].append((step.key, len(step.needs)))
    linked = [
        replace(step, singles=tuple(singles[step.key]), joins=tuple(joins[step.key]))
        for step in steps
    ]
    roots = tuple(step.key for step in steps if not step.needs)
    return CompiledPlan(
        steps=tuple(linked),
        roots=PlannedStep(key=plan_key(part, ""), singles=roots),
        result_from=steps[-1].step_id,
    )


def outputs_needed(step: PlannedStep) -> frozenset[str]:
    """Return the steps whose outputs a claim of this step reads."""
    found = references(step.input) + references(step.for_each)
    return frozenset(reference.step for reference in found if reference.step is not None)
