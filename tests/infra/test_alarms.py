from __future__ import annotations

import json
import re
from typing import Any

import pytest
from onward.metrics import SERVICE, Metric

from infra.local.emulator import ROOT
from tests.infra.conftest import Synthesise, Template, of_type, target
from tests.infra.test_outbox import dead_letters

CLOUDWATCH = {"Service": "cloudwatch.amazonaws.com"}
HERE = {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


def alarms(template: Template) -> dict[str, dict[str, Any]]:
    """Return the alarms' properties by logical id."""
    return {name: a["Properties"] for name, a in of_type(template, "CloudWatch::Alarm").items()}


def watched(template: Template) -> set[tuple[str, str, str]]:
    """Return (namespace, metric, watched resource or value) of every alarm."""
    return {
        (alarm["Namespace"], alarm["MetricName"], named(dimension["Value"]))
        for alarm in alarms(template).values()
        for dimension in alarm.get("Dimensions", [{"Value": "the account"}])
    }


def named(value: Any) -> str:
    return value if isinstance(value, str) else target(value)


def unheard(template: Template) -> set[str]:
    """Return the alarms that reach nobody: no action, no topic, or a topic that is closed."""
    open_topics = {
        target(topic)
        for policy in of_type(template, "SNS::TopicPolicy").values()
        for topic in policy["Properties"]["Topics"]
        if any(lets_in(statement, topic) for statement in document(policy))
    }
    return {
        name
        for name, alarm in alarms(template).items()
        if not alarm.get("AlarmActions")
        or not alarm.get("ActionsEnabled", True)
        or not {target(action) for action in alarm["AlarmActions"]} <= open_topics
    }


def document(policy: dict[str, Any]) -> list[dict[str, Any]]:
    statements: list[dict[str, Any]] = policy["Properties"]["PolicyDocument"]["Statement"]
    return statements


def lets_in(statement: dict[str, Any], topic: Any) -> bool:
    """Whether a statement lets CloudWatch publish to a topic, for this account's alarms only."""
    return statement == {
        "Sid": statement.get("Sid"),
        "Effect": "Allow",
        "Principal": CLOUDWATCH,
        "Action": "sns:Publish",
        "Resource": topic,
        "Condition": HERE,
    }


def test_every_alarm_reaches_a_topic_that_lets_it_in(template: Template) -> None:
    """Alarm, action, topic, policy: a policy of our own replaces the one that let CloudWatch in."""
    assert unheard(template) == set()


@pytest.mark.parametrize("broken", ["action", "policy", "statement", "condition"])
def test_the_check_finds_a_broken_link(template: Template, broken: str) -> None:
    """The check above can fail, at each link."""
    changed = json.loads(json.dumps(template))
    (policy,) = of_type(changed, "SNS::TopicPolicy").values()
    allowed = next(statement for statement in document(policy) if statement["Effect"] == "Allow")
    if broken == "action":
        for alarm in alarms(changed).values():
            del alarm["AlarmActions"]
    elif broken == "policy":
        policy["Properties"]["Topics"] = [{"Ref": "Another"}]
    elif broken == "statement":
        document(policy).remove(allowed)
    else:
        del allowed["Condition"]

    assert unheard(changed) == alarms(template).keys()


def test_the_topic_refuses_plain_connections(template: Template) -> None:
    """Beside the statement that lets CloudWatch in there is the one that shuts others out."""
    (policy,) = of_type(template, "SNS::TopicPolicy").values()
    denied = [statement for statement in document(policy) if statement["Effect"] == "Deny"]
    assert [s["Condition"] for s in denied] == [{"Bool": {"aws:SecureTransport": "false"}}]


def test_no_data_is_no_alarm_but_for_the_heartbeat(template: Template) -> None:
    """The default leaves an alarm of an idle queue without a state, for ever.

    Where nothing runs nothing counts: only what breaches without data rings then.
    """
    for name, alarm in alarms(template).items():
        beats = alarm["MetricName"] == Metric.PATROL_BEATS
        assert alarm["TreatMissingData"] == ("breaching" if beats else "notBreaching"), name
        compared = "LessThanThreshold" if beats else "GreaterThanOrEqualToThreshold"
        assert alarm["ComparisonOperator"] == compared, name
        assert alarm["DatapointsToAlarm"] <= alarm["EvaluationPeriods"]


def paragraphs() -> dict[str, str]:
    """Return the runbook's paragraphs by the anchors that a browser finds them under."""
    text = (ROOT / "docs/operations.md").read_text()
    _, runbook = text.split("\n## Runbook\n")
    parts = re.split(r"^### (.+)$", runbook.split("\n## ")[0], flags=re.MULTILINE)[1:]
    titles, bodies = parts[::2], parts[1::2]
    anchors = [title.lower().replace(" ", "-") for title in titles]
    return {anchor: body.strip() for anchor, body in zip(anchors, bodies, strict=True)}


def test_an_alarm_names_its_paragraph_of_the_runbook(template: Template) -> None:
    """Each alarm has one that says something, and no paragraph is about an alarm that is gone."""
    written = paragraphs()
    named = set()
    for name, alarm in alarms(template).items():
        says, _, anchor = alarm["AlarmDescription"].partition(" Runbook: docs/operations.md#")
        assert says.endswith("."), name
        assert anchor in written, f"{name}: docs/operations.md has no ### for {anchor!r}"
        named.add(anchor)
    assert written.keys() == named
    assert [anchor for anchor, body in written.items() if len(body.split()) < 25] == []


def test_an_alarm_looks_at_one_metric(template: Template) -> None:
    """A sum costs as much as its parts and names no culprit; the emulator knows no sums."""
    for name, alarm in alarms(template).items():
        assert "Metrics" not in alarm, name


def by_queue(template: Template, metric: str) -> dict[str, tuple[str, float, int]]:
    """Return statistic, threshold and periods of each queue's alarm on a metric."""
    return {
        target(alarm["Dimensions"][0]["Value"]): (
            alarm["Statistic"],
            alarm["Threshold"],
            alarm["EvaluationPeriods"],
        )
        for alarm in alarms(template).values()
        if (alarm["Namespace"], alarm["MetricName"]) == ("AWS/SQS", metric)
    }


def test_every_dead_letter_queue_rings_at_its_first_message(template: Template) -> None:
    """By what lies in it: what was sent leaves out redriven messages."""
    rings = by_queue(template, "ApproximateNumberOfMessagesVisible")
    assert rings == dict.fromkeys(dead_letters(template), ("Maximum", 1, 1))


def test_every_other_queue_rings_when_its_messages_wait(template: Template) -> None:
    """Its consumer may be refused, disabled or failing: none of these leaves a dead letter."""
    work = of_type(template, "SQS::Queue").keys() - dead_letters(template)
    rings = by_queue(template, "ApproximateAgeOfOldestMessage")

    assert rings.keys() == work
    assert {statistic for statistic, _, _ in rings.values()} == {"Maximum"}
    assert all(300 <= seconds <= 1800 for _, seconds, _ in rings.values())


def test_every_table_and_index_rings_when_it_is_throttled(template: Template) -> None:
    """A full index holds up its table, whose own metric says nothing of it."""
    expected = {
        (name, index, f"{kind}ThrottleEvents")
        for name, table in of_type(template, "DynamoDB::Table").items()
        for index in ("", *(each["IndexName"] for each in indexes_of(table)))
        for kind in ("Read", "Write")
    }
    found = set()
    for alarm in alarms(template).values():
        if alarm["Namespace"] == "AWS/DynamoDB":
            values = {each["Name"]: each["Value"] for each in alarm["Dimensions"]}
            index = values.get("GlobalSecondaryIndexName", "")
            found.add((target(values["TableName"]), index, alarm["MetricName"]))
    assert found == expected
    assert {index for _, index, _ in found} >= {"", "by_tenant", "due", "active", "open"}


def indexes_of(table: dict[str, Any]) -> list[dict[str, Any]]:
    indexes: list[dict[str, Any]] = table["Properties"].get("GlobalSecondaryIndexes", [])
    return indexes


def test_every_consumer_of_a_queue_rings_when_its_chain_is_cut(template: Template) -> None:
    """Lambda drops the 17th or so invocation of a chain, and tells nobody else."""
    consumers = {
        target(mapping["Properties"]["FunctionName"])
        for mapping in of_type(template, "Lambda::EventSourceMapping").values()
        if "StartingPosition" not in mapping["Properties"]
    }
    cut = {name for _, found, name in watched(template) if found == "RecursiveInvocationsDropped"}
    assert cut == consumers


@pytest.mark.parametrize(("quota", "threshold"), [("", 800), ("10", 8)])
def test_the_accounts_concurrency_rings_before_it_is_used_up(
    synthesise: Synthesise, quota: str, threshold: int
) -> None:
    """By the quota that was named; the metric is the account's, so it has no dimension."""
    (alarm,) = (
        alarm
        for alarm in alarms(synthesise(concurrency=quota)).values()
        if alarm["MetricName"] == "ClaimedAccountConcurrency"
    )
    assert alarm["Threshold"] == threshold
    assert not alarm.get("Dimensions")


def test_a_function_rings_at_its_first_error_unless_it_runs_tools(template: Template) -> None:
    """Attempts may die, and are taken over; what takes them over may not."""
    thresholds = {
        target(alarm["Dimensions"][0]["Value"]): alarm["Threshold"]
        for alarm in alarms(template).values()
        if alarm["MetricName"] == "Errors"
    }
    patient = {name for name, threshold in thresholds.items() if threshold > 1}
    assert {name.startswith("ExecuteStep") for name in patient} == {True}
    assert len(patient) == 1


@pytest.mark.parametrize("metric", ["Errors", "Throttles"])
def test_every_function_rings_when_it_fails_or_is_refused(template: Template, metric: str) -> None:
    """Whatever is added to the template is watched like the rest."""
    functions = {name for _, found, name in watched(template) if found == metric}
    assert functions == of_type(template, "Lambda::Function").keys()


def test_every_stream_reader_rings_when_it_lags(template: Template) -> None:
    """A record that fails holds up all behind it, without a word."""
    readers = {
        target(mapping["Properties"]["FunctionName"])
        for mapping in of_type(template, "Lambda::EventSourceMapping").values()
        if "StartingPosition" in mapping["Properties"]
    }
    assert readers == {name for _, metric, name in watched(template) if metric == "IteratorAge"}


def test_every_machine_rings_when_an_execution_does_not_succeed(template: Template) -> None:
    """Each of the three ways leaves a run that has not ended; a throttled one is late."""
    for name in of_type(template, "StepFunctions::StateMachine"):
        for metric in ("ExecutionsFailed", "ExecutionsAborted", "ExecutionsTimedOut"):
            assert ("AWS/States", metric, name) in watched(template)
        assert ("AWS/States", "ExecutionThrottled", name) in watched(template)


@pytest.mark.parametrize(
    "metric",
    [
        Metric.NEEDS_RECONCILIATION,
        Metric.PERMISSION_FAILURES,
        Metric.RESTARTS,
        Metric.RECOVERIES,
        Metric.UNSYNCED_SECONDS,
    ],
)
def test_what_commits_say_rings(template: Template, metric: Metric) -> None:
    """In the namespace that the functions are given, under the dimension that their lines have."""
    namespaces = {
        function["Properties"]["Environment"]["Variables"]["POWERTOOLS_METRICS_NAMESPACE"]
        for function in of_type(template, "Lambda::Function").values()
    }
    assert {(name, metric.value, SERVICE) for name in namespaces} <= watched(template)
    assert len(namespaces) == 1


def test_alarms_reach_whoever_is_named(synthesise: Synthesise, template: Template) -> None:
    """Without an address there is a topic to subscribe to, and its ARN is an output."""
    subscription = {"Protocol": "email", "Endpoint": "ops@example.org"}
    (made,) = of_type(synthesise(email="ops@example.org"), "SNS::Subscription").values()

    assert made["Properties"].items() >= subscription.items()
    assert "AWS::SNS::Subscription" not in {r["Type"] for r in template["Resources"].values()}
    assert "AlarmTopicArn" in template["Outputs"]


def test_the_dashboard_shows_each_metric_that_commits_count(template: Template) -> None:
    """And what the alarms look at: an alarm without a graph is hard to judge."""
    (page,) = of_type(template, "CloudWatch::Dashboard").values()
    body = json.dumps(page["Properties"]["DashboardBody"])
    for metric in {metric.value for metric in Metric} | {m for _, m, _ in watched(template)}:
        assert metric in body, metric
