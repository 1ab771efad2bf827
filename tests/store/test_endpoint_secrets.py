"""Where the signing keys of webhooks are, who reads them, and those of an earlier release."""

from __future__ import annotations

import json
from typing import Any

import pytest
from onward.app.delivering.endpoints import BOTH_VALID_SECONDS
from onward.app.service import Service
from onward.domain.delivery import Secret

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import ACCESS, RUNS, Time, caller, issue

HOOK = json.dumps({"url": "http://127.0.0.1:9/hook"}).encode()
OLD, OLDER = ("whsec_" + letter * 32 for letter in "ab")


@pytest.fixture
def operator(service: Service) -> Caller:
    return caller(service, issue(service, "acme", "operator"))


def put(operator: Caller) -> str:
    made = operator.send("PUT", "/endpoints/billing", HOOK)
    assert 201 == made.status
    return str(made.body["secret"])


def rotate(operator: Caller) -> str:
    rotated = operator.post("/endpoints/billing/rotate", {})
    assert 200 == rotated.status
    return str(rotated.body["secret"])


def signing(service: Service) -> list[Secret]:
    found = service.downstream.endpoints.signed("acme", "billing")
    assert found is not None
    return list(found.secrets)


@pytest.fixture
def legacy(operator: Caller, dynamodb: Any, time: Time) -> list[Secret]:
    """An endpoint as an earlier release left it: its keys are in its row."""
    put(operator)
    held = [Secret(OLD), Secret(OLDER, time.now + 60)]
    dynamodb.delete_item(TableName=ACCESS, Key={"pk": {"S": "SECRET#acme"}, "sk": {"S": "billing"}})
    dynamodb.update_item(
        TableName=RUNS,
        Key={"pk": {"S": "TENANT#acme"}, "sk": {"S": "ENDPOINT#billing"}},
        UpdateExpression="SET secrets = :s",
        ExpressionAttributeValues={
            ":s": {"S": json.dumps([[OLD, None], [OLDER, time.now + 60]], separators=(",", ":"))}
        },
    )
    return held


def test_no_row_of_runs_holds_a_secret(operator: Caller, dynamodb: Any) -> None:
    """Whoever reads runs cannot sign: nine functions do."""
    secrets = [put(operator), rotate(operator), rotate(operator)]
    everything = str(dynamodb.scan(TableName=RUNS)["Items"])
    assert not any(secret in everything for secret in secrets)
    held = str(dynamodb.scan(TableName=ACCESS)["Items"])
    assert [False, True, True] == [secret in held for secret in secrets]


def test_who_registers_endpoints_reads_no_secret(operator: Caller, dynamodb: Any) -> None:
    """Nor is it handed one back by what it writes; the API's role may not either."""
    reads, writes = faults.calls(dynamodb, "GetItem"), faults.calls(dynamodb, "TransactWriteItems")
    put(operator)
    rotate(operator)
    operator.send("PUT", "/endpoints/billing", HOOK)
    operator.get("/endpoints")
    assert 204 == operator.send("DELETE", "/endpoints/billing").status

    asked = [call for call in reads if call["TableName"] == ACCESS]
    assert all(call["Key"]["pk"]["S"] == "KEY#acme" for call in asked)
    assert asked
    assert "ReturnValues" not in str(writes)


def test_a_deleted_endpoint_leaves_no_secret(operator: Caller, dynamodb: Any) -> None:
    """And one of its name that is made anew has only its own."""
    first = put(operator)
    operator.send("DELETE", "/endpoints/billing")
    assert first not in str(dynamodb.scan(TableName=ACCESS)["Items"])
    second = put(operator)
    assert second != first
    assert 404 != operator.get("/endpoints/billing").status


def test_keys_of_an_earlier_release_go_on_signing(service: Service, legacy: list[Secret]) -> None:
    """Until somebody rotates them."""
    assert legacy == signing(service)


def test_a_rotation_moves_them(
    operator: Caller, service: Service, legacy: list[Secret], dynamodb: Any, time: Time
) -> None:
    """The current one signs for another day, and is in its old place no more."""
    new = rotate(operator)
    assert [Secret(new), Secret(OLD, time.now + BOTH_VALID_SECONDS)] == signing(service)
    assert OLD not in str(dynamodb.scan(TableName=RUNS)["Items"])
    newer = rotate(operator)
    assert [newer, new] == [secret.text for secret in signing(service)]


def test_two_rotations_at_once_leave_both_keys_good(
    operator: Caller, service: Service, legacy: list[Secret], dynamodb: Any
) -> None:
    """Of keys that have to be moved, too: the second finds them moved, and rotates those."""
    made: list[str] = []
    with faults.meanwhile(dynamodb, "TransactWriteItems", lambda: made.append(rotate(operator))):
        made.append(rotate(operator))
    assert made[::-1] == [secret.text for secret in signing(service)]


@pytest.mark.parametrize("reasons", [["TransactionConflict"], ["None", "ThrottlingError"]])
def test_an_endpoint_that_is_being_delivered_to_can_be_changed(
    operator: Caller, service: Service, dynamodb: Any, reasons: list[str]
) -> None:
    """A sender writes the same row."""
    put(operator)
    with faults.cancelled(dynamodb, reasons, times=2):
        new = rotate(operator)
    assert new == signing(service)[0].text


def test_what_operators_do_to_endpoints_is_in_the_audit_log(
    operator: Caller, dynamodb: Any
) -> None:
    """In the transaction that does it."""
    put(operator)
    rotate(operator)
    operator.send("PUT", "/endpoints/billing", HOOK)
    with faults.refused(dynamodb, "TransactWriteItems", "ValidationException"):
        assert 500 == operator.send("DELETE", "/endpoints/billing").status
    assert 200 == operator.get("/endpoints/billing").status
    operator.send("DELETE", "/endpoints/billing")

    entries = operator.get("/audit").body["entries"]
    assert {"billing"} == {entry["target"] for entry in entries}
    assert ["endpoint.delete", "endpoint.put", "endpoint.put", "endpoint.rotate"] == sorted(
        entry["action"] for entry in entries
    )
