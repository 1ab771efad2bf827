"""What is stored is what is read, for every value that may be stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onward.aws import codec, plan_codec
from onward.domain.effects import Effect, EffectState
from onward.domain.model import (
    Cursor,
    Event,
    Failing,
    Failure,
    Fan,
    Payload,
    PlannedStep,
    Policy,
    Run,
    RunStatus,
    Step,
    StepStatus,
    Usage,
    Wait,
)
from onward.domain.submission import Submission

# What UTF-8 can carry: a lone surrogate is refused before it is stored.
words = st.text(st.characters(exclude_categories=["Cs"]))
names = words.filter(bool)
numbers = st.floats(allow_nan=False, allow_infinity=False)
moments = st.integers(0, 4_000_000_000_000).map(lambda milliseconds: milliseconds / 1000)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
payloads = st.builds(Payload, text=json_values.map(codec.dumps)) | st.builds(Payload, ref=names)
counts = st.integers(0, 10**9)
usages = st.builds(Usage, counts, counts)
failures = st.builds(Failure, names, words, st.booleans(), moments)
tables = st.dictionaries
runs = st.builds(
    Run,
    run_id=names,
    tenant=names,
    workflow=names,
    status=st.sampled_from(RunStatus),
    worker=names,
    steps_total=counts,
    result_from=names,
    created_at=moments,
    seq=counts,
    extended=st.dictionaries(names, st.builds(Fan, counts, counts, counts)),
    frontier=tables(names, counts),
    ready=st.lists(st.builds(Cursor, names, counts, counts)).map(tuple),
    fans=tables(names, st.builds(Fan, counts, counts, counts)),
    open=tables(names, counts),
    waiting=tables(names, st.builds(Wait, st.sampled_from(StepStatus), st.none() | moments)),
    failing=st.none() | st.builds(Failing, failures, st.none() | names),
    usage=usages,
    tokens_left=st.none() | st.integers(-(10**9), 10**9),
    started_at=st.none() | moments,
    deadline=st.none() | moments,
    due_at=st.none() | counts,
    park_token=st.none() | names,
)
steps = st.builds(
    Step,
    step_id=names,
    plan_key=names,
    status=st.sampled_from(StepStatus),
    fence=counts,
    attempt=counts,
    unbegun=st.booleans(),
    index=st.none() | counts,
    children=st.none() | counts,
    input=st.none() | payloads,
    output=st.none() | payloads,
    error=st.none() | failures,
    usage=usages,
    started_at=st.none() | moments,
    not_before=st.none() | moments,
    at_seq=counts,
)
effects = st.builds(
    Effect,
    step_id=names,
    state=st.sampled_from(EffectState),
    key=names,
    tool=names,
    action_version=names,
    fence=counts,
    intended_at=moments,
    sent_fence=st.none() | counts,
    sent_at=st.none() | moments,
    receipt=st.none() | payloads,
)
references = st.fixed_dictionaries({"$ref": names})
policies = st.builds(
    Policy, attempts=counts, backoff_base=moments, key_ttl=st.none() | moments, timeout=counts
)
planned = st.builds(
    PlannedStep,
    key=names,
    tool=names,
    entry=names,
    input=json_values,
    needs=st.lists(names).map(tuple),
    singles=st.lists(names).map(tuple),
    joins=st.lists(st.tuples(names, counts)).map(tuple),
    for_each=st.none() | references,
    optional=st.booleans(),
    expands=st.booleans(),
    policy=policies,
)
submissions = st.builds(Submission, input=payloads, labels=tables(names, words), subject=words)
events = st.builds(
    Event,
    seq=counts,
    type=names,
    at=moments,
    data=tables(words, json_values, max_size=3),
    start=st.none() | counts,
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(runs)
def test_a_run_row(run: Run) -> None:
    """Read back equal."""
    assert run == codec.read_run(sent(codec.run_item(run)))


@given(steps)
def test_a_step_row(step: Step) -> None:
    """Read back equal."""
    assert step == codec.read_step(sent(codec.step_item(step)))


@given(effects)
def test_a_ledger_row(effect: Effect) -> None:
    """Read back equal."""
    assert effect == codec.read_effect(sent(codec.effect_item(effect)))


@given(planned)
def test_a_planned_step(step: PlannedStep) -> None:
    """Read back equal."""
    assert step == plan_codec.read_planned(sent(plan_codec.plan_item(step)))


@given(submissions)
def test_a_submission(submission: Submission) -> None:
    """Read back equal."""
    assert submission == plan_codec.read_submission(sent(plan_codec.submission_item(submission)))


@given(events)
def test_an_event(event: Event) -> None:
    """Read back equal; what it does not say is absent."""
    assert event == codec.read_event(sent(codec.event_item(event, "commit", "acme")))


@given(json_values)
def test_a_payload_is_one_text(value: Any) -> None:
    """Floats, unicode and what is empty survive; no number becomes a Decimal."""
    held = sent(codec.payload_item("output", Payload(codec.dumps(value))))
    assert value == json.loads(held["output"]["S"])


def test_what_is_empty_is_absent() -> None:
    """An empty row attribute costs nothing and reads as empty."""
    assert codec.item({"a": "", "b": [], "c": {}, "d": None, "e": 0, "f": False}) == {
        "e": {"N": "0"},
        "f": {"BOOL": False},
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "1970-01-01T00:00:00.000Z"), (1_764_450_000.5, "2025-11-29T21:00:00.500Z")],
)
def test_times_sort_as_text(seconds: float, text: str) -> None:
    """RFC 3339 in UTC, always with milliseconds."""
    assert text == codec.iso(seconds)
    assert seconds == codec.epoch(text)


def sent(item: codec.Item) -> codec.Item:
    """The item as DynamoDB returns it: no empty key attribute, numbers of at most 38 digits."""
    for value in item.values():
        TypeDeserializer().deserialize(value)
    return item
