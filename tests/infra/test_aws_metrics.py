"""Alarms on what AWS counts: they look at something that there is, and are on the list to try.

Nothing here can make AWS count. So each such metric is in the runbook's table of what is to be
provoked once in an account, and its dimensions are those under which AWS counts it.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra.local.emulator import ROOT
from tests.infra.conftest import Template, of_type, target
from tests.infra.test_alarms import alarms, indexes_of

KINDS = {
    "FunctionName": "Lambda::Function",
    "QueueName": "SQS::Queue",
    "TableName": "DynamoDB::Table",
    "StateMachineArn": "StepFunctions::StateMachine",
    "ApiId": "ApiGatewayV2::Api",
}
"""What a dimension's value must be, of the template."""

ATTRIBUTES = {"QueueName": "QueueName"}
"""Where it is no Ref: the attribute whose value CloudWatch has. A queue's Ref is its URL."""

COUNTED: dict[tuple[str, str], list[set[str]]] = {
    ("AWS/Lambda", "Errors"): [{"FunctionName"}],
    ("AWS/Lambda", "Throttles"): [{"FunctionName"}],
    ("AWS/Lambda", "RecursiveInvocationsDropped"): [{"FunctionName"}],
    ("AWS/Lambda", "IteratorAge"): [{"FunctionName"}],
    ("AWS/Lambda", "ClaimedAccountConcurrency"): [set()],
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): [{"QueueName"}],
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): [{"QueueName"}],
    ("AWS/DynamoDB", "ReadThrottleEvents"): [
        {"TableName"},
        {"TableName", "GlobalSecondaryIndexName"},
    ],
    ("AWS/DynamoDB", "WriteThrottleEvents"): [
        {"TableName"},
        {"TableName", "GlobalSecondaryIndexName"},
    ],
    ("AWS/States", "ExecutionsFailed"): [{"StateMachineArn"}],
    ("AWS/States", "ExecutionsAborted"): [{"StateMachineArn"}],
    ("AWS/States", "ExecutionsTimedOut"): [{"StateMachineArn"}],
    ("AWS/States", "ExecutionThrottled"): [{"StateMachineArn"}],
    ("AWS/ApiGateway", "5xx"): [{"ApiId"}, {"ApiId", "Stage"}],
    ("AWS/ApiGateway", "ExecutionError"): [{"ApiId", "Stage"}],
}
"""Under which dimensions AWS counts what; each service's page "metrics and dimensions" says so."""

PROTOCOLS = {"5xx": "HTTP", "ExecutionError": "WEBSOCKET"}
"""One namespace for both kinds of API, and a metric of each that the other has not."""


def watching(template: Template) -> dict[str, dict[str, Any]]:
    """Return the alarms on what AWS counts."""
    found = alarms(template).items()
    return {name: alarm for name, alarm in found if alarm["Namespace"].startswith("AWS/")}


def to_provoke() -> dict[tuple[str, str], str]:
    """Return how each metric's alarm is to be rung, as the runbook's last section tells."""
    text = (ROOT / "docs/operations.md").read_text().split("\n## Verify on AWS\n")[1]
    rows = re.findall(r"^\| `(AWS/\w+)` (.+?) \| (.+?) \|$", text, flags=re.MULTILINE)
    return {
        (space, name): how for space, names, how in rows for name in re.findall(r"`(.+?)`", names)
    }


def astray(template: Template) -> list[str]:
    """Return the alarms that look at nothing: a resource that is none, or of another kind."""
    found = []
    for name, alarm in watching(template).items():
        dimensions = {each["Name"]: each["Value"] for each in alarm.get("Dimensions", [])}
        counted = COUNTED.get((alarm["Namespace"], alarm["MetricName"]), [])
        if set(dimensions) not in counted or not all(
            names_its_own(template, alarm["MetricName"], dimensions, each) for each in dimensions
        ):
            found.append(name)
    return found


def names_its_own(
    template: Template, metric: str, dimensions: dict[str, Any], dimension: str
) -> bool:
    """Whether a dimension's value is that of a resource of the kind that it names."""
    value = dimensions[dimension]
    if dimension == "GlobalSecondaryIndexName":
        table = template["Resources"][target(dimensions["TableName"])]
        return value in [index["IndexName"] for index in indexes_of(table)]
    if dimension == "Stage":
        api = dimensions["ApiId"]
        stages = of_type(template, "ApiGatewayV2::Stage").values()
        names = [s["Properties"]["StageName"] for s in stages if s["Properties"]["ApiId"] == api]
        return value in names
    attribute = ATTRIBUTES.get(dimension)
    given = value.get("Fn::GetAtt", ["", ""])[1] if attribute else attribute
    if given != attribute or (not attribute and "Ref" not in value):
        return False
    there = of_type(template, KINDS[dimension]).get(target(value))
    if there is None:
        return False
    return dimension != "ApiId" or there["Properties"]["ProtocolType"] == PROTOCOLS[metric]


def test_an_alarm_names_a_resource_of_the_template(template: Template) -> None:
    """Under the dimensions that AWS counts by; another set of them is a metric without data."""
    assert [] == astray(template)


@pytest.mark.parametrize(
    ("metric", "dimensions"),
    [
        ("Errors", [{"Name": "FunctionName", "Value": {"Ref": "StateRuns"}}]),
        ("Errors", [{"Name": "Function", "Value": {"Ref": "StateRuns"}}]),
        ("ApproximateAgeOfOldestMessage", [{"Name": "QueueName", "Value": {"Ref": "Queue"}}]),
        ("ClaimedAccountConcurrency", [{"Name": "FunctionName", "Value": {"Ref": "Any"}}]),
    ],
    ids=["another kind", "another dimension", "a queue's address", "one dimension too many"],
)
def test_the_check_finds_an_alarm_that_looks_at_nothing(
    template: Template, metric: str, dimensions: list[dict[str, Any]]
) -> None:
    """The check above can fail."""
    changed = {**template, "Resources": dict(template["Resources"])}
    about = {name for name, a in watching(template).items() if a["MetricName"] == metric}
    for name in about:
        resource = template["Resources"][name]
        properties = resource["Properties"] | {"Dimensions": dimensions}
        changed["Resources"][name] = resource | {"Properties": properties}
    assert about
    assert about == set(astray(changed))


def test_each_metric_of_aws_is_on_the_list_to_try(template: Template) -> None:
    """No more and no less than what alarms look at, and how to make it ring in an account."""
    looked_at = {(a["Namespace"], a["MetricName"]) for a in watching(template).values()}
    listed = to_provoke()
    assert looked_at == listed.keys()
    assert [] == [metric for metric, how in listed.items() if len(how.split()) < 6]
