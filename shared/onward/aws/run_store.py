"""The commit: the only place where a status is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onward.aws import codec, keys, plan_codec
from onward.aws.active_runs import active_keys
from onward.aws.batches import real_pauses
from onward.aws.codec import SCHEMA, Item, item
from onward.aws.failures import UNANSWERED
from onward.aws.incidents import incident_item
from onward.aws.open_index import open_keys
from onward.aws.rows import BY_RECORD, PLAN
from onward.aws.run_marks import RunMarks
from onward.domain.errors import Conflict, StoreError
from onward.domain.limits import TRANSACTION_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onward.aws.batches import Pauses
    from onward.domain.model import Event, PlannedStep, Run, Step
    from onward.domain.protocol import Outcome, Record
    from onward.domain.submission import Submission

BATCH_WRITES: Final = 25

_AGAIN: Final = frozenset(
    {
        "ConditionalCheckFailed",
        "TransactionConflict",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
    }
)
_THROTTLED: Final = frozenset(
    {
        "TransactionConflictException",
        "TransactionInProgressException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "InternalServerError",
    }
)


class RunStore(RunMarks):
    """Writes runs. Reading is `RunReader`'s."""

    def __init__(
        self,
        client: Any,
        table: str,
        beside: Sequence[dict[str, Any]] = (),
        pauses: Callable[[], Pauses] = real_pauses,
    ) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        super().__init__(client, table)
        self._beside = beside
        self._pauses = pauses

    def beside(self, write: dict[str, Any]) -> RunStore:
        """Return a store whose commits each carry a write of another row, or are not made."""
        return RunStore(self._client, self.table, [*self._beside, write], self._pauses)

    def commit(self, outcome: Outcome, commit_id: str) -> None:
        """Write an outcome as one transaction, or nothing of it; raises Conflict.

            reader          A: read seq 7 ─► decide ─► commit if seq = 7 ──► seq 9
            another reader  B: read seq 7 ─► decide ───────► commit if seq = 7: refused

        `seq = seen` lets the first of two deciders win; `generation = mine` fences a driver
        that was replaced. What every other row is conditioned on says its kind (`aws.rows`).
        """
        before = outcome.before
        pk = keys.run_pk(before.run_id)
        writes = [self._run_update(outcome)]
        changed = (*outcome.steps, *(pair for pair in outcome.records if pair[0] != pair[1]))
        writes += [self._row_write(pk, old, new) for old, new in changed]
        writes += [self._event_put(before, event, commit_id) for event in outcome.events]
        writes += [
            self._put(incident_item(before, incident) | {"schema": SCHEMA})
            for incident in outcome.incidents
        ]
        writes += self._beside
        if len(writes) > TRANSACTION_ROWS:
            raise StoreError(f"a commit of {before.run_id} would write {len(writes)} rows")
        self._transact(writes, before.run_id, before.seq, commit_id)

    def create(
        self,
        run: Run,
        submission: Submission,
        plan: list[PlannedStep],
        event: Event,
        commit_id: str,
        idempotency: Item | None = None,
    ) -> None:
        """Write a new run, its plan, first event and submit key; raises Conflict for the key.

        A plan too large for the transaction is written ahead: nothing reads those rows before
        the run row exists, and the run id is new.
        """
        pk = keys.run_pk(run.run_id)
        rows = [
            {"pk": {"S": pk}, "sk": {"S": keys.RUN}} | _run_attributes(run),
            {"pk": {"S": pk}, "sk": {"S": keys.SUBMISSION}}
            | plan_codec.submission_item(submission),
        ]
        plan_rows = [
            {"pk": {"S": pk}, "sk": {"S": PLAN.sk(step.key)}} | PLAN.encode(step) for step in plan
        ]
        if len(plan_rows) + len(rows) + 2 > TRANSACTION_ROWS:
            self._write_ahead(plan_rows)
        else:
            rows += plan_rows
        writes = [self._put(row | {"schema": SCHEMA}) for row in rows]
        writes.append(self._event_put(run, event, commit_id))
        if idempotency is not None:
            writes.append(self._submit_key(idempotency | {"schema": SCHEMA}, run.created_at))
        self._transact(writes, run.run_id, 0, commit_id)

    def write_part(self, run_id: str, steps: list[PlannedStep]) -> None:
        """Write a part ahead: nobody reads its rows until a commit names the part.

        Another attempt at the same step writes another part.
        """
        pk = keys.run_pk(run_id)
        self._write_ahead(
            [
                {"pk": {"S": pk}, "sk": {"S": PLAN.sk(step.key)}} | PLAN.encode(step)
                for step in steps
            ]
        )

    def _transact(
        self, writes: list[dict[str, Any]], run_id: str, seen: int, commit_id: str
    ) -> None:
        try:
            self._client.transact_write_items(TransactItems=writes)
        except self._client.exceptions.TransactionCanceledException as error:
            reasons = {r.get("Code", "None") for r in error.response["CancellationReasons"]}
            if reasons - {"None"} - _AGAIN:
                raise
            self._believe_only_the_log(run_id, seen, commit_id, error)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _THROTTLED:
                raise
            self._believe_only_the_log(run_id, seen, commit_id, error)
        except UNANSWERED as error:  # the write may have gone through
            self._believe_only_the_log(run_id, seen, commit_id, error)

    def _believe_only_the_log(
        self, run_id: str, seen: int, commit_id: str, error: Exception
    ) -> None:
        """Tell our own success with a lost reply from a conflict: whose is event seen+1?"""
        found = self.commit_of(run_id, seen + 1)
        if found != commit_id:
            raise Conflict(f"{run_id} moved on from {seen}", found) from error

    def commit_of(self, run_id: str, seq: int) -> str | None:
        """Return the id of the commit that wrote an event; None when there is no such event."""
        answer = self._client.get_item(
            TableName=self.table,
            Key={"pk": {"S": keys.run_pk(run_id)}, "sk": {"S": keys.event_sk(seq)}},
            ConsistentRead=True,
            ProjectionExpression="#c",
            ExpressionAttributeNames={"#c": "commit"},
        )
        row = answer.get("Item")
        return None if row is None else str(row["commit"]["S"])

    def _write_ahead(self, rows: list[Item]) -> None:
        """Write rows that nobody reads yet; raises Unavailable for a table too busy."""
        pauses = self._pauses()
        for start in range(0, len(rows), BATCH_WRITES):
            batch = [
                {"PutRequest": {"Item": row | {"schema": SCHEMA}}}
                for row in rows[start : start + BATCH_WRITES]
            ]
            while True:
                answer = self._client.batch_write_item(RequestItems={self.table: batch})
                batch = answer.get("UnprocessedItems", {}).get(self.table, [])
                if not batch:
                    break
                pauses.pause("BatchWriteItem")

    def _run_update(self, outcome: Outcome) -> dict[str, Any]:
        run = outcome.before
        condition = "seq = :seen AND generation = :mine"
        seen = {":seen": {"N": str(run.seq)}, ":mine": {"N": str(run.generation)}}
        changes = _diff(_run_attributes(run), _run_attributes(outcome.run))
        if run.status.ended and outcome.run.expired_at is None:
            # A resume takes an expiry back that the patrol has set since the run was read.
            changes["expired_at"] = {}
        return self._update(keys.run_pk(run.run_id), keys.RUN, changes, condition, seen)

    def _row_write(self, pk: str, old: Step | Record | None, new: Step | Record) -> dict[str, Any]:
        """Write a row as its kind says it may be."""
        kind = BY_RECORD[type(new)]
        sk = kind.sk(kind.key(new))
        if old is None:
            return self._birth(pk, sk, kind.encode(new))
        changes = _diff(kind.encode(old), kind.encode(new))
        condition, seen = kind.unchanged(old)
        return self._update(pk, sk, changes, condition, seen)

    def _event_put(self, run: Run, event: Event, commit_id: str) -> dict[str, Any]:
        row = codec.event_item(event, commit_id, run.tenant)
        return self._birth(keys.run_pk(run.run_id), keys.event_sk(event.seq), row)

    def _birth(self, pk: str, sk: str, row: Item) -> dict[str, Any]:
        return self._put({"pk": {"S": pk}, "sk": {"S": sk}, "schema": SCHEMA} | row)

    def _submit_key(self, row: Item, now: float) -> dict[str, Any]:
        """Put a key that is new or has run out (TTL deletes late): its second run is refused."""
        put = self._put(row)
        put["Put"]["ConditionExpression"] += " OR expires_at < :now"
        put["Put"]["ExpressionAttributeValues"] = {":now": {"N": repr(now)}}
        return put

    def _put(self, row: Item) -> dict[str, Any]:
        return {
            "Put": {
                "TableName": self.table,
                "Item": row,
                "ConditionExpression": "attribute_not_exists(pk)",
            }
        }

    def _update(
        self, pk: str, sk: str, changes: Item, condition: str, seen: Item
    ) -> dict[str, Any]:
        """Set and remove only what changed: a Put would drop what others wrote (a park token)."""
        names = {f"#{index}": name for index, name in enumerate(changes)}
        sets = [f"{alias} = :{alias[1:]}" for alias, name in names.items() if changes[name]]
        removes = [alias for alias, name in names.items() if not changes[name]]
        clauses = {"SET": sets, "REMOVE": removes}
        expression = " ".join(f"{verb} {', '.join(c)}" for verb, c in clauses.items() if c)
        values = {f":{alias[1:]}": changes[name] for alias, name in names.items() if changes[name]}
        return {
            "Update": {
                "TableName": self.table,
                "Key": {"pk": {"S": pk}, "sk": {"S": sk}},
                "UpdateExpression": expression,
                "ConditionExpression": condition,
                "ExpressionAttributeNames": names,
                "ExpressionAttributeValues": values | seen,
            }
        }


def _run_attributes(run: Run) -> Item:
    """Encode a run row with the keys of its indexes; without `due_at` nobody looks."""
    indexes = active_keys(run) | open_keys(run) | {"tenant_pk": keys.tenant_pk(run.tenant)}
    if run.due_at is not None:
        indexes["due_shard"] = keys.due_shard(run.run_id)
    return codec.run_item(run) | item(indexes)


def _diff(old: Item, new: Item) -> Item:
    """Return new values by name; an empty value is one to remove."""
    changed = {name: value for name, value in new.items() if old.get(name) != value}
    return changed | {name: {} for name in old.keys() - new.keys()}
