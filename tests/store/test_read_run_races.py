from __future__ import annotations

from typing import Any

from onward.app.service import Service
from onward.aws import keys
from onward.domain.model import Failure
from onward.domain.protocol import Begin, Complete, Fail

from tests import faults
from tests.store.conftest import RUNS, Time
from tests.store.reading import SEEN, by_id, read, start
from tests.store.runs import RUN_ID, chain


def test_a_commit_between_the_reads_is_read_again(
    service: Service, time: Time, dynamodb: Any
) -> None:
    """The snapshot is of one moment: never a succeeded step in a run that counts none."""
    made = start(service, time, chain(3))
    made.move(Begin())
    with faults.meanwhile(dynamodb, "Query", lambda: made.move(Complete("s1", 1, SEEN))):
        document = read(service)
    assert made.run.seq == document["as_of_seq"]
    assert document["counts"]["done"] == 1
    assert by_id(document)["s1"]["status"] == "succeeded"


def test_a_run_that_never_rests_is_read_as_of_its_run_row(
    service: Service, time: Time, dynamodb: Any
) -> None:
    """Rows may then be newer than `as_of_seq`, never older: who goes on from it misses nothing."""
    made = start(service, time, chain(30))
    made.move(Begin())
    numbers = iter(range(1, 30))

    def move() -> None:
        made.move(Complete(f"s{next(numbers)}", 1, SEEN))

    with faults.meanwhile(dynamodb, "Query", move, faults.MANY):
        document = read(service)
    done = sum(step["status"] == "succeeded" for step in document["steps"])
    assert document["as_of_seq"] < made.run.seq
    assert document["counts"]["done"] < done


def test_a_commit_seen_in_part_is_read_again(service: Service, time: Time, dynamodb: Any) -> None:
    """The run row has moved on and its step row is not visible yet, or the other way round."""
    made = start(service, time, chain(2))
    made.move(Begin())
    old = _item(dynamodb, keys.step_sk("s1"))
    made.move(Complete("s1", 1, SEEN))
    new = _item(dynamodb, keys.step_sk("s1"))
    dynamodb.put_item(TableName=RUNS, Item=old)
    reads = iter(range(10))

    def arrive() -> None:
        if next(reads) == 3:
            dynamodb.put_item(TableName=RUNS, Item=new)

    with faults.meanwhile(dynamodb, "Query", arrive, faults.MANY):
        document = read(service)
    assert by_id(document)["s1"]["status"] == "succeeded"


def test_a_row_ahead_of_its_run_is_read_again(service: Service, time: Time, dynamodb: Any) -> None:
    """A step row that says a later seq belongs to a commit that is being applied."""
    made = start(service, time, chain(2))
    made.move(Begin())
    before = _item(dynamodb, keys.RUN)
    made.move(Fail("s1", 1, Failure("rate_limited", "slow", retryable=True, retry_after=2.0)))
    after, last = _item(dynamodb, keys.RUN), made.run.seq
    dynamodb.put_item(TableName=RUNS, Item=before)
    reads = iter(range(10))

    def arrive() -> None:
        if next(reads) == 3:
            dynamodb.put_item(TableName=RUNS, Item=after)

    with faults.meanwhile(dynamodb, "Query", arrive, faults.MANY):
        document = read(service)
    assert (last, 2) == (document["as_of_seq"], by_id(document)["s1"]["attempts"])


def test_a_commit_behind_the_steps_is_read_again(
    service: Service, time: Time, dynamodb: Any
) -> None:
    """The ledger carries no seq: only the run row, read again, says that it is newer."""
    made = start(service, time, chain(2, tool="native"))
    made.move(Begin())
    service.store.mark_sent(RUN_ID, "s1", 1, "request", time.clock())
    queries = iter(range(100))

    def commit() -> None:
        if next(queries) == 2:
            made.move(Complete("s1", 1, SEEN))

    with faults.meanwhile(dynamodb, "Query", commit, faults.MANY):
        document = read(service)
    assert (1, 1) == (document["effects"]["applied"], document["counts"]["done"])


def test_a_part_that_no_commit_names_is_not_shown(
    service: Service, time: Time, dynamodb: Any
) -> None:
    """Rows written ahead by an attempt that never committed do not exist."""
    start(service, time, chain(1))
    planned = _item(dynamodb, keys.plan_sk("0#s1"))
    stray = planned | {"sk": {"S": keys.plan_sk("s1#1#x")}, "key": {"S": "s1#1#x"}}
    dynamodb.put_item(TableName=RUNS, Item=stray)
    assert ["s1"] == [step["id"] for step in read(service)["steps"]]


def _item(client: Any, sk: str) -> Any:
    key = {"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": sk}}
    return client.get_item(TableName=RUNS, Key=key)["Item"]
