"""Who may be held: as many requests at once as there are rows `SLOTS`/`n` in the table `cursors`.

A request that waits holds a concurrent invocation, of which a new account has ten: without a bound
a few clients that poll would keep every step of every run from being started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onward.aws import codec
from onward.aws.failures import UNANSWERED, may_pass

if TYPE_CHECKING:
    from onward.aws.codec import Item

MARGIN: Final = 10.0
"""Seconds after its wait for which a slot is its holder's: two clocks, and the answer's way. A
holder that died frees it so."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A row that one request holds."""

    number: int
    holder: str


class WaitingSlots:
    """The rows, taken and given back by conditional writes."""

    def __init__(self, client: Any, table: str, count: int) -> None:
        """Use a boto3 DynamoDB client, the name of the `cursors` table and how many there are."""
        self._client = client
        self._table = table
        self._count = count

    def take(self, holder: str, now: float, seconds: float, first: int) -> Slot | None:
        """Return a slot for some seconds, None where all are held; `first` is tried first.

            request A   held_until < now? ─► writes A, now + 20 ──────────────► holds slot 1
            request B      held_until < now? ─► writes B: refused ─► slot 2, …, none

        The condition closes the race of two for a free row. It takes our own row for free, so
        that a write whose reply was lost is no refusal. A busy table is no reason to fail a
        request either: it has then no slot.
        """
        until = now + seconds + MARGIN
        row = codec.item({"holder": holder, "held_until": until, "expires_at": int(until) + 60})
        for number in range(self._count):
            slot = Slot((first + number) % self._count, holder)
            if self._put(
                _key(slot) | row,
                "attribute_not_exists(pk) OR held_until < :now OR holder = :me",
                {":now": {"N": repr(now)}, ":me": {"S": holder}},
            ):
                return slot
        return None

    def release(self, slot: Slot, now: float) -> None:
        """Give a slot back; one that ran out meanwhile may be another's, and stays so.

        A   took slot 1 ── ran out ─────────────────► gives back: refused
        B                           takes slot 1 ── holds it
        """
        free = codec.item({"holder": slot.holder, "held_until": 0, "expires_at": int(now) + 60})
        self._put(_key(slot) | free, "holder = :me", {":me": {"S": slot.holder}})

    def _put(self, item: Item, condition: str, values: Item) -> bool:
        try:
            self._client.put_item(
                TableName=self._table,
                Item=item | {"schema": codec.SCHEMA},
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        except (ClientError, *UNANSWERED) as error:
            if not may_pass(error):
                raise
            return False
        return True


def _key(slot: Slot) -> Item:
    return {"pk": {"S": "SLOTS"}, "sk": {"S": str(slot.number)}}
