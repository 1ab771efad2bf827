from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from onward.app.driving.carry_out import decided
from onward.aws import codec, keys
from onward.aws.blobs import Blobs
from onward.aws.run_reader import RunReader
from onward.aws.run_store import RunStore
from onward.domain.effects import Effect
from onward.domain.errors import Conflict, StoreError
from onward.domain.model import Payload, StepStatus
from onward.domain.protocol import (
    Begin,
    Complete,
    Outcome,
    Recover,
    Report,
    Resolve,
    Verdict,
    View,
)

from tests import faults
from tests.store.conftest import RUNS, Time
from tests.store.runs import RUN_ID, Journey, born, chain, journey

DONE = Payload('{"ok":true}')


@pytest.fixture
def chained(store: RunStore, reader: RunReader, blobs: Blobs, time: Time) -> Journey:
    """A chain of three read steps, just accepted."""
    return journey(store, reader, blobs, time, chain(3))


@pytest.fixture
def writing(store: RunStore, reader: RunReader, blobs: Blobs, time: Time) -> Journey:
    """A run whose only step, a write, is claimed and not yet sent."""
    made = journey(store, reader, blobs, time, chain(1, tool="once"))
    made.move(Begin())
    return made


def items(client: Any) -> dict[tuple[str, str], Any]:
    """Every row of the table by its keys."""
    found = client.scan(TableName=RUNS, ConsistentRead=True)["Items"]
    return {(row["pk"]["S"], row["sk"]["S"]): row for row in found}


def test_an_outcome_is_stored_whole(chained: Journey, reader: RunReader) -> None:
    """Run row, step row and events are what was decided."""
    outcome = chained.move(Begin())
    assert outcome.run == chained.run
    assert [new for _, new in outcome.steps] == reader.steps(RUN_ID)
    assert list(outcome.events) == reader.events(RUN_ID, 1, 10)
    assert all(step.at_seq == outcome.run.seq for step in reader.steps(RUN_ID))


def test_a_commit_that_no_transaction_holds_is_refused_by_name(chained: Journey) -> None:
    """It is a mistake of the machine, and not the service's to explain."""
    outcome = chained.decide(Begin())
    (event,) = outcome.events[:1]
    with pytest.raises(StoreError, match="rows"):
        chained.store.commit(replace(outcome, events=(event,) * 100), "large")


def test_the_first_of_two_deciders_wins(chained: Journey, dynamodb: Any) -> None:
    """Two read the same row; the second commit changes nothing."""
    first, second = chained.decide(Begin()), chained.decide(Begin())
    chained.store.commit(first, "first")
    before = items(dynamodb)
    with pytest.raises(Conflict):
        chained.store.commit(second, "second")
    assert before == items(dynamodb)


def test_a_replaced_driver_is_fenced(chained: Journey, dynamodb: Any) -> None:
    """The generation is compared even when nothing else moved the run's seq."""
    outcome = chained.decide(Begin())
    _set(dynamodb, keys.RUN, "generation", {"N": "2"})
    before = items(dynamodb)
    with pytest.raises(Conflict):
        chained.store.commit(outcome, "late")
    assert before == items(dynamodb)


def test_an_attempt_that_was_taken_over_cannot_commit(chained: Journey, dynamodb: Any) -> None:
    """The step's fence is compared by itself, not only through the run's seq."""
    chained.move(Begin())
    outcome = chained.decide(Complete("s1", 1, DONE))
    _set(dynamodb, keys.step_sk("s1"), "fence", {"N": "2"})
    before = items(dynamodb)
    with pytest.raises(Conflict):
        chained.store.commit(outcome, "zombie")
    assert before == items(dynamodb)


def test_a_step_that_was_read_older_than_its_run_is_a_conflict(
    writing: Journey, reader: RunReader, time: Time
) -> None:
    """Two operators answer; the second one's read shows the run after, but the step before."""
    writing.store.mark_sent(RUN_ID, "s1", 1, "request", 5.0)
    writing.move(Recover("s1", 1, 0, "Runtime.ExitError", dead=True))
    time.sleep(1_000)
    before = reader.rows(RUN_ID, steps=["s1"]).steps
    writing.move(Resolve("s1", Verdict.NOT_APPLIED, "ada"), None)
    stale = View(writing.run, steps=before)
    second = decided(writing.drive, stale, Resolve("s1", Verdict.APPLIED, "bob", DONE), None)

    with pytest.raises(Conflict):
        writing.store.commit(second, "second")
    assert (StepStatus.BACKING_OFF, 0) == (reader.steps(RUN_ID)[0].status, writing.run.done)


def test_a_write_marked_meanwhile_refuses_who_believed_it_unsent(
    writing: Journey, dynamodb: Any
) -> None:
    """A decision on an unsent write and the worker that marks it: the mark was first."""
    outcome = writing.decide(Complete("s1", 1, DONE))
    writing.store.mark_sent(RUN_ID, "s1", 1, "request", 5.0)
    before = items(dynamodb)
    with pytest.raises(Conflict):
        writing.store.commit(outcome, "takeover")
    assert before == items(dynamodb)


def test_a_mark_that_was_seen_does_not_refuse(writing: Journey, reader: RunReader) -> None:
    """A commit that has read the mark is conditioned on that mark."""
    writing.store.mark_sent(RUN_ID, "s1", 1, "request", 5.0)
    writing.move(Complete("s1", 1, DONE))
    (effect,) = reader.records(RUN_ID, Effect)
    assert (effect.sent_fence, effect.receipt) == (1, DONE)


def test_an_attempt_marks_its_write_once(writing: Journey) -> None:
    """A second invocation of the same attempt, and an older attempt, may not send."""
    writing.store.mark_sent(RUN_ID, "s1", 1, "request-1", 5.0)
    with pytest.raises(Conflict):
        writing.store.mark_sent(RUN_ID, "s1", 1, "request-2", 6.0)
    with pytest.raises(Conflict):
        writing.store.mark_sent(RUN_ID, "s1", 0, "request-0", 6.0)


def test_an_attempt_that_was_taken_over_may_not_send(writing: Journey, dynamodb: Any) -> None:
    """The mark is conditioned on the fence; the new attempt marks again above the old mark."""
    writing.store.mark_sent(RUN_ID, "s1", 1, "old", 5.0)
    _set(dynamodb, keys.effect_sk("s1"), "fence", {"N": "2"})
    with pytest.raises(Conflict):
        writing.store.mark_sent(RUN_ID, "s1", 1, "zombie", 6.0)
    marked = codec.read_effect(writing.store.mark_sent(RUN_ID, "s1", 2, "new", 7.0))
    assert (marked.sent_fence, marked.sent_at) == (2, 7.0)


@pytest.mark.parametrize(
    "code",
    [
        "ThrottlingException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "TransactionInProgressException",
        "InternalServerError",
    ],
)
def test_what_may_pass_is_a_conflict(chained: Journey, dynamodb: Any, code: str) -> None:
    """Throttling and its like are tried again by the caller."""
    outcome = chained.decide(Begin())
    with faults.refused(dynamodb, "TransactWriteItems", code), pytest.raises(Conflict):
        chained.store.commit(outcome, "mine")


@pytest.mark.parametrize(
    "reason",
    [
        "ConditionalCheckFailed",
        "TransactionConflict",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
    ],
)
def test_a_cancellation_that_may_pass_is_a_conflict(
    chained: Journey, dynamodb: Any, reason: str
) -> None:
    """Whichever item it was that refused."""
    outcome = chained.decide(Begin())
    with faults.cancelled(dynamodb, ["None", reason]), pytest.raises(Conflict):
        chained.store.commit(outcome, "mine")


@pytest.mark.parametrize("reason", ["ItemCollectionSizeLimitExceeded", "ValidationError"])
def test_a_cancellation_that_will_not_pass_is_an_error(
    chained: Journey, dynamodb: Any, reason: str
) -> None:
    """Deciding again could not help, also beside a reason that could."""
    outcome = chained.decide(Begin())
    reasons = ["ConditionalCheckFailed", reason]
    with faults.cancelled(dynamodb, reasons), pytest.raises(ClientError):
        chained.store.commit(outcome, "mine")


def test_an_error_that_is_no_conflict_is_raised(chained: Journey, dynamodb: Any) -> None:
    """A missing grant is not contention."""
    outcome = chained.decide(Begin())
    code = "AccessDeniedException"
    with faults.refused(dynamodb, "TransactWriteItems", code), pytest.raises(ClientError):
        chained.store.commit(outcome, "mine")


def test_a_token_is_kept_only_for_the_row_it_was_decided_on(chained: Journey) -> None:
    """A commit between the decision to wait and the token would otherwise be slept through."""
    seen = chained.run
    chained.move(Begin())
    assert not chained.store.keep_token(seen, "token")
    assert chained.store.keep_token(chained.run, "token")
    assert chained.run.park_token == "token"
    replaced = replace(chained.run, generation=2)
    assert not chained.store.keep_token(replaced, "other")


def test_a_commit_that_did_not_see_the_token_keeps_it(chained: Journey) -> None:
    """Updates touch only what changed, so a token stored after the read survives the commit."""
    chained.move(Begin())
    outcome = chained.decide(Report("s1", 1, 0.5, "half"))
    assert chained.store.keep_token(chained.run, "token")
    chained.store.commit(outcome, "progress")
    assert chained.run.park_token == "token"


def test_expiry_is_no_condition(chained: Journey, dynamodb: Any) -> None:
    """A row whose TTL has passed and that is still there counts: TTL deletes late."""
    _set(dynamodb, keys.RUN, "expires_at", {"N": "1"})
    assert chained.move(Begin()).run == chained.run


def test_a_run_is_born_once(chained: Journey, store: RunStore, time: Time) -> None:
    """The same id again is a conflict; the same birth again is its own success."""
    again = born(chain(3), time.clock())
    with pytest.raises(Conflict):
        store.create(again.run, again.submission, again.plan, again.event, "another")
    store.create(again.run, again.submission, again.plan, again.event, "birth")


def test_only_the_dense_prefix_is_read(chained: Journey, reader: RunReader, dynamodb: Any) -> None:
    """A query may see a transaction in part; a reader that skipped would never come back."""
    chained.move(Begin())
    for number in (1, 2):
        chained.move(Complete(f"s{number}", 1, DONE))
    last = chained.run.seq
    gap = {"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": keys.event_sk(last - 1)}}
    dynamodb.delete_item(TableName=RUNS, Key=gap)
    assert list(range(1, last - 1)) == [e.seq for e in reader.events(RUN_ID, 0, 100)]
    assert [e.seq for e in reader.events(RUN_ID, 1, 2)] == [2, 3]
    assert reader.events(RUN_ID, last - 2, 100) == []
    assert [last] == [e.seq for e in reader.events(RUN_ID, last - 1, 100)]


def test_nothing_is_a_put_over_a_row(chained: Journey, dynamodb: Any) -> None:
    """Every item of a commit carries a condition, and every Put one that the row is new."""
    written = faults.calls(dynamodb, "TransactWriteItems")
    chained.move(Begin())
    outcome: Outcome = chained.move(Complete("s1", 1, DONE))
    assert outcome.changes
    for call in written:
        for write in call["TransactItems"]:
            ((verb, item),) = write.items()
            expected = {"Put": "attribute_not_exists(pk)"}.get(verb, item["ConditionExpression"])
            assert expected == item["ConditionExpression"]


def _set(client: Any, sk: str, name: str, value: dict[str, str]) -> None:
    """Change one attribute behind the store's back."""
    client.update_item(
        TableName=RUNS,
        Key={"pk": {"S": keys.run_pk(RUN_ID)}, "sk": {"S": sk}},
        UpdateExpression="SET #n = :v",
        ExpressionAttributeNames={"#n": name},
        ExpressionAttributeValues={":v": value},
    )
