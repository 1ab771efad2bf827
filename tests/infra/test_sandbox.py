from __future__ import annotations

from onward.aws.clients import FUNCTION_SECONDS
from onward.sandbox.job import MAX_MEMORY, MAX_TIMEOUT
from onward.sandbox.run import START_SECONDS

from tests.infra.conftest import Template, of_type, target
from tests.infra.test_functions import by_name
from tests.infra.test_permissions import listed, statements


def test_the_sandbox_may_write_its_log_and_nothing_else(template: Template) -> None:
    """Code that breaks out of everything finds nothing that it could use."""
    held = [s for name, s in statements(template) if name.startswith("RunSandbox")]
    (role,) = (
        role["Properties"]
        for name, role in of_type(template, "IAM::Role").items()
        if name.startswith("RunSandbox")
    )

    assert [{"logs:CreateLogStream", "logs:PutLogEvents"}] == [set(s["Action"]) for s in held]
    assert target(held[0]["Resource"]).startswith("RunSandboxLog")
    assert {"AssumeRolePolicyDocument"} == role.keys()


def test_the_sandbox_knows_no_name_of_ours(template: Template) -> None:
    """Neither by a variable nor by a layer's or a network's: it is in none."""
    properties = by_name(template)["run_sandbox"]

    assert "VpcConfig" not in properties
    variables = properties["Environment"]["Variables"]  # type: ignore[index]
    ours = {name: said for name, said in variables.items() if not name.startswith("POWERTOOLS_")}
    assert {"ONWARD_SANDBOX_WITHOUT_FILTER": "alarm"} == ours


def test_only_the_worker_invokes_the_sandbox(template: Template) -> None:
    """By its name, which is the one that the worker is told."""
    (function,) = (
        name for name in of_type(template, "Lambda::Function") if name.startswith("RunSandbox")
    )
    holders = {
        name.split("ServiceRole")[0]: statement
        for name, statement in statements(template)
        for resource in listed(statement["Resource"])
        if isinstance(resource, dict) and "Fn::GetAtt" in resource and target(resource) == function
    }
    variables = by_name(template)["execute_step"]["Environment"]["Variables"]  # type: ignore[index]

    assert ["ExecuteStep"] == list(holders)
    assert {"Fn::GetAtt": [function, "Arn"]} == holders["ExecuteStep"]["Resource"]
    assert "lambda:InvokeFunction" == holders["ExecuteStep"]["Action"]
    assert {"Fn::GetAtt": [function, "Arn"]} == variables["ONWARD_SANDBOX_FUNCTION"]


def test_every_bound_leaves_room_for_the_one_inside(template: Template) -> None:
    """The code, the function around it and the call of the function end in this order."""
    properties = by_name(template)["run_sandbox"]

    assert MAX_TIMEOUT + START_SECONDS < properties["Timeout"] < FUNCTION_SECONDS  # type: ignore[operator]
    assert MAX_MEMORY + 256 <= properties["MemorySize"]  # type: ignore[operator]
