"""What a plan can cost, as far as its input tells, before anything of it is stored.

A small body can ask for much: a `for_each` over a list is a step a child, and a reference that
stands many times is written out as often. What only a step's output will tell is bounded by the
same numbers when the run gets there (`machine.claim`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onward.domain.errors import Fault
from onward.domain.limits import MAX_INPUT_BYTES, RunLimits
from onward.domain.template import LITERAL, REF, Unresolved, is_literal, parse, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onward.domain.model import Json, PlannedStep


@dataclass(slots=True)
class Sizes:
    """Sizes of a template once it is filled in, in bytes of JSON; a reference is measured once.

    Nothing is written out for it: three thousand references to one text are one measurement.
    """

    scope: Mapping[str, Json]
    _measured: dict[str, int] = field(default_factory=dict)

    def of(self, template: Json) -> int:
        """Return about how many bytes the filled-in template has; unknown references count 0."""
        if isinstance(template, dict):
            if is_literal(template):
                return size(template[LITERAL])
            if isinstance(text := template.get(REF), str):
                return self._reference(text)
            return 2 + sum(len(key) + 4 + self.of(value) for key, value in template.items())
        if isinstance(template, list):
            return 2 + sum(1 + self.of(value) for value in template)
        return size(template)

    def _reference(self, text: str) -> int:
        if text not in self._measured:
            try:
                self._measured[text] = size(resolve({REF: text}, self.scope))
            except Unresolved:
                self._measured[text] = 0
        return self._measured[text]


def size(value: Json) -> int:
    """Return how many bytes a value takes as compact JSON, give or take what is not ASCII."""
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def plan_faults(
    steps: Sequence[PlannedStep], run_input: Json, limits: RunLimits, pointer: str
) -> list[Fault]:
    """Name what a submitted plan asks for too much of; the steps are in the document's order."""
    faults: list[Fault] = []
    if len(steps) > limits.steps:
        faults.append(
            Fault(f"{pointer}/steps", f"at most {limits.steps} steps (max_steps), not {len(steps)}")
        )
    sizes = Sizes({"input": run_input})
    children = total = 0
    for index, step in enumerate(steps):
        items = _items(step, run_input)
        each = sizes.of(step.input)
        if each > MAX_INPUT_BYTES:
            faults.append(Fault(f"{pointer}/steps/{index}/input", too_large(each)))
        children += 0 if items is None else len(items)
        total += each if items is None else len(items) * each + _of_items(step, items, sizes)
    if children > limits.children:
        text = f"at most {limits.children} children of fan-outs (max_children), not {children}"
        faults.append(Fault(f"{pointer}/steps", text))
    if total > limits.bytes:
        text = f"at most {limits.bytes} bytes of inputs in all (max_input_bytes), not {total}"
        faults.append(Fault(f"{pointer}/steps", text))
    return faults


def too_large(found: int) -> str:
    """Say that one attempt's input is more than a worker can hold."""
    return f"its input comes to {found} bytes, at most {MAX_INPUT_BYTES} can be held"


def _items(step: PlannedStep, run_input: Json) -> list[Json] | None:
    """Return what a step fans out over, if the run's input tells; None for a single step."""
    if step.for_each is None:
        return None
    try:
        found = resolve(step.for_each, {"input": run_input})
    except Unresolved:
        return []
    return found if isinstance(found, list) else []


def _of_items(step: PlannedStep, items: list[Json], sizes: Sizes) -> int:
    """Return how much the items add to their children's inputs, at most.

    A list that hundreds of steps fan out over is measured once, and not at all for none of them.
    """
    references = _item_references(step.input) if items else 0
    return references * sizes.of(step.for_each) if references else 0


def _item_references(template: Json) -> int:
    if isinstance(template, dict):
        if is_literal(template):
            return 0
        if REF in template:
            reference = parse(template[REF])
            return int(reference is not None and reference.root == "item")
        return sum(map(_item_references, template.values()))
    return sum(map(_item_references, template)) if isinstance(template, list) else 0
