"""Who may do what with keys and secrets; the emulator checks no permission, so the template is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.conftest import Template, of_type
from tests.infra.test_permissions import listed, statements

ASKING = {"Authorize", "WsConnect", "WsMessage", "PushEvents"}


def grants(template: Template) -> list[tuple[str, Any]]:
    """Statements about the table, by the function that holds them."""
    return [
        (name.split("ServiceRole")[0], statement)
        for name, statement in statements(template)
        if "StateAccess" in json.dumps(statement["Resource"])
    ]


def holders(template: Template, action: str, partition: str) -> set[str]:
    return {
        function
        for function, statement in grants(template)
        if f"dynamodb:{action}" in listed(statement["Action"])
        and partition in partitions(statement)
    }


def partitions(statement: Any) -> list[str]:
    leading = statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]
    return [str(each).split("#")[0] for each in listed(leading)]


def test_every_grant_names_the_partitions_that_it_is_for(template: Template) -> None:
    """Keys or secrets, never both at once."""
    found = grants(template)
    assert found
    for function, statement in found:
        assert 1 == len(partitions(statement)), function
        assert set(partitions(statement)) <= {"KEY", "SECRET"}, function


def test_no_role_can_mint_a_key(template: Template) -> None:
    """Nobody puts one; whoever updates one may touch nothing that makes a key."""
    for action in ("PutItem", "BatchWriteItem", "DeleteItem", "PartiQLInsert", "PartiQLUpdate"):
        assert set() == holders(template, action, "KEY"), action
    assert {"HttpApi"} == holders(template, "UpdateItem", "KEY")
    for _, statement in grants(template):
        if "dynamodb:UpdateItem" in listed(statement["Action"]) and "KEY" in partitions(statement):
            condition = statement["Condition"]
            assert {"pk", "sk", "revoked_at", "last_used_at"} == set(
                condition["ForAllValues:StringEquals"]["dynamodb:Attributes"]
            )


def test_keys_are_read_by_who_is_shown_them(template: Template) -> None:
    """One at a time; only the API lists a tenant's."""
    assert {"HttpApi"} | ASKING == holders(template, "GetItem", "KEY")
    assert {"HttpApi"} == holders(template, "Query", "KEY")
    assert set() == holders(template, "BatchGetItem", "KEY")


def test_secrets_are_put_by_one_and_read_by_another(template: Template) -> None:
    """Whoever could do both could sign in a receiver's name what was never sent."""
    assert {"Notify"} == holders(template, "GetItem", "SECRET")
    assert {"HttpApi"} == holders(template, "PutItem", "SECRET")
    assert {"HttpApi"} == holders(template, "UpdateItem", "SECRET")
    for action in ("Query", "DeleteItem", "ConditionCheckItem"):
        assert set() == holders(template, action, "SECRET"), action


@pytest.mark.parametrize("action", ["Scan", "BatchGetItem", "PartiQLSelect"])
def test_nobody_reads_the_table_past_its_partitions(template: Template, action: str) -> None:
    """A scan has no leading key to be held to."""
    for function, statement in grants(template):
        assert f"dynamodb:{action}" not in listed(statement["Action"]), function


def test_a_write_hands_nothing_back(template: Template) -> None:
    """What was in the row would be a reading of it."""
    for function, statement in grants(template):
        if {"dynamodb:PutItem", "dynamodb:UpdateItem"} & set(listed(statement["Action"])):
            expected = {"dynamodb:ReturnValues": "NONE"}
            assert expected == statement["Condition"]["StringEqualsIfExists"], function


def test_the_table_is_encrypted_and_can_be_brought_back(template: Template) -> None:
    """By a key of the account that CloudTrail writes the use of."""
    (table,) = (
        each["Properties"]
        for name, each in of_type(template, "DynamoDB::Table").items()
        if "StateAccess" in name
    )
    assert True is table["SSESpecification"]["SSEEnabled"]
    assert True is table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
    assert "expires_at" == table["TimeToLiveSpecification"]["AttributeName"]
