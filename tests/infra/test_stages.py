"""Two stages in one account, and what protects the one that matters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.context import Context, ContextRefused, fields, key_of
from infra.local.emulator import ROOT
from tests.infra.conftest import Assemble, Synthesise, Template, of_type

HERE_ONLY = {
    "AttributeName",  # of a table
    "IndexName",
    "MetricName",
    "PolicyName",  # of a role
    "ParameterName",
    "StageName",  # of an API
}
"""Names that are unique within something that has a generated name."""


def given_names(value: Any, key: str = "") -> set[str]:
    """Return all literal values of properties that are called a name."""
    if isinstance(value, dict):
        return set().union(*(given_names(each, name) for name, each in value.items()))
    if isinstance(value, list):
        return set().union(*(given_names(each, key) for each in value))
    return {str(value)} if key.endswith("Name") and key not in HERE_ONLY else set()


def names(template: Template) -> set[str]:
    """Return what resources are called by the template itself."""
    properties = [
        resource.get("Properties", {})
        for resource in template["Resources"].values()
        if resource["Type"] != "AWS::ApiGatewayV2::Authorizer"
    ]
    kept = [
        {name: value for name, value in each.items() if name not in {"Dimensions", "Environment"}}
        for each in properties
    ]
    return set().union(*(given_names(each) for each in kept))


def namespaces(template: Template) -> set[str]:
    """Return where the functions' metrics go."""
    return {
        function["Properties"]["Environment"]["Variables"]["POWERTOOLS_METRICS_NAMESPACE"]
        for function in of_type(template, "Lambda::Function").values()
    }


def test_two_stages_share_no_name(synthesise: Synthesise) -> None:
    """What a resource is called explicitly, and where its metrics go, exists once an account."""
    one, two = synthesise(stage="one"), synthesise(stage="two")

    assert names(one) & names(two) <= {"AWS/Lambda"}
    assert namespaces(one) == {"Onward-one"}
    assert namespaces(two) == {"Onward-two"}


def test_a_stage_has_name_region_and_tags(assembled: Assemble) -> None:
    """CloudFormation puts a stack's tags on everything in it."""
    values = {"stage": "prod", "region": "eu-central-1", "tags": "team=risk, cost=42"}
    manifest = json.loads((assembled(**values) / "manifest.json").read_text())
    artifact = manifest["artifacts"]["Onward"]

    assert artifact["environment"].endswith("/eu-central-1")
    assert artifact["properties"]["stackName"] == "Onward-prod"
    assert artifact["properties"]["tags"] == {"cost": "42", "team": "risk"}


@pytest.mark.parametrize("protect", ["", "1"])
def test_stack_and_tables_are_protected_where_it_is_asked(
    assembled: Assemble, synthesise: Synthesise, protect: str
) -> None:
    """Against `cdk destroy` and against a deletion by name."""
    manifest = json.loads((assembled(protect=protect) / "manifest.json").read_text())
    tables = of_type(synthesise(protect=protect), "DynamoDB::Table").values()

    properties = manifest["artifacts"]["Onward"]["properties"]
    assert bool(properties.get("terminationProtection")) == bool(protect)
    assert {t["Properties"]["DeletionProtectionEnabled"] for t in tables} == {bool(protect)}


@pytest.mark.parametrize(
    ("state", "policies"),
    [("", {("RetainExceptOnCreate", "Retain")}), ("destroy", {("Delete", "Delete")})],
)
def test_data_outlives_the_stack_unless_asked(
    synthesise: Synthesise, state: str, policies: set[tuple[str, str]]
) -> None:
    """Not a first deployment that failed: what was rolled back holds nothing."""
    template = synthesise(state=state)
    found = {
        (resource["DeletionPolicy"], resource["UpdateReplacePolicy"])
        for kind in ("DynamoDB::Table", "S3::Bucket")
        for resource in of_type(template, kind).values()
    }
    assert found == policies


def test_the_drivers_log_is_where_deliveries_need_no_policy(template: Template) -> None:
    """Each other group would take room in a policy of the account that is soon full."""
    (machine,) = of_type(template, "StepFunctions::StateMachine").values()
    (destination,) = machine["Properties"]["LoggingConfiguration"]["Destinations"]
    group = destination["CloudWatchLogsLogGroup"]["LogGroupArn"]["Fn::GetAtt"][0]

    named = template["Resources"][group]["Properties"]["LogGroupName"]
    assert named == "/aws/vendedlogs/states/Onward-driver"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"stage": "a b"}, "onward:stage='a b'"),
        ({"tags": "team"}, "onward:tags='team'"),
        ({"protect": "yes"}, "onward:protect='yes'"),
        ({"state": "gone"}, "onward:state='gone'"),
        ({"retention_days": "ten"}, "onward:retention-days='ten'"),
        ({"protect": "1", "state": "destroy"}, "onward:protect=1 forbids onward:state=destroy"),
    ],
)
def test_a_context_that_means_nothing_is_refused(values: dict[str, str], told: str) -> None:
    """At synthesis, with the key's name."""
    with pytest.raises(ContextRefused, match=told):
        Context(**values)


def test_an_unknown_key_is_refused(assembled: Assemble) -> None:
    """A typing error would be the default, in silence."""
    with pytest.raises(ContextRefused, match=r"onward:stagge; there are .*onward:stage"):
        assembled(stagge="prod")


def test_every_key_is_explained() -> None:
    """In a row of the table of the page for operations."""
    page = (ROOT / "docs/operations.md").read_text()
    for field in fields(Context):
        assert f"\n| `{key_of(field.name)}` |" in page, field.name
