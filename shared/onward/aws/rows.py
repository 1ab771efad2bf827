"""One table of the kinds of rows that a run consists of.

A kind is an entry here and its record in the domain: its sort key, its codec, the condition under
which a commit changes it, and whether it goes with the run's log. Reader, store and retention are
driven by this table, and so is the reference store of the tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec, keys, plain_records, plan_codec
from onward.aws.open_index import Kind, open_pk
from onward.domain.effects import Effect
from onward.domain.model import PlannedStep, Step
from onward.domain.waits import ApprovalRequest, ApprovalState, Awaited

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.codec import Item

NO_RECEIPT: Final = "attribute_not_exists(receipt) AND attribute_not_exists(receipt_ref)"


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of rows, one a step (or planned step): `key` is the rest of its sort key.

    `unchanged` returns the condition, with its values, under which a row is still the one that was
    read; a birth is conditioned on there being none. `expires`: the row goes with the run's log.
    """

    prefix: str
    record: type
    key: Callable[[Any], str]
    encode: Callable[[Any], Item]
    decode: Callable[[Item], Any]
    unchanged: Callable[[Any], tuple[str, Item]]
    expires: bool

    def sk(self, key: str) -> str:
        """Return the sort key of one row."""
        return self.prefix + key


def _same_attempt(old: Step) -> tuple[str, Item]:
    """An attempt that was taken over may change nothing; nor may who read an older row.

    `at_seq`: a BatchGetItem is no snapshot, so a row may be older than the run's beside it.
    """
    seen = {":f": {"N": str(old.fence)}, ":q": {"N": str(old.at_seq)}}
    return "fence = :f AND at_seq = :q", seen


def _same_marks(old: Effect) -> tuple[str, Item]:
    """Nobody marked the write as sent, or put its receipt down, since it was read.

    A takeover believes a write unsent while its worker is just marking it; an operator's result,
    or a takeover's doubt, must not overwrite what the receiver answered.
    """
    seen = {":f": {"N": str(old.fence)}}
    if old.sent_fence is None:
        condition = "fence = :f AND attribute_not_exists(sent_fence)"
    else:
        condition, seen[":s"] = "fence = :f AND sent_fence = :s", {"N": str(old.sent_fence)}
    return (condition if old.receipt is not None else f"{condition} AND {NO_RECEIPT}"), seen


def _same_state(old: ApprovalRequest) -> tuple[str, Item]:
    """Nobody decided since it was read: of two decisions the first counts.

    The run's `seq` says so too; this says it of the row that is written.
    """
    if old.decided_at is None:
        return "attribute_not_exists(decided_at)", {}
    return "decided_at = :was", {":was": {"N": repr(old.decided_at)}}


def _approval_item(request: ApprovalRequest) -> Item:
    """Encode an approval; while it is open it stands in the index `open`."""
    row = plain_records.dataclass_item(request)
    if request.state is ApprovalState.OPEN:
        place = {
            "open_pk": open_pk(Kind.APPROVAL, request.tenant),
            "open_sk": codec.iso(request.asked_at),
        }
        row |= codec.item(place)
    return row


def _any(_old: object) -> tuple[str, Item]:
    """Only the run's own commits write such a row, and those are conditioned on its `seq`."""
    return "attribute_exists(pk)", {}


PLAN: Final = RowKind(
    prefix=keys.PLAN,
    record=PlannedStep,
    key=lambda planned: planned.key,
    encode=plan_codec.plan_item,
    decode=plan_codec.read_planned,
    unchanged=_any,
    expires=True,
)
STEP: Final = RowKind(
    prefix=keys.STEP,
    record=Step,
    key=lambda step: step.step_id,
    encode=codec.step_item,
    decode=codec.read_step,
    unchanged=_same_attempt,
    expires=True,
)
EFFECT: Final = RowKind(
    prefix=keys.EFFECT,
    record=Effect,
    key=lambda effect: effect.step_id,
    encode=codec.effect_item,
    decode=codec.read_effect,
    unchanged=_same_marks,
    expires=False,  # what was done to the world is known as long as the run is
)
APPROVAL: Final = RowKind(
    prefix="APPROVAL#",
    record=ApprovalRequest,
    key=lambda request: request.step_id,
    encode=_approval_item,
    decode=lambda row: plain_records.read_dataclass(ApprovalRequest, row),
    unchanged=_same_state,
    expires=False,  # who allowed what
)
AWAITED: Final = RowKind(
    prefix="WAIT#",
    record=Awaited,
    key=lambda awaited: awaited.step_id,
    encode=plain_records.dataclass_item,
    decode=lambda row: plain_records.read_dataclass(Awaited, row),
    unchanged=_any,
    expires=True,
)

KINDS: Final = (PLAN, STEP, EFFECT, APPROVAL, AWAITED)
BY_RECORD: Final = {kind.record: kind for kind in KINDS}
BESIDE_STEPS: Final = (EFFECT, APPROVAL, AWAITED)
"""Kinds of which a step has at most one row, read and written as the machine asks."""

EXPIRING: Final = (*(kind.prefix for kind in KINDS if kind.expires), keys.EVENT, keys.SUBMISSION)
"""Prefixes of what goes with the run's log. The run itself stays, with its deliveries."""


def kind_of(sk: str) -> RowKind | None:
    """Return the kind of a row by its sort key; None for what is no step's."""
    return next((kind for kind in KINDS if sk.startswith(kind.prefix)), None)
