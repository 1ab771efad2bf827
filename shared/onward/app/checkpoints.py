"""Checkpoints: JSON values at rest, and the inputs that are made of them."""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onward.aws.blobs import hashed
from onward.aws.codec import dumps
from onward.domain.cost import Sizes, too_large
from onward.domain.limits import INLINE_BYTES, MAX_INPUT_BYTES
from onward.domain.model import Payload, StepStatus, child_id
from onward.domain.needs import added_needed, outputs_needed
from onward.domain.protocol import Claim, Resolved
from onward.domain.template import Unresolved, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from onward.aws.blobs import Blobs
    from onward.domain.model import Json, PlannedStep, Step

KEPT_VALUES: Final = 64


def keep(blobs: Blobs, value: Json) -> Payload:
    """Put a value at rest: in its row up to 4 KB, else under its hash in the artifact store."""
    text = dumps(value)
    body = text.encode()
    if len(body) <= INLINE_BYTES:
        return Payload(text=text)
    return Payload(ref=blobs.put(hashed("pay", body), body, "", "application/json").ref)


def load(blobs: Blobs, payload: Payload | None) -> Json:
    """Return the value of a payload; nothing is null."""
    if payload is None:
        return None
    text = payload.text if payload.ref is None else blobs.get(payload.ref)
    value: Json = json.loads(text if text is not None else "null")
    return value


def action_version(tool: str, value: Json) -> str:
    """Return the digest of a tool and its resolved input: the identity of an action."""
    return sha256(dumps([tool, value]).encode()).hexdigest()[:32]


class Outputs:
    """Outputs of ended steps. They never change, so a warm process keeps the last few."""

    def __init__(self) -> None:
        """Start empty."""
        self._values: OrderedDict[tuple[str, str], Json] = OrderedDict()

    def find(self, run_id: str, step_id: str) -> tuple[Json] | None:
        """Return a kept value, boxed because null is one."""
        key = (run_id, step_id)
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return (self._values[key],)

    def keep(self, run_id: str, step_id: str, value: Json) -> None:
        """Keep a value and drop the one that was not asked for longest."""
        self._values[(run_id, step_id)] = value
        if len(self._values) > KEPT_VALUES:
            self._values.popitem(last=False)


class Resolver:
    """Fills in the inputs of claims of one run."""

    def __init__(
        self,
        run_id: str,
        run_input: Json,
        blobs: Blobs,
        outputs: Outputs,
        fetch: Callable[[list[str]], Mapping[str, Step | None]],
        fresh: Mapping[str, Payload],
    ) -> None:
        """`fetch` reads step rows; `fresh` holds an output that is being committed."""
        self._run_id = run_id
        self._input = run_input
        self._blobs = blobs
        self._outputs = outputs
        self._fetch = fetch
        self._fresh = fresh

    def resolve(self, claims: Mapping[Claim, PlannedStep]) -> dict[str, Resolved]:
        """Return the resolved input of each claim by step id."""
        steps = list(claims.values())
        values = self._values({step_id for planned in steps for step_id in outputs_needed(planned)})
        values |= self._with_added(values, {s for planned in steps for s in added_needed(planned)})
        scope: dict[str, Json] = {"input": self._input, "steps": values}
        return {
            claim.step_id: self._one(claim, planned, scope) for claim, planned in claims.items()
        }

    def _one(self, claim: Claim, planned: PlannedStep, scope: dict[str, Json]) -> Resolved:
        try:
            if planned.for_each is not None:
                items = resolve(planned.for_each, scope)
                if not isinstance(items, list):
                    return Resolved(fault="for_each: the reference is not a list")
                if claim.index is None:
                    return Resolved(items=len(items))
                scope = scope | {"item": items[claim.index]}
            # Before it is written out: what stands in many places takes no room until then.
            size = Sizes(scope).of(planned.input)
            if size > MAX_INPUT_BYTES:
                return Resolved(fault=too_large(size))
            value = resolve(planned.input, scope)
        except Unresolved as error:
            return Resolved(fault=str(error))
        digest = action_version(planned.tool, value)
        return Resolved(keep(self._blobs, value), digest, size=size)

    def _with_added(self, values: dict[str, Json], step_ids: set[str]) -> dict[str, Json]:
        """Return outputs of steps that added others, with `added`: the outputs of those by id."""
        complete: dict[str, Json] = {}
        for step_id, row in (self._fetch(sorted(step_ids)) if step_ids else {}).items():
            own = values.get(step_id)
            if row is not None and isinstance(own, dict):
                outputs = self._values(row.added)
                complete[step_id] = own | {"added": {s: outputs.get(s) for s in row.added}}
        return complete

    def _values(self, step_ids: Iterable[str]) -> dict[str, Json]:
        """Return outputs by step id; a step that has none is absent."""
        values: dict[str, Json] = {}
        unread: list[str] = []
        for step_id in sorted(step_ids):
            kept = self._outputs.find(self._run_id, step_id)
            if kept is not None:
                values[step_id] = kept[0]
            elif step_id in self._fresh:
                values[step_id] = load(self._blobs, self._fresh[step_id])
            else:
                unread.append(step_id)
        for step_id, row in (self._fetch(unread) if unread else {}).items():
            if row is not None:
                values[step_id] = self._output(row)
        return values

    def _output(self, row: Step) -> Json:
        if row.children is not None:
            ids = [child_id(row.step_id, index) for index in range(row.children)]
            children = self._values(ids)
            return [children.get(child) for child in ids]
        value = load(self._blobs, row.output)
        if row.status is StepStatus.SUCCEEDED:
            self._outputs.keep(self._run_id, row.step_id, value)
        return value
