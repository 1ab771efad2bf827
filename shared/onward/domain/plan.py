"""Plans: validated as a whole, every fault named, and compiled into immutable planned steps."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Final

from onward.domain.errors import Fault, InvalidPlan
from onward.domain.limits import (
    FUNCTION_MARGIN,
    FUNCTION_SECONDS,
    MAX_CYCLES,
    MAX_DEPTH,
    MAX_STEP_TIMEOUT,
    MAX_STEPS,
)
from onward.domain.model import FIRST_PART, Json, PlannedStep, Policy, plan_key
from onward.domain.plan_waits import (
    WAIT_KEYS,
    approval_terms,
    check_waits,
    templates,
    wait_terms,
)
from onward.domain.template import LITERAL, REF, deeper_than, escaped, is_literal, parse, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

STEP_ID: Final = re.compile(r"[a-z0-9_-]{1,64}")
_STEP_KEYS: Final = WAIT_KEYS | {
    "id", "tool", "input", "after", "for_each", "optional", "timeout", "when", "approval",
}  # fmt: skip
_LATER_KEYS: Final = frozenset({"runs_on", "any_version"})


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a plan must know of a tool. `fields`: all input names, None when any are allowed.

    `nullable`: those of them that may be null.
    """

    name: str
    entry: str
    policy: Policy
    required: frozenset[str] = frozenset()
    fields: frozenset[str] | None = None
    expands: bool = False
    nullable: frozenset[str] = frozenset()


_NO_TOOL: Final = ToolSpec(name="", entry="", policy=Policy())
"""Of a step that waits."""


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """The steps of one part with needs and dependents worked out, and its roots."""

    steps: tuple[PlannedStep, ...]
    roots: PlannedStep
    result_from: str


@dataclass(frozen=True, slots=True)
class Extending:
    """What a plan that extends a run must fit to.

    `taken`: ids of the run's steps; `ended`: those whose outputs it may refer to, its own
    step's included; `room`: how many steps the run may still be given.
    """

    taken: frozenset[str]
    ended: frozenset[str]
    room: int


@dataclass(slots=True)
class _Draft:
    """A step that is being checked."""

    id: str
    pointer: str
    document: dict[str, Json]
    tool: ToolSpec | None
    needs: set[str] = field(default_factory=set)


def compile_plan(
    document: Json,
    tools: Mapping[str, ToolSpec],
    *,
    pointer: str = "/plan",
    part: str = FIRST_PART,
    extending: Extending | None = None,
) -> CompiledPlan:
    """Validate a plan document and compile it; raises InvalidPlan naming every fault at once.

    With `extending` it is the part that a running step adds to its run.
    """
    faults: list[Fault] = []
    drafts = _drafts(document, tools, pointer, faults)
    ended = extending.ended if extending else frozenset()
    if extending is not None:
        _check_room(drafts, extending, pointer, faults)
    by_id: dict[str, _Draft] = {}
    for draft in drafts:
        if draft.id in by_id:
            faults.append(Fault(f"{draft.pointer}/id", f"duplicate step id {draft.id!r}"))
        by_id.setdefault(draft.id, draft)
    for draft in drafts:
        _check_references(draft, by_id, ended, faults)
    _check_cycles(by_id, pointer, faults)
    if faults:
        raise InvalidPlan(f"the plan has {len(faults)} fault(s)", tuple(faults))
    return _link([_planned(draft, part) for draft in drafts], part)


def _drafts(
    document: Json, tools: Mapping[str, ToolSpec], pointer: str, faults: list[Fault]
) -> list[_Draft]:
    steps = document.get("steps") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(steps, list):
        faults.append(Fault(pointer, 'a plan is an object with a list "steps"'))
        return []
    faults.extend(
        Fault(f"{pointer}/{escaped(key)}", f"unknown key {key!r}")
        for key in document
        if key != "steps"
    )
    if not 1 <= len(steps) <= MAX_STEPS:
        faults.append(
            Fault(f"{pointer}/steps", f"a plan has 1 to {MAX_STEPS} steps, not {len(steps)}")
        )
    drafts = [_draft(s, tools, f"{pointer}/steps/{i}", faults) for i, s in enumerate(steps)]
    return [draft for draft in drafts if draft is not None]


def _draft(
    step: Json, tools: Mapping[str, ToolSpec], pointer: str, faults: list[Fault]
) -> _Draft | None:
    if not isinstance(step, dict):
        faults.append(Fault(pointer, "a step is an object"))
        return None
    if deeper_than(step, MAX_DEPTH):
        faults.append(Fault(pointer, f"nested deeper than {MAX_DEPTH} levels"))
        return None
    for key in sorted(step.keys() - _STEP_KEYS):
        why = "is not available yet" if key in _LATER_KEYS else "is not a key of a step"
        faults.append(Fault(f"{pointer}/{escaped(key)}", f"{key!r} {why}"))
    step_id, name = step.get("id"), step.get("tool")
    if not isinstance(step_id, str) or not STEP_ID.fullmatch(step_id):
        faults.append(Fault(f"{pointer}/id", f"a step id matches {STEP_ID.pattern}"))
    tool = tools.get(name) if isinstance(name, str) else None
    if tool is None and not (WAIT_KEYS & step.keys()):
        faults.append(Fault(f"{pointer}/tool", f"unknown tool {name!r}"))
    elif tool is None:
        pass  # it waits instead
    elif tool.policy.writes and tool.policy.idempotency is None:
        faults.append(Fault(f"{pointer}/tool", f"write tool {name!r} has no recovery policy"))
    # An id that is no string names nothing; its place does, which no reference can say.
    draft = _Draft(step_id if isinstance(step_id, str) else pointer, pointer, step, tool)
    _check_shape(draft, faults)
    _check_input(draft, faults)
    check_waits(step, tool.fields if tool else None, pointer, faults)
    return draft


def _check_shape(draft: _Draft, faults: list[Fault]) -> None:
    step, at = draft.document, draft.pointer
    if not isinstance(step.get("optional", False), bool):
        faults.append(Fault(f"{at}/optional", "optional is true or false"))
    timeout, most = step.get("timeout", 1), _longest(draft.tool)
    if not isinstance(timeout, int) or isinstance(timeout, bool) or not 1 <= timeout <= most:
        faults.append(Fault(f"{at}/timeout", f"timeout is whole seconds from 1 to {most}"))
    after = step.get("after", [])
    if not isinstance(after, list) or not all(isinstance(a, str) for a in after):
        faults.append(Fault(f"{at}/after", "after is a list of step ids"))
    for_each = step.get("for_each")
    if for_each is not None and draft.tool is not None and draft.tool.expands:
        faults.append(Fault(f"{at}/for_each", f"{draft.tool.name!r} adds steps, so only once"))
    if for_each is not None and not _is_one_reference(for_each):
        faults.append(Fault(f"{at}/for_each", f'for_each is one reference: {{"{REF}": "…"}}'))


def _longest(tool: ToolSpec | None) -> int:
    """Return the seconds that a step may ask for: the function that runs it must outlive it."""
    lives = FUNCTION_SECONDS if tool is None else tool.policy.function_seconds
    return min(MAX_STEP_TIMEOUT, lives - FUNCTION_MARGIN)


def _is_one_reference(node: Json) -> bool:
    return isinstance(node, dict) and node.keys() == {REF}


def _check_input(draft: _Draft, faults: list[Fault]) -> None:
    template, tool, at = draft.document.get("input", {}), draft.tool, f"{draft.pointer}/input"
    if is_literal(template) and isinstance(template, dict):
        template, at = template[LITERAL], f"{at}/{LITERAL}"
    if not isinstance(template, dict):
        faults.append(Fault(at, "input is an object"))
        return
    if tool is None or (REF in template and at.endswith("/input")):
        return
    faults.extend(
        Fault(at, f"tool {tool.name!r} needs the input {name!r}")
        for name in sorted(tool.required - template.keys())
    )
    if tool.fields is not None:
        faults.extend(
            Fault(f"{at}/{escaped(name)}", f"tool {tool.name!r} has no input {name!r}")
            for name in sorted(template.keys() - tool.fields)
        )


def _check_references(
    draft: _Draft, drafts: dict[str, _Draft], ended: frozenset[str], faults: list[Fault]
) -> None:
    """Check that references name steps that exist, and collect what the step needs."""
    step, for_each = draft.document, draft.document.get("for_each")
    nodes = [
        (pointer, node, above != "/when")
        for above, template in templates(step)
        for pointer, node in walk(template, above)
    ]
    if _is_one_reference(for_each):
        nodes.append(("/for_each", for_each, False))
    for below, node, in_template in nodes:
        pointer = draft.pointer + below
        text = node.get(REF) if isinstance(node, dict) else None
        reference = parse(text) if _is_one_reference(node) else None
        if isinstance(node, dict) and LITERAL in node:
            faults.append(Fault(pointer, f"{LITERAL} stands alone in its object"))
        elif reference is None:
            if not _names_refused_id(text, drafts):
                faults.append(Fault(pointer, f"{text!r} is not input.…, steps.<id>.… or item.…"))
        elif reference.root == "item" and (for_each is None or not in_template):
            faults.append(Fault(pointer, "item is there only in the input of a for_each step"))
        elif reference.step is not None and reference.step not in ended:
            _need(draft, reference.step, pointer, drafts, faults)
            _check_nullable(draft, drafts.get(reference.step), below, faults)
    after = step.get("after", [])
    for index, other in enumerate(after if isinstance(after, list) else []):
        if isinstance(other, str) and other not in ended:
            _need(draft, other, f"{draft.pointer}/after/{index}", drafts, faults)


def _check_nullable(draft: _Draft, needed: _Draft | None, below: str, faults: list[Fault]) -> None:
    """A step that may be skipped has no output: what takes it must take null."""
    if needed is None or draft.tool is None or "when" not in needed.document:
        return
    _, place, *deeper = below.split("/", 3)
    if place != "input" or len(deeper) > 1:
        return
    if not deeper:
        faults.append(
            Fault(draft.pointer + below, f"step {needed.id!r} may be skipped: no input then")
        )
    elif draft.tool.fields is not None and deeper[0] not in draft.tool.nullable:
        message = f"step {needed.id!r} may be skipped, and {deeper[0]!r} may not be null"
        faults.append(Fault(draft.pointer + below, message))


def _names_refused_id(text: Json, drafts: dict[str, _Draft]) -> bool:
    """Whether a reference is wrong only because the id it names is; that is named already."""
    if not isinstance(text, str) or not text.startswith("steps."):
        return False
    return any(
        text == f"steps.{step_id}" or text.startswith(f"steps.{step_id}.")
        for step_id in drafts
        if not STEP_ID.fullmatch(step_id)
    )


def _need(
    draft: _Draft, other: str, pointer: str, drafts: dict[str, _Draft], faults: list[Fault]
) -> None:
    if other not in drafts:
        faults.append(Fault(pointer, f"there is no step {other!r}"))
    else:
        draft.needs.add(other)


def _check_cycles(drafts: dict[str, _Draft], pointer: str, faults: list[Fault]) -> None:
    """Name every cycle once: cut the last one found and look again, a bounded number of times."""
    graph = {draft.id: sorted(draft.needs) for draft in drafts.values()}
    for _ in range(MAX_CYCLES):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            cycle: list[str] = list(reversed(error.args[1]))
            faults.append(Fault(f"{pointer}/steps", f"cycle: {' → '.join(cycle)}"))
            graph[cycle[0]].remove(cycle[1])
        else:
            return


def _check_room(
    drafts: list[_Draft], extending: Extending, pointer: str, faults: list[Fault]
) -> None:
    if len(drafts) > extending.room:
        faults.append(
            Fault(f"{pointer}/steps", f"the run has room for {extending.room} steps (max_steps)")
        )
    faults.extend(
        Fault(f"{draft.pointer}/id", f"the run has a step {draft.id!r} already")
        for draft in drafts
        if draft.id in extending.taken
    )


def _planned(draft: _Draft, part: str) -> PlannedStep:
    step, tool = draft.document, draft.tool or _NO_TOOL
    timeout = step.get("timeout")
    wait, template = wait_terms(step)
    policy = replace(tool.policy, timeout=timeout) if isinstance(timeout, int) else tool.policy
    return PlannedStep(
        key=plan_key(part, draft.id),
        tool=tool.name,
        entry=tool.entry,
        input=template,
        needs=tuple(plan_key(part, need) for need in sorted(draft.needs)),
        for_each=step.get("for_each"),
        optional=bool(step.get("optional", False)),
        expands=tool.expands,
        policy=policy,
        when=step.get("when"),
        approval=approval_terms(step.get("approval")),
        wait=wait,
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
