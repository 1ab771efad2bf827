"""How AWS reads a DynamoDB stream for a function, for the emulator, which does it otherwise.

As released it ignores partial-batch responses, bisecting, retry limits and failure destinations,
and after a restart it waits at the old position of a stream that begins anew: everything that is
committed from then on would be lost.
"""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIRST_RETRY_SECONDS: Final = 0.2
_LONGEST_RETRY_SECONDS: Final = 5.0


@dataclass(slots=True)
class StreamPosition:
    """How far one mapping has read, and how it fares with what comes next.

    In memory only, like the emulator's stream records: a new process starts both anew.
    """

    position: int
    size: int = 0
    attempts: int = 0
    resume_at: float = 0.0

    def advance(self, count: int) -> None:
        """Leave records behind, done with or given up."""
        self.position += count
        self.size = 0
        self.attempts = 0
        self.resume_at = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Records handed to a function, counted before the filter."""

    records: Sequence[dict[str, Any]]
    source: str
    function: dict[str, Any]
    mapping: dict[str, Any]

    @property
    def oldest_seconds(self) -> float:
        """The age of the record that waits longest."""
        return time.time() - float(self.records[0]["dynamodb"]["ApproximateCreationDateTime"])


class Poller:
    """Replaces the emulator's `_poll_dynamodb_streams`."""

    def __init__(self, lambda_service: Any, dynamodb: Any) -> None:
        self._lambda: Final = lambda_service
        self._dynamodb: Final = dynamodb
        self._cursors: Final[dict[str, StreamPosition]] = {}

    def poll(self) -> bool:
        """Serve each mapping once; return whether any of them moved on."""
        moved = False
        for account, region, mapping in self._lambda._iter_all_esms():
            scope = self._lambda._request_account_id.set(account)
            place = self._lambda._request_region.set(region)
            try:
                moved = self._serve(mapping) or moved
            finally:
                self._lambda._request_account_id.reset(scope)
                self._lambda._request_region.reset(place)
        return moved

    def _serve(self, mapping: dict[str, Any]) -> bool:
        table = self._table(mapping)
        function = self._function(mapping)
        if table is None or function is None:
            return False
        start = self._dynamodb.stream_start_position(table)
        cursor = self._cursors.setdefault(mapping["UUID"], StreamPosition(start))
        if cursor.resume_at > time.time():
            return False
        cursor.position = max(cursor.position, start)
        limit = cursor.size or mapping.get("BatchSize", 100)
        records = self._dynamodb.stream_records_since(table, cursor.position, limit)
        if not records:
            return False
        batch = Batch(records, mapping["EventSourceArn"], function, mapping)
        return self._deliver(batch, cursor)

    def _deliver(self, batch: Batch, cursor: StreamPosition) -> bool:
        wanted = self._lambda._apply_filter_criteria(list(batch.records), batch.mapping)
        result = (
            self._lambda._execute_function(batch.function, {"Records": wanted}) if wanted else {}
        )
        failed = next(_failures(batch, result), None)
        batch.mapping["LastProcessingResult"] = "OK" if failed is None else "PROBLEM"
        if failed is None:
            cursor.advance(len(batch.records))
            return True
        if failed:
            cursor.advance(failed)
        return self._retry(batch, cursor, failed, result)

    def _retry(
        self, batch: Batch, cursor: StreamPosition, failed: int, result: dict[str, Any]
    ) -> bool:
        """Split, give up or try again later, within the mapping's limits; False for later."""
        left = len(batch.records) - failed
        if batch.mapping.get("BisectBatchOnFunctionError") and left > 1:
            cursor.size = left // 2
            return True
        cursor.size = left
        cursor.attempts += 1
        reason = _exhausted(batch, cursor.attempts)
        if reason:
            self._lambda._send_ddb_stream_failure_record(
                batch.mapping, batch.function, batch.records[failed:], batch.source, result, reason
            )
            cursor.advance(left)
            return True
        pause = min(_FIRST_RETRY_SECONDS * 2 ** (cursor.attempts - 1), _LONGEST_RETRY_SECONDS)
        cursor.resume_at = time.time() + pause
        # The emulator's loop would sleep for a second; it is woken when the pause is over.
        alarm = threading.Timer(pause, self._lambda._esm_wake.set)
        alarm.daemon = True
        alarm.start()
        return False

    def _table(self, mapping: dict[str, Any]) -> str | None:
        source = mapping.get("EventSourceArn", "")
        if ":dynamodb:" not in source or not mapping.get("Enabled", True):
            return None
        found = self._lambda._dynamodb_stream_table_from_arn_spec(self._lambda.parse_arn(source))
        name: str | None = found and found[0]
        table = self._dynamodb._tables.get(name) if name else None
        return name if table and table.get("LatestStreamArn") == source else None

    def _function(self, mapping: dict[str, Any]) -> dict[str, Any] | None:
        record, _ = self._lambda._get_func_record_for_qualifier(
            mapping["FunctionName"], mapping.get("Qualifier")
        )
        function: dict[str, Any] | None = record
        return function


def _failures(batch: Batch, result: dict[str, Any]) -> Iterator[int]:
    """Yield the indices of records that failed: all of them, or those the function reported."""
    if result.get("error"):
        yield 0
        return
    body = result.get("body")
    kinds = batch.mapping.get("FunctionResponseTypes") or []
    if "ReportBatchItemFailures" not in kinds or not isinstance(body, dict):
        return
    reported = {item.get("itemIdentifier") for item in body.get("batchItemFailures") or []}
    known = [record["dynamodb"]["SequenceNumber"] for record in batch.records]
    if reported - set(known):
        # AWS treats an identifier it does not know as the failure of the whole batch.
        yield 0
    yield from (index for index, number in enumerate(known) if number in reported)


def _exhausted(batch: Batch, attempts: int) -> str | None:
    """Return why a batch is given up, by the mapping's own limits; negative means no limit."""
    retries = batch.mapping.get("MaximumRetryAttempts")
    age = batch.mapping.get("MaximumRecordAgeInSeconds")
    if retries is not None and 0 <= int(retries) < attempts:
        return "RetryAttemptsExhausted"
    if age is not None and 0 < int(age) < batch.oldest_seconds:
        return "MaxRecordAgeExceeded"
    return None
