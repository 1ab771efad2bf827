"""Consistent reads of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from onward.aws import codec, keys, plan_codec
from onward.aws.batches import real_pauses
from onward.aws.rows import BY_RECORD, PLAN, STEP, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from onward.aws.batches import Pauses
    from onward.aws.codec import Item
    from onward.domain.model import Event, PlannedStep, Run, Step
    from onward.domain.protocol import RecordT
    from onward.domain.submission import Submission

BATCH_KEYS: Final = 100


@dataclass(slots=True)
class Rows:
    """Rows of one run by kind; a step or record that was asked for and is not there is None."""

    run: Run | None = None
    submission: Submission | None = None
    plan: dict[str, PlannedStep] = field(default_factory=dict)
    steps: dict[str, Step | None] = field(default_factory=dict)
    records: dict[type, dict[str, Any]] = field(default_factory=dict)

    def of(self, kind: type[RecordT]) -> dict[str, RecordT | None]:
        """Return the records of one kind, by step."""
        return self.records.setdefault(kind, {})


class RunReader:
    """Reads the `runs` table, always consistently."""

    def __init__(self, client: Any, table: str, pauses: Callable[[], Pauses] = real_pauses) -> None:
        """Use a boto3 DynamoDB client and the name of the `runs` table."""
        self._client = client
        self._table = table
        self._pauses = pauses

    def rows(
        self,
        run_id: str,
        *,
        run: bool = False,
        submission: bool = False,
        plan: Iterable[str] = (),
        steps: Iterable[str] = (),
        records: Iterable[tuple[type, str]] = (),
    ) -> Rows:
        """Return the named rows, 100 a service call; raises Unavailable for a table too busy.

        The reads are not one snapshot. A caller that reads the run row first and conditions
        its write on the row's `seq` is safe: rows read after it are at least as new.
        """
        wanted = [keys.RUN] * run + [keys.SUBMISSION] * submission
        wanted += [PLAN.sk(key) for key in plan]
        wanted += [STEP.sk(step_id) for step_id in steps]
        found = Rows(steps=dict.fromkeys(steps, None))
        for kind, step_id in records:
            wanted.append(BY_RECORD[kind].sk(step_id))
            found.records.setdefault(kind, {})[step_id] = None
        for encoded in self._batch(keys.run_pk(run_id), wanted):
            _file(found, encoded)
        return found

    def run(self, run_id: str) -> Run | None:
        """Return the run row."""
        row = self.item(keys.run_pk(run_id), keys.RUN)
        return None if row is None else codec.read_run(row)

    def item(self, pk: str, sk: str) -> Item | None:
        """Return one row of the table."""
        key = {"pk": {"S": pk}, "sk": {"S": sk}}
        answer = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        row: Item | None = answer.get("Item")
        return row

    def plan(self, run_id: str) -> list[PlannedStep]:
        """Return all planned steps of a run, the rows that list roots included."""
        found = self._query(keys.run_pk(run_id), "begins_with(sk, :a)", {":a": keys.PLAN})
        return [plan_codec.read_planned(encoded) for encoded in found]

    def plan_keys(self, run_id: str) -> list[str]:
        """Return the keys of all planned steps of a run, and nothing else of them."""
        values = {":a": keys.PLAN}
        found = self._query(keys.run_pk(run_id), "begins_with(sk, :a)", values, only="sk")
        return [encoded["sk"]["S"].removeprefix(keys.PLAN) for encoded in found]

    def steps(self, run_id: str) -> list[Step]:
        """Return all claimed steps of a run."""
        found = self._query(keys.run_pk(run_id), "begins_with(sk, :a)", {":a": keys.STEP})
        return [codec.read_step(encoded) for encoded in found]

    def records(self, run_id: str, kind: type[RecordT]) -> list[RecordT]:
        """Return all records of a kind that a run's steps have: its ledger, its approvals."""
        row = BY_RECORD[kind]
        found = self._query(keys.run_pk(run_id), "begins_with(sk, :a)", {":a": row.prefix})
        return [row.decode(encoded) for encoded in found]

    def events(self, run_id: str, after: int, limit: int) -> list[Event]:
        """Return events `after+1 …`, the dense prefix only.

        A query is not isolated from a transaction that is being applied: it may see event 7 and
        not 6. A reader that took 7 as its position would never see 6.
        """
        bounds = {":a": keys.event_sk(after + 1), ":b": keys.event_sk(after + limit)}
        dense: list[Event] = []
        for encoded in self._query(keys.run_pk(run_id), "sk BETWEEN :a AND :b", bounds):
            event = codec.read_event(encoded)
            if event.seq != after + len(dense) + 1:
                break
            dense.append(event)
        return dense

    def _query(
        self, pk: str, condition: str, values: dict[str, str], only: str | None = None
    ) -> Iterator[Item]:
        request: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": f"pk = :pk AND {condition}",
            "ExpressionAttributeValues": {
                name: {"S": value} for name, value in ({":pk": pk} | values).items()
            },
            "ConsistentRead": True,
        }
        if only is not None:
            request["ProjectionExpression"] = only
        while True:
            answer = self._client.query(**request)
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _batch(self, pk: str, wanted: list[str]) -> Iterator[Item]:
        pauses = self._pauses()
        for start in range(0, len(wanted), BATCH_KEYS):
            pending = [
                {"pk": {"S": pk}, "sk": {"S": sk}} for sk in wanted[start : start + BATCH_KEYS]
            ]
            while True:
                answer = self._client.batch_get_item(
                    RequestItems={self._table: {"Keys": pending, "ConsistentRead": True}}
                )
                yield from answer["Responses"].get(self._table, [])
                pending = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
                if not pending:
                    break
                pauses.pause("BatchGetItem")


def _file(rows: Rows, encoded: Item) -> None:
    """Decode a row by its sort key's prefix and put it where it belongs."""
    sk = encoded["sk"]["S"]
    if sk == keys.RUN:
        rows.run = codec.read_run(encoded)
    elif sk == keys.SUBMISSION:
        rows.submission = plan_codec.read_submission(encoded)
    elif (kind := kind_of(sk)) is not None:
        key = sk.removeprefix(kind.prefix)
        decoded = kind.decode(encoded)
        if kind is PLAN:
            rows.plan[key] = decoded
        elif kind is STEP:
            rows.steps[key] = decoded
        else:
            rows.records.setdefault(kind.record, {})[key] = decoded
