"""Single-row writes beside the commit. None of them changes a run's or a step's status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.aws import codec, keys
from onward.aws.changes import change
from onward.aws.rows import EFFECT, NO_RECEIPT
from onward.domain.errors import Conflict

if TYPE_CHECKING:
    from onward.aws.codec import Item
    from onward.domain.model import Payload, Run


class RunMarks:
    """What workers, parked drivers and the patrol note without moving a run."""

    def __init__(self, client: Any, table: str) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self.table = table

    def mark_sent(self, run_id: str, step_id: str, fence: int, sent_by: str, now: float) -> Item:
        """Say that an attempt is about to send its write; raises Conflict when it may not.

            worker #1  mark(1) ─► send ──────────── frozen ────────────► mark(1): refused
            recover                     take over: fence 2
            worker #2                              mark(2) ─► send

        `fence = mine` refuses an attempt that was taken over; `sent_fence < mine` refuses a
        second invocation of the same attempt. An effect without the mark was never sent.

            mark(1) ─► carried out, reply lost ─► the SDK asks again: refused, by our own mark

        Such a refusal is none: the row tells who marked it, and when.
        """
        return self._mark(run_id, step_id, fence, {"sent_by": sent_by, "sent_at": now})

    def mark_resent(
        self,
        run_id: str,
        step_id: str,
        fence: int,
        sent_by: str,
        now: float,
        proof: tuple[str, int],
    ) -> Item:
        """Mark a send after a probe proved that none before it was applied; as `mark_sent`.

        `proof` is the action's new key and how many proofs it counts. What was unknown is known
        with the same write: were they two, a death between them would leave a resend unknown
        under a key that says it was proven.

            probe: not applied ──────────────────► mark_resent: refused, a receipt is there
            attempt #1       reply ─► keep_receipt

        A receipt says more than a probe; whoever takes the refused attempt over ends the step.
        """
        key, proofs = proof
        known = {"key": key, "proofs": proofs, "unknown_since": None, "quiet_at": None}
        values = {"sent_by": sent_by, "sent_at": now} | known
        return self._mark(run_id, step_id, fence, values, f" AND {NO_RECEIPT}")

    def _mark(
        self, run_id: str, step_id: str, fence: int, values: dict[str, object], more: str = ""
    ) -> Item:
        encoded = codec.item(values | {"state": "sent", "sent_fence": fence})
        aliases = {name: f"#{index}" for index, name in enumerate(encoded)}
        gone = {name: f"#g{index}" for index, name in enumerate(values.keys() - encoded.keys())}
        sets = ", ".join(f"{alias} = :{alias[1:]}" for alias in aliases.values())
        removes = f" REMOVE {', '.join(gone.values())}" if gone else ""
        try:
            answer = self._client.update_item(
                TableName=self.table,
                Key={"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": EFFECT.sk(step_id)}},
                UpdateExpression=f"SET {sets}{removes}",
                ConditionExpression=(
                    f"fence = :f AND (attribute_not_exists(sent_fence) OR sent_fence < :f){more}"
                ),
                ExpressionAttributeNames={alias: name for name, alias in (aliases | gone).items()},
                ExpressionAttributeValues={
                    f":{aliases[name][1:]}": value for name, value in encoded.items()
                }
                | {":f": {"N": str(fence)}},
                ReturnValues="ALL_NEW",
            )
        except self._client.exceptions.ConditionalCheckFailedException as refused:
            found = self._marked(run_id, step_id, fence, values)
            if found is None:
                raise Conflict(f"{step_id}#{fence} may not send") from refused
            return found
        return dict(answer["Attributes"])

    def _marked(
        self, run_id: str, step_id: str, fence: int, values: dict[str, object]
    ) -> Item | None:
        """Return the ledger row if it bears this very mark, and nobody fenced it since."""
        answer = self._client.get_item(
            TableName=self.table,
            Key={"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": EFFECT.sk(step_id)}},
            ConsistentRead=True,
        )
        row: Item = answer.get("Item", {})
        held, told = codec.plain(row), ("fence", "sent_fence", "sent_by", "sent_at")
        mine = values | {"fence": fence, "sent_fence": fence}
        return row if all(held.get(name) == mine[name] for name in told) else None

    def keep_receipt(self, run_id: str, step_id: str, fence: int, receipt: Payload) -> None:
        """Put a finished write's receipt on its ledger row without touching the run.

        Only the attempt that sent it may (`sent_fence = mine`); a takeover that follows finds
        the outcome known.
        """
        values = codec.payload_item("receipt", receipt)
        names = ", ".join(f"{name} = :{name}" for name in values)
        self._client.update_item(
            TableName=self.table,
            Key={"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": EFFECT.sk(step_id)}},
            UpdateExpression=f"SET {names}",
            ConditionExpression="sent_fence = :f",
            ExpressionAttributeValues={f":{n}": v for n, v in values.items()}
            | {":f": {"N": str(fence)}},
        )

    def keep_token(self, run: Run, token: str, *, lane: bool = False) -> bool:
        """Store a parked driver's task token if the run has not moved since it was read.

        Without `seq = seen` an answer committed between the decision to wait and this write
        would find no token to signal, and the driver would sleep through it. The row says whose
        token it is: that of the Map's `lane` that it calls parked, or the main lane's.
        """
        try:
            self._client.update_item(
                TableName=self.table,
                Key={"pk": {"S": keys.run_pk(run.run_id)}, "sk": {"S": keys.RUN}},
                UpdateExpression="SET park_token = :t" + ("" if lane else " REMOVE parked"),
                ConditionExpression="seq = :seen AND generation = :g",
                ExpressionAttributeValues={
                    ":t": {"S": token},
                    ":seen": {"N": str(run.seq)},
                    ":g": {"N": str(run.generation)},
                },
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def end_look(self, run: Run, step_id: str) -> bool:
        """Say that a resent write was looked at once more, and is there once.

        `looks` as it was read: another look may have been asked for meanwhile. A commit that read
        the row before this may bring the look back; it is then made again.
        """
        left = {other: at for other, at in run.looks.items() if other != step_id}
        seen = {":was": codec.attribute(run.looks) or {"S": ""}}
        try:
            self._client.update_item(
                TableName=self.table,
                Key={"pk": {"S": keys.run_pk(run.run_id)}, "sk": {"S": keys.RUN}},
                **change({"looks": left or None}, "looks = :was", seen),
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def move_due(self, run: Run, due_at: int | None, expired_at: int | None = None) -> bool:
        """Set when the patrol looks at a run again, unless the run or another patrol moved.

        `seq` and `due_at` unchanged since they were read: a commit in between may have asked
        for an earlier look, and of two patrols at once only one moves it; so a resume loses no
        checkpoint to an `expired_at` that was decided on before it.
        """
        if run.due_at is None:
            return False  # nobody is to look, or another patrol was here
        values: dict[str, object] = {
            "due_at": due_at,
            "due_shard": None if due_at is None else keys.due_shard(run.run_id),
        }
        seen = {":seen": {"N": str(run.seq)}, ":was": {"N": str(run.due_at)}}
        condition = "seq = :seen AND due_at = :was"
        expires: dict[str, object] = {} if expired_at is None else {"expired_at": expired_at}
        try:
            self._client.update_item(
                TableName=self.table,
                Key={"pk": {"S": keys.run_pk(run.run_id)}, "sk": {"S": keys.RUN}},
                **change(values | expires, condition, seen),
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True
