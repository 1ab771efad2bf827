from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import onward
import pytest

from tests.infra.conftest import Template, of_type, target

DRIVEN = ("ExecuteStep", "Recover", "Settle", "Park")
ANYTHING = {
    "dynamodb:ListStreams",  # has no resource to name
    "logs:CreateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:DescribeLogGroups",
    "logs:DescribeResourcePolicies",
    "logs:GetLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:UpdateLogDelivery",
}


def statements(template: Template) -> list[tuple[str, dict[str, Any]]]:
    """Return every statement of every role's policies with its policy's logical id."""
    return [
        (name, statement)
        for name, policy in of_type(template, "IAM::Policy").items()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def listed(value: Any) -> list[Any]:
    """Return a list for what IAM lets stand alone."""
    return value if isinstance(value, list) else [value]


def test_every_call_to_a_table_that_is_allowed_is_made(template: Template) -> None:
    """By the library, alone or in a transaction; streams and records are read for us."""
    sources = (path.read_text() for path in Path(onward.__file__).parent.rglob("*.py"))
    library = "".join(sources)
    others = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
    allowed = {
        action.removeprefix("dynamodb:")
        for _, statement in statements(template)
        for action in listed(statement["Action"])
        if action.startswith("dynamodb:")
    }

    uncalled = {
        action
        for action in allowed - others
        if f"{snake_case(action)}(" not in library
        and f'{{"{action.removesuffix("Item")}": ' not in library
    }
    assert {"DeleteItem"} >= uncalled, "only Powertools deletes, what it remembers"


def snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def test_no_policy_allows_a_whole_service(template: Template) -> None:
    """Each permission is an action somebody calls, written out."""
    for name, statement in statements(template):
        for action in listed(statement["Action"]):
            assert "*" not in action, f"{name}: {action}"


@pytest.mark.parametrize(
    ("index", "readers"),
    [
        ("by_tenant", {"HttpApi"}),
        ("open", {"HttpApi"}),
        ("due", {"HttpApi", "Notify", "Patrol"}),
        ("active", {"HttpApi", "StartRun", "Patrol"}),
    ],
)
def test_an_index_is_read_by_who_needs_it(
    template: Template, index: str, readers: set[str]
) -> None:
    """The list reads the tenant's runs; who is due is the patrol's business, what is dead ours."""
    found = {
        (name.split("ServiceRole")[0], str(statement["Action"]))
        for name, statement in statements(template)
        if f"/index/{index}" in json.dumps(statement["Resource"])
    }
    assert found == {(reader, "dynamodb:Query") for reader in readers}


def test_no_role_has_a_policy_of_others(template: Template) -> None:
    """What AWS' managed policies allow is theirs to change."""
    for name, role in of_type(template, "IAM::Role").items():
        assert "ManagedPolicyArns" not in role["Properties"], name


def test_a_function_writes_to_its_own_log_only(template: Template) -> None:
    """A log group each, and leave to create none: retention is the template's."""
    writers = [
        (name.split("ServiceRole")[0], target(statement["Resource"]))
        for name, statement in statements(template)
        if "logs:PutLogEvents" in listed(statement["Action"])
    ]
    assert len(writers) == len(of_type(template, "Lambda::Function"))
    for function, group in writers:
        assert group.startswith(f"{function}Log")


def test_the_driver_invokes_versions_of_the_worker_and_nothing_else_but_its_own(
    template: Template,
) -> None:
    """A decision names the version; the other three are the deployed ones."""
    (statement,) = (
        statement
        for name, statement in statements(template)
        if "lambda:InvokeFunction" in listed(statement["Action"]) and name.startswith("Driver")
    )
    versions, *others = sorted(map(json.dumps, statement["Resource"]), key=lambda r: ":*" not in r)
    assert "ExecuteStep" in versions
    assert len(others) == 3
    assert not any(":*" in resource or "ExecuteStep" in resource for resource in others)


DECIDERS = {"ExecuteStep", "HttpApi", "Park", "Patrol", "Recover", "Settle"}
SENDERS = {"PublishOutbox", "Notify", "PushEvents", "WsMessage", *(DECIDERS - {"Park"})}


def test_only_actions_without_resources_name_all_resources(template: Template) -> None:
    """What can be bound to one of our resources is."""
    for name, statement in statements(template):
        if "*" in listed(statement["Resource"]):
            assert set(listed(statement["Action"])) <= ANYTHING, name


@pytest.mark.parametrize(
    ("action", "functions"),
    [
        ("s3:GetObject", {"StartRun", "PushEvents", *DECIDERS}),
        ("s3:PutObject", DECIDERS),
        ("s3:ListBucket", {"StartRun", "PushEvents", *DECIDERS}),
        ("dynamodb:UpdateItem", {"Notify", "StartRun", "PushEvents", "WsMessage", *DECIDERS}),
        ("sqs:SendMessage", SENDERS),
        ("sqs:ReceiveMessage", {"HttpApi", "Notify", "PushEvents", "StartRun"}),
        ("execute-api:ManageConnections", {"PushEvents", "WsMessage"}),
        ("states:StopExecution", {"Patrol"}),
    ],
)
def test_a_permission_is_held_by_those_who_use_it(
    template: Template, action: str, functions: set[str]
) -> None:
    """The emulator checks no permission, so a missing one would be found on AWS only."""
    holders = {
        name.split("ServiceRole")[0]
        for name, statement in statements(template)
        if action in listed(statement["Action"])
    }
    assert holders == functions


def test_nobody_scans_the_runs_or_deletes_them(template: Template) -> None:
    """Rows leave by their expiry; a scan reads every tenant."""
    for name, statement in statements(template):
        if "StateRuns" in json.dumps(statement["Resource"]):
            actions = set(listed(statement["Action"]))
            assert not actions & {"dynamodb:Scan", "dynamodb:DeleteItem"}, name


@pytest.mark.parametrize("function", DRIVEN)
def test_what_the_driver_invokes_does_not_know_the_driver(
    template: Template, function: str
) -> None:
    """Neither its variables nor its default policy: in one stack that is a cycle."""
    (machine,) = of_type(template, "StepFunctions::StateMachine")
    for name, resource in template["Resources"].items():
        if name.startswith(function):
            assert machine not in json.dumps(resource), name


def test_who_commits_answers_tokens_and_nobody_else(template: Template) -> None:
    """A commit may have to wake the parked driver; a missing grant would let it sleep on."""
    (machine,) = of_type(template, "StepFunctions::StateMachine")
    holders: set[str] = set()
    for policy in of_type(template, "IAM::Policy").values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            if "states:SendTaskSuccess" in listed(statement["Action"]):
                assert statement["Resource"] == {"Ref": machine}
                roles = policy["Properties"]["Roles"]
                holders |= {role["Ref"].split("ServiceRole")[0] for role in roles}
    assert holders == DECIDERS


def test_park_answers_tokens_by_a_policy_of_its_own(template: Template) -> None:
    """And may do nothing else with the driver."""
    (machine,) = of_type(template, "StepFunctions::StateMachine")
    ((_, statement),) = (
        (name, statement) for name, statement in statements(template) if "ParkAnswers" in name
    )
    assert set(statement["Action"]) == {"states:SendTaskSuccess", "states:SendTaskFailure"}
    assert statement["Resource"] == {"Ref": machine}


def test_only_start_run_starts_executions(template: Template) -> None:
    """Every start goes through the queue, which knows the quota."""
    starters = [
        name
        for name, statement in statements(template)
        if "states:StartExecution" in listed(statement["Action"])
    ]
    assert len(starters) == 1
    assert starters[0].startswith("StartRun")


@pytest.mark.parametrize("kind", ["S3::BucketPolicy", "SQS::QueuePolicy"])
def test_storage_and_queues_refuse_plain_connections(template: Template, kind: str) -> None:
    """Each has a policy that denies what does not come by TLS."""
    holders = of_type(template, kind.replace("Policy", ""))
    policies = of_type(template, kind).values()
    assert len(policies) == len(holders)
    for policy in policies:
        denials = [
            statement
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny"
            and statement["Condition"].get("Bool") == {"aws:SecureTransport": "false"}
        ]
        assert denials


def test_tables_can_be_brought_back(template: Template) -> None:
    """Point-in-time recovery is on, and rows that expire say when."""
    for table in of_type(template, "DynamoDB::Table").values():
        properties = table["Properties"]
        assert properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
        assert properties["TimeToLiveSpecification"]["Enabled"] is True
