"""Checkpoints: JSON values at rest, and the inputs that are made of them."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onward.app.payloads.manifests import gathered, read_manifest
from onward.app.payloads.store import TooSlow, keep, load_all
from onward.aws.codec import dumps
from onward.domain.condition import holds
from onward.domain.cost import Sizes, too_large
from onward.domain.limits import MAX_INPUT_BYTES
from onward.domain.model import StepStatus
from onward.domain.needs import added_needed, children_needed, outputs_needed
from onward.domain.protocol import Resolved
from onward.domain.template import Unresolved, resolve
from onward.domain.wait_inputs import resolved_wait

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.app.payloads.store import Clock
    from onward.aws.blobs import Blobs
    from onward.domain.model import Json, Payload, PlannedStep, Step
    from onward.domain.protocol import Claim

KEPT_VALUES: Final = 64
KEPT_MANIFESTS: Final = 4


def action_version(tool: str, value: Json) -> str:
    """Return the digest of a tool and its resolved input: the identity of an action."""
    return sha256(dumps([tool, value]).encode()).hexdigest()[:32]


class Outputs:
    """Outputs of ended steps. They never change, so a warm process keeps the last few."""

    def __init__(self) -> None:
        """Start empty."""
        self._values: OrderedDict[tuple[str, str], Json] = OrderedDict()
        self._manifests: OrderedDict[tuple[str, str], list[Payload | None]] = OrderedDict()

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

    def manifest(self, run_id: str, step_id: str) -> list[Payload | None] | None:
        """Return where the outputs of an ended fan-out's children are, if that is kept."""
        return self._manifests.get((run_id, step_id))

    def keep_manifest(self, run_id: str, step_id: str, outputs: list[Payload | None]) -> None:
        """Keep where the outputs of a fan-out's children are, of the last few fan-outs."""
        self._manifests[(run_id, step_id)] = outputs
        if len(self._manifests) > KEPT_MANIFESTS:
            self._manifests.popitem(last=False)


class Resolver:
    """Fills in the inputs of claims of one run."""

    def __init__(  # noqa: PLR0913 - what is read, where, and by when
        self,
        *,
        run_id: str,
        run_input: Json,
        blobs: Blobs,
        outputs: Outputs,
        fetch: Callable[[list[str]], Mapping[str, Step | None]],
        fresh: Mapping[str, Payload],
        manifests: Mapping[str, Payload],
        clock: Clock,
    ) -> None:
        """`fetch` reads step rows; `fresh` holds an output that is being committed.

        `manifests` are those of fan-outs that end with the same commit.
        """
        self._run_id = run_id
        self._input = run_input
        self._blobs = blobs
        self._outputs = outputs
        self._fetch = fetch
        self._fresh = fresh
        self._manifests = manifests
        self._clock = clock

    def resolve(self, claims: Mapping[Claim, PlannedStep]) -> dict[str, Resolved]:
        """Return the resolved input of each claim by step id; raises TooSlow naming the first late.

        Outputs are read for all claims at once: what several of them take is read once.
        """
        wanted: dict[str, frozenset[int] | None] = {}
        added: set[str] = set()
        for claim, planned in claims.items():
            added |= added_needed(planned)
            for step_id, indexes in children_needed(claim, planned).items():
                before = wanted.get(step_id, frozenset())
                both = before is not None and indexes is not None
                wanted[step_id] = before | indexes if both else None  # type: ignore[operator]
        try:
            values = self._values(wanted)
            values |= self._with_added(values, added)
        except TooSlow as slow:
            raise TooSlow(_slowest(claims, wanted)) from slow
        scope: dict[str, Json] = {"input": self._input, "steps": values}
        return {
            claim.step_id: self._one(claim, planned, scope) for claim, planned in claims.items()
        }

    def _one(self, claim: Claim, planned: PlannedStep, scope: dict[str, Json]) -> Resolved:
        try:
            if planned.when is not None and claim.index is None and not holds(planned.when, scope):
                return Resolved(unmet=True)
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
        made = Resolved(keep(self._blobs, self._run_id, value), digest, size=size)
        return made if planned.wait is None else resolved_wait(made, value)

    def _with_added(self, values: dict[str, Json], step_ids: set[str]) -> dict[str, Json]:
        """Return outputs of steps that added others, with `added`: the outputs of those by id."""
        complete: dict[str, Json] = {}
        for step_id, row in (self._fetch(sorted(step_ids)) if step_ids else {}).items():
            own = values.get(step_id)
            if row is not None and isinstance(own, dict):
                outputs = self._values(dict.fromkeys(row.added))
                complete[step_id] = own | {"added": {s: outputs.get(s) for s in row.added}}
        return complete

    def _values(self, wanted: Mapping[str, frozenset[int] | None]) -> dict[str, Json]:
        """Return outputs by step id, read at once; a step that has none is absent.

        Of a fan-out, those of the children wanted (None: of all), and null in place of others.
        """
        values: dict[str, Json] = {}
        payloads: dict[str, Payload | None] = {}
        fans: dict[str, list[Payload | None]] = {}
        unread: list[str] = []
        for step_id in sorted(wanted):
            kept = self._outputs.find(self._run_id, step_id)
            if kept is not None:
                values[step_id] = kept[0]
            elif step_id in self._manifests:
                fans[step_id] = read_manifest(self._blobs, self._manifests[step_id])
            elif step_id in self._fresh:
                payloads[step_id] = self._fresh[step_id]
            else:
                unread.append(step_id)
        rows = self._fetch(unread) if unread else {}
        found = {step_id: row for step_id, row in rows.items() if row is not None}
        payloads |= {s: row.output for s, row in found.items() if row.children is None}
        fans |= {
            s: self._children(row, row.children)
            for s, row in found.items()
            if row.children is not None
        }
        values |= self._plain(payloads, found)
        return values | {s: self._listed(outputs, wanted[s]) for s, outputs in fans.items()}

    def _plain(
        self, payloads: dict[str, Payload | None], rows: Mapping[str, Step]
    ) -> dict[str, Json]:
        """Return outputs of steps that did not fan out; those that are final are kept."""
        values = dict(zip(payloads, self._load(list(payloads.values())), strict=True))
        for step_id, value in values.items():
            if step_id in rows and rows[step_id].status is StepStatus.SUCCEEDED:
                self._outputs.keep(self._run_id, step_id, value)
        return values

    def _children(self, row: Step, children: int) -> list[Payload | None]:
        """Return where a fan-out's outputs are; one that an earlier version ended has no manifest.

        A manifest that is kept is the reason why a fan-out over a fan-out does not read it for
        every child.
        """
        if row.output is None:
            return gathered(self._fetch, row.step_id, children, self._clock, {})
        kept = self._outputs.manifest(self._run_id, row.step_id)
        if kept is None:
            kept = read_manifest(self._blobs, row.output)
            self._outputs.keep_manifest(self._run_id, row.step_id, kept)
        return kept

    def _listed(self, outputs: list[Payload | None], indexes: frozenset[int] | None) -> list[Json]:
        if indexes is None:
            return self._load(outputs)
        taken = [index for index in sorted(indexes) if index < len(outputs)]
        values: list[Json] = [None] * len(outputs)
        for index, value in zip(taken, self._load([outputs[i] for i in taken]), strict=True):
            values[index] = value
        return values

    def _load(self, payloads: list[Payload | None]) -> list[Json]:
        return load_all(self._blobs, payloads, self._clock)


def _slowest(
    claims: Mapping[Claim, PlannedStep], wanted: Mapping[str, frozenset[int] | None]
) -> str:
    """Return the id of a claim that takes a whole output, for it is one of those that take long."""
    whole = {step_id for step_id, indexes in wanted.items() if indexes is None}
    return next(
        (c.step_id for c, planned in claims.items() if outputs_needed(planned) & whole),
        next(iter(claims)).step_id,
    )
