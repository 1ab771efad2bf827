"""Who listens to which run and how far they have got: the table `cursors`.

    CONN#connection     CONN             a socket: its tenant and the runs it listens to
    RUN#run             SUB#connection   one subscription: its `sub` id and position
    CLIENT#tenant#id    RUN#run          what a client acknowledged last, whatever its socket

Rows expire. DynamoDB deletes them days late, so whoever reads one looks at its time as well.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec, keys

if TYPE_CHECKING:
    from onward.aws.codec import Item

MAX_RUNS: Final = 100
"""Runs that one socket may listen to."""

KEPT_SECONDS: Final = 30 * 86_400
"""How long an acknowledgement is kept."""

_CONNECTION: Final = "CONN"
_SUBSCRIPTION: Final = "SUB#"


class TooManyRuns(LookupError):
    """The socket listens to as many runs as one may."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One socket's interest in one run.

    `at` is the last event it was sent, `told` whether it was sent `subscribed`. `asked_at` is
    when API Gateway took the message that asked for it (epoch ms): two messages of a socket may
    be worked on at once, and the later one counts. `key_id`: who opened the socket, unknown of
    one that an earlier release opened. Times otherwise are epoch seconds.
    """

    run_id: str
    connection: str
    tenant: str
    sub: str
    at: int
    asked_at: int
    reconnect_by: float
    expires_at: int
    client_id: str = ""
    told: bool = False
    key_id: str = ""


class Cursors:
    """The table, read consistently."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `cursors` table."""
        self._client = client
        self._table = table
        self._refused = client.exceptions.ConditionalCheckFailedException

    def connect(self, connection: str, tenant: str, expires_at: int) -> None:
        """Note a new socket."""
        row = codec.item({"tenant": tenant, "expires_at": expires_at})
        self._put(_key(f"CONN#{connection}", _CONNECTION) | row)

    def disconnect(self, connection: str) -> None:
        """Forget a socket and what it listened to; the run's rows expire if this never comes."""
        key = _key(f"CONN#{connection}", _CONNECTION)
        answer = self._client.delete_item(TableName=self._table, Key=key, ReturnValues="ALL_OLD")
        for run_id in _runs(answer.get("Attributes", {})):
            self._client.delete_item(TableName=self._table, Key=place(run_id, connection))

    def runs(self, connection: str) -> list[str]:
        """Return the runs that a socket listens to."""
        return _runs(self._get(_key(f"CONN#{connection}", _CONNECTION)) or {})

    def subscribe(self, wanted: Subscription) -> bool:
        """Store a subscription in place of the socket's earlier one; False if it is older.

        Of two that were asked for in the same millisecond, the one that goes further back counts:
        events too many do no harm, missing ones do. Raises TooManyRuns.
        """
        named = asdict(wanted)
        row = codec.item({name: named[name] for name in named.keys() - {"run_id", "connection"}})
        stored = self._put(
            place(wanted.run_id, wanted.connection) | row,
            ConditionExpression=(
                "attribute_not_exists(asked_at) OR asked_at < :a OR (asked_at = :a AND #at >= :at)"
            ),
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues={
                ":a": {"N": str(wanted.asked_at)},
                ":at": {"N": str(wanted.at)},
            },
        )
        if stored:
            self._note_run(wanted)
        return stored

    def unsubscribe(self, connection: str, run_id: str, asked_at: int) -> bool:
        """Delete a subscription that was asked for before; False when there is none.

        One of the same millisecond stays: events too many do no harm, missing ones do.

            unsubscribe   row deleted ──────────────► run forgotten ─► a row? note the run again
            subscribe                  row ─► run noted
        """
        values = {":v": {"N": str(asked_at)}}
        if not self._delete(connection, run_id, "asked_at < :v", values, names={}):
            return False
        with suppress(self._refused):  # the socket was closed right behind
            self._client.update_item(
                TableName=self._table,
                Key=_key(f"CONN#{connection}", _CONNECTION),
                UpdateExpression="DELETE runs :one",
                ConditionExpression="attribute_exists(pk)",
                ExpressionAttributeValues={":one": {"SS": [run_id]}},
            )
        again = self.subscription(connection, run_id)
        if again is not None:
            with suppress(TooManyRuns):
                self._note_run(again)
        return True

    def drop(self, subscription: Subscription) -> bool:
        """Delete exactly this subscription: its socket is gone."""
        return self._delete(
            subscription.connection,
            subscription.run_id,
            "#sub = :v",
            {":v": {"S": subscription.sub}},
            names={"#sub": "sub"},
        )

    def subscription(self, connection: str, run_id: str) -> Subscription | None:
        """Return what a socket asked for."""
        row = self._get(place(run_id, connection))
        return None if row is None else _read(row)

    def subscriptions(self, run_id: str, now: float) -> list[Subscription]:
        """Return everybody who listens to a run."""
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :sk)",
            "FilterExpression": "expires_at > :now",
            "ExpressionAttributeValues": {
                ":pk": {"S": keys.run_pk(run_id)},
                ":sk": {"S": _SUBSCRIPTION},
                ":now": {"N": str(int(now))},
            },
            "ConsistentRead": True,
        }
        pages = self._client.get_paginator("query").paginate(**request)
        return [_read(row) for page in pages for row in page["Items"]]

    def move(self, seen: Subscription, at: int) -> bool:
        """Note what a subscription was sent; False when the row is not the one that was read.

            pusher    reads sub A at 5 ── posts 6, 7 ────────────► writes 7: refused
            client                          subscribes anew from 0:
                                            the row is sub B at 0 ── catch-up: 1 … 7

        Written without the condition, 7 would end B's catch-up before it began. A refusal may
        also be our own success whose reply was lost: then the row is as it was to be.
        """
        try:
            self._client.update_item(
                TableName=self._table,
                Key=place(seen.run_id, seen.connection),
                UpdateExpression="SET #at = :to, told = :told REMOVE failed_posts",
                ConditionExpression="#sub = :sub AND #at = :at",
                ExpressionAttributeNames={"#at": "at", "#sub": "sub"},
                ExpressionAttributeValues={
                    ":to": {"N": str(at)},
                    ":at": {"N": str(seen.at)},
                    ":sub": {"S": seen.sub},
                    ":told": {"BOOL": True},
                },
            )
        except self._refused:
            held = self.subscription(seen.connection, seen.run_id)
            return held is not None and held == replace(seen, at=at, told=True)
        return True

    def acknowledge(self, tenant: str, client_id: str, run_id: str, at: int, now: float) -> None:
        """Keep how far a client has got; a late acknowledgement does not take it back."""
        row = codec.item({"at": at, "expires_at": int(now) + KEPT_SECONDS})
        self._put(
            _client_key(tenant, client_id, run_id) | row,
            ConditionExpression="attribute_not_exists(#at) OR #at < :at",
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues={":at": {"N": str(at)}},
        )

    def acknowledged(self, tenant: str, client_id: str, run_id: str, now: float) -> int:
        """Return the last event that a client acknowledged, 0 for a client not known here."""
        row = codec.plain(self._get(_client_key(tenant, client_id, run_id)) or {})
        return int(row["at"]) if row.get("expires_at", 0) > now else 0

    def _note_run(self, wanted: Subscription) -> None:
        """Add a run to the socket's own row, which tells later what there is to clean up.

        The row is made if a message is faster than `connect`. Raises TooManyRuns, and the
        subscription is gone.
        """
        try:
            self._client.update_item(
                TableName=self._table,
                Key=_key(f"CONN#{wanted.connection}", _CONNECTION),
                UpdateExpression="ADD runs :one SET tenant = :tenant, expires_at = :until",
                ConditionExpression=(
                    "attribute_not_exists(runs) OR size(runs) < :most OR contains(runs, :run)"
                ),
                ExpressionAttributeValues={
                    ":one": {"SS": [wanted.run_id]},
                    ":run": {"S": wanted.run_id},
                    ":most": {"N": str(MAX_RUNS)},
                    ":tenant": {"S": wanted.tenant},
                    ":until": {"N": str(wanted.expires_at)},
                },
            )
        except self._refused as error:
            self.drop(wanted)
            raise TooManyRuns(wanted.connection) from error

    def _delete(
        self, connection: str, run_id: str, condition: str, values: Item, *, names: dict[str, str]
    ) -> bool:
        request: dict[str, Any] = {"ExpressionAttributeNames": names} if names else {}
        try:
            self._client.delete_item(
                TableName=self._table,
                Key=place(run_id, connection),
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
                **request,
            )
        except self._refused:
            return False
        return True

    def _get(self, key: Item) -> Item | None:
        answer = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        row: Item | None = answer.get("Item")
        return row

    def _put(self, row: Item, **condition: Any) -> bool:
        row = row | {"schema": codec.SCHEMA}
        try:
            self._client.put_item(TableName=self._table, Item=row, **condition)
        except self._refused:
            return False
        return True


def _key(pk: str, sk: str) -> Item:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def place(run_id: str, connection: str) -> Item:
    """Return the key of a subscription."""
    return _key(keys.run_pk(run_id), _SUBSCRIPTION + connection)


def _client_key(tenant: str, client_id: str, run_id: str) -> Item:
    return _key(f"CLIENT#{tenant}#{client_id}", keys.run_pk(run_id))


def _runs(row: Item) -> list[str]:
    return sorted(row.get("runs", {}).get("SS", []))


def _read(encoded: Item) -> Subscription:
    row = codec.plain(encoded)
    return Subscription(
        run_id=row["pk"].removeprefix(keys.RUN_PREFIX),
        connection=row["sk"].removeprefix(_SUBSCRIPTION),
        tenant=row["tenant"],
        sub=row["sub"],
        at=row["at"],
        asked_at=row["asked_at"],
        reconnect_by=float(row["reconnect_by"]),
        expires_at=row["expires_at"],
        client_id=row.get("client_id", ""),
        told=row["told"],
        key_id=row.get("key_id", ""),
    )
