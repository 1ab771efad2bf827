"""How far each endpoint has got with a run: `RUN#id`, `DELIVERY#endpoint`."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec, keys
from onward.aws.changes import change
from onward.domain.delivery import Delivery, Try
from onward.domain.limits import DUE_AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.aws.codec import Item
    from onward.domain.model import Run

HISTORY: Final = 10
"""Tries that are remembered of one endpoint and run."""

_CONFLICT_TRIES: Final = 4
_ALIVE: Final[dict[str, object]] = dict.fromkeys(
    (
        "attempts",
        "next_try",
        "last_error",
        "dead_since",
        "dead_seq",
        "given_up",
        "due_at",
        "due_shard",
    )
)
_LISTED: Final[dict[str, object]] = dict.fromkeys(("dead_since", "due_at", "due_shard"))
_STANDS: Final = "attribute_not_exists(acked_seq) OR acked_seq <= :acked"
_GROWS: Final = "attribute_not_exists(acked_seq) OR acked_seq < :seq"


class Deliveries:
    """Delivery rows. None of these writes touches what a run's commits are conditioned on."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table

    def get(self, run_id: str, endpoint_id: str) -> Delivery:
        """Return a cursor, at 0 when nothing was sent yet."""
        key = _key(run_id, endpoint_id)
        answer = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        return _read(answer["Item"]) if "Item" in answer else Delivery(run_id, endpoint_id)

    def of_run(self, run_id: str) -> dict[str, Delivery]:
        """Return a run's cursors by endpoint."""
        answer = self._client.query(
            TableName=self._table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={
                ":pk": {"S": keys.run_pk(run_id)},
                ":sk": {"S": keys.DELIVERY},
            },
            ConsistentRead=True,
        )
        return {row.endpoint_id: row for row in map(_read, answer["Items"])}

    def dead(self, tenant: str) -> Iterator[Delivery]:
        """Yield the deliveries whose wake-up lies in the dead-letter queue, oldest first."""
        found = self._listed(keys.dead_shard(tenant))
        return (delivery for delivery in found if delivery.dead_since is not None)

    def waiting(self, tenant: str, endpoint_id: str) -> Iterator[Delivery]:
        """Yield what was parked until an endpoint agrees."""
        return self._listed(keys.waiting_shard(tenant, endpoint_id))

    def _listed(self, shard: str) -> Iterator[Delivery]:
        """Yield the rows in a partition of the index, as they are now."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            IndexName="due",
            KeyConditionExpression="due_shard = :s",
            ExpressionAttributeValues={":s": {"S": shard}},
        )
        for page in pages:
            for row in page["Items"]:
                run_id = row["pk"]["S"].removeprefix(keys.RUN_PREFIX)
                yield self.get(run_id, row["sk"]["S"].removeprefix(keys.DELIVERY))

    def ack(self, delivery: Delivery, run: Run, seq: int, tried: list[Try]) -> None:
        """Move a cursor on; at the run's end everybody's copy of the snapshot is out of date.

            notify #1  post 5 ────────── slow ──────────► ack 5: refused, the cursor is at 7
            notify #2          post 5, 6, 7 ─► ack 7

        The last one is written with the run's `sync_revision`: a death between the two would
        leave clients with a validator that says nothing has changed.
        """
        values = _ALIVE | {"acked_seq": seq, "history": _history(delivery, tried)}
        update = {
            "TableName": self._table,
            "Key": _key(delivery.run_id, delivery.endpoint_id),
            **change(values, _GROWS, {":seq": _number(seq)}),
        }
        if run.status.ended and seq >= run.seq:
            self._with_revision(run, update, again=delivery.given_up is not None)
            return
        try:
            self._client.update_item(**update)
        except self._client.exceptions.ConditionalCheckFailedException:
            return

    def failed(
        self, delivery: Delivery, tried: list[Try], error: str, next_try: float | None
    ) -> int:
        """Count a failed request; return how many there were about the event behind the cursor.

        Counted by the table, for two senders may have read the same number. And only where the
        cursor still stands, else 0: what failed here was acknowledged to another sender.

            notify #1   post 5 ─── fails ───────────► failed: refused, the cursor is at 5
            notify #2          post 5 ─► ack 5
        """
        values = {"last_error": error, "next_try": next_try, "history": _history(delivery, tried)}
        update = change(values, _STANDS, {":acked": _number(delivery.acked_seq)})
        update["UpdateExpression"] += " ADD attempts :one"
        update["ExpressionAttributeValues"][":one"] = _number(1)
        try:
            answer = self._client.update_item(
                TableName=self._table,
                Key=_key(delivery.run_id, delivery.endpoint_id),
                ReturnValues="UPDATED_NEW",
                **update,
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return 0
        return int(answer["Attributes"]["attempts"]["N"])

    def bury(
        self, delivery: Delivery, tenant: str, now: float, dead_seq: int | None = None
    ) -> None:
        """List a delivery as dead; `dead_seq`: its letter is sent, and the run stands there.

        Not if the cursor moved on meanwhile: then another sender was heard.
        """
        values: dict[str, object] = {
            "dead_since": delivery.dead_since or int(now),
            "dead_seq": delivery.dead_seq if dead_seq is None else dead_seq,
            "due_at": int(now),
            "due_shard": keys.dead_shard(tenant),
        }
        self._change(delivery, values)

    def park(self, delivery: Delivery, tenant: str, now: float) -> None:
        """List a delivery among those that wait for their endpoint to agree, unless it is dead."""
        if delivery.dead_since is None:
            shard = keys.waiting_shard(tenant, delivery.endpoint_id)
            self._change(delivery, {"due_at": int(now), "due_shard": shard})

    def dismiss(self, delivery: Delivery) -> None:
        """Take a delivery off the list of dead ones, with all its tries before it."""
        self._change(delivery, _LISTED | dict.fromkeys(("attempts", "dead_seq")))

    def revive(self, delivery: Delivery) -> None:
        """Give a dead delivery its tries again; it stays listed until it is heard."""
        self._change(delivery, dict.fromkeys(("attempts", "dead_seq")))

    def _change(self, delivery: Delivery, values: dict[str, object]) -> None:
        with suppress(self._client.exceptions.ConditionalCheckFailedException):
            self._client.update_item(
                TableName=self._table,
                Key=_key(delivery.run_id, delivery.endpoint_id),
                **change(values, _STANDS, {":acked": _number(delivery.acked_seq)}),
            )

    def give_up(self, delivery: Delivery, run: Run, now: float) -> None:
        """Say that the patrol does not try any more; an operator may."""
        self.bury(delivery, run.tenant, now)
        key = _key(delivery.run_id, delivery.endpoint_id)
        update = {"TableName": self._table, "Key": key, **change({"given_up": run.seq})}
        self._with_revision(run, update, again=False)

    def _with_revision(self, run: Run, update: dict[str, Any], *, again: bool) -> None:
        """Make a change that the snapshot shows; `again`: let the patrol look at the run once."""
        expression, values = "ADD sync_revision :one", {":one": {"N": "1"}}
        if again:
            due = int(run.ended_at or 0) + DUE_AFTER
            expression += " SET due_at = :due, due_shard = :shard"
            values |= {":due": {"N": str(due)}, ":shard": {"S": keys.due_shard(run.run_id)}}
        row = {
            "TableName": self._table,
            "Key": {"pk": {"S": keys.run_pk(run.run_id)}, "sk": {"S": keys.RUN}},
            "UpdateExpression": expression,
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": values,
        }
        writes = [{"Update": update}, {"Update": row}]
        for left in reversed(range(_CONFLICT_TRIES)):
            try:
                self._client.transact_write_items(TransactItems=writes)
            except self._client.exceptions.TransactionCanceledException as error:
                codes = {r.get("Code") for r in error.response["CancellationReasons"]}
                if "ConditionalCheckFailed" in codes:
                    return  # the cursor was there already
                if "TransactionConflict" not in codes or not left:
                    raise
            else:
                return


def _key(run_id: str, endpoint_id: str) -> Item:
    return {"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": keys.DELIVERY + endpoint_id}}


def _number(value: int) -> dict[str, str]:
    return {"N": str(value)}


def _history(delivery: Delivery, tried: list[Try]) -> list[list[object]]:
    kept = [*delivery.history, *tried][-HISTORY:]
    return [[each.at, each.seq, each.outcome] for each in kept]


def _read(encoded: Item) -> Delivery:
    row = codec.plain(encoded)
    next_try = row.get("next_try")
    return Delivery(
        run_id=row["pk"].removeprefix(keys.RUN_PREFIX),
        endpoint_id=row["sk"].removeprefix(keys.DELIVERY),
        acked_seq=row.get("acked_seq", 0),
        attempts=row.get("attempts", 0),
        next_try=None if next_try is None else float(next_try),
        last_error=row.get("last_error"),
        history=tuple(Try(*each) for each in json.loads(row.get("history", "[]"))),
        dead_since=row.get("dead_since"),
        dead_seq=row.get("dead_seq"),
        given_up=row.get("given_up"),
    )
