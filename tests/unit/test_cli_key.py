"""`onward key` writes to the table itself; here that is moto's."""

from __future__ import annotations

import json
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws
from onward.app.access.keys import Doorkeeper
from onward.aws.api_keys import ApiKeys
from onward.aws.clients import client
from onward.aws.codec import iso
from onward.cli import app
from onward.domain.errors import Unauthenticated
from typer.testing import CliRunner, Result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLE = "access"
SHAPE: dict[str, Any] = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
    ],
}


@pytest.fixture
def dynamodb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    client.cache_clear()
    with mock_aws():
        dynamodb = boto3.client("dynamodb")
        dynamodb.create_table(TableName=TABLE, **SHAPE)
        yield dynamodb
    client.cache_clear()


def key(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["key", *arguments])


def test_the_printed_key_opens_the_door(dynamodb: Any) -> None:
    """What is printed is what the API accepts, for that tenant and those roles; nothing else is."""
    done = key("--table", TABLE, "--tenant", "acme", "--role", "operator", "--role", "approver:it")
    door = Doorkeeper(ApiKeys(dynamodb, TABLE), lambda: 0.0)

    assert done.exit_code == 0
    text = done.stdout.strip()
    holder = door.authenticate(f"Bearer {text}")
    assert ("acme", {"operator", "approver:it"}) == (holder.tenant, holder.roles)
    with pytest.raises(Unauthenticated):
        door.authenticate(f"Bearer {text}x")


def test_as_json_it_says_what_the_key_is_for(dynamodb: Any) -> None:
    """One line; without --role it may submit."""
    done = key("--table", TABLE, "--tenant", "acme", "--subject", "ci", "--json")

    (line,) = done.stdout.splitlines()
    issued = json.loads(line)
    assert issued.pop("api_key").startswith("ow_acme_")
    (row,) = dynamodb.scan(TableName=TABLE)["Items"]
    assert issued.pop("id") == row["sk"]["S"]
    assert issued == {"tenant": "acme", "subject": "ci", "roles": ["submitter"], "expires_at": None}


def test_a_key_may_end(dynamodb: Any) -> None:
    """In minutes, hours or days; its row says when, and leaves a month later."""
    before = time.time()
    done = key("--table", TABLE, "--tenant", "acme", "--expires", "30d", "--json")

    issued = json.loads(done.stdout)
    (row,) = dynamodb.scan(TableName=TABLE)["Items"]
    until = float(row["valid_until"]["N"])
    assert before + 30 * 86_400 <= until <= time.time() + 30 * 86_400
    assert issued["expires_at"] == iso(until)
    assert int(row["expires_at"]["N"]) == int(until) + 30 * 86_400


@pytest.mark.parametrize("span", ["", "0d", "30", "-1d", "d", "99999d", "1y", "1 d"])
def test_a_span_that_is_none_is_wrong_use(dynamodb: Any, span: str) -> None:
    """Exit code 2, and no key that never ends instead."""
    done = key("--table", TABLE, "--tenant", "acme", "--expires", span)

    assert done.exit_code == 2
    assert "30d" in done.stderr
    assert dynamodb.scan(TableName=TABLE)["Count"] == 0


@pytest.mark.parametrize("wrong", [("Acme", "submitter"), ("acme", "king")])
def test_a_tenant_or_role_that_no_key_carries_is_wrong_use(
    dynamodb: Any, wrong: tuple[str, str]
) -> None:
    """Exit code 2, and nothing is stored."""
    tenant, role = wrong

    done = key("--table", TABLE, "--tenant", tenant, "--role", role)

    assert done.exit_code == 2
    assert dynamodb.scan(TableName=TABLE)["Count"] == 0


OLD_KEY = "ow_acme_" + "o" * 32


@pytest.fixture
def runs(dynamodb: Any) -> str:
    """The table `runs` as an earlier release left it, with a key of each of two tenants."""
    dynamodb.create_table(TableName="runs", **SHAPE)
    for tenant in ("acme", "umbra"):
        digest = sha256(OLD_KEY.replace("acme", tenant).encode()).hexdigest()
        row = {
            "pk": {"S": f"TENANT#{tenant}"},
            "sk": {"S": f"KEY#{digest}"},
            "tenant": {"S": tenant},
            "subject": {"S": "ci"},
            "roles": {"L": [{"S": "operator"}, {"S": "submitter"}]},
            "schema": {"N": "1"},
        }
        dynamodb.put_item(TableName="runs", Item=row)
    return "runs"


def test_keys_of_an_earlier_release_open_once_they_are_adopted(dynamodb: Any, runs: str) -> None:
    """One tenant's, by its operator; adopted twice, one that was revoked stays so."""
    keys = ApiKeys(dynamodb, TABLE)
    door = Doorkeeper(keys, lambda: 0.0, lambda _: None)
    with pytest.raises(Unauthenticated):
        door.authenticate(f"Bearer {OLD_KEY}")
    adopting = ["keys", "adopt", "acme", "--runs-table", runs, "--table", TABLE]

    done = CliRunner().invoke(app, adopting)

    assert done.exit_code == 0
    holder = door.authenticate(f"Bearer {OLD_KEY}")
    assert done.stdout.split() == [holder.key_id]
    assert ("acme", "ci", {"operator", "submitter"}) == (
        holder.tenant,
        holder.subject,
        holder.roles,
    )
    (key,) = keys.of("acme")
    assert keys.revoke(key, 1.0, [])
    again = CliRunner().invoke(app, adopting)
    assert "none are left" in again.stdout
    for tenant in ("acme", "umbra"):
        with pytest.raises(Unauthenticated):
            door.authenticate("Bearer " + OLD_KEY.replace("acme", tenant))


def test_a_table_that_cannot_be_written_is_not_reachable(dynamodb: Any) -> None:
    """AWS's own reason is passed on, as exit code 3."""
    done = key("--table", "elsewhere", "--tenant", "acme")

    assert done.exit_code == 3
    assert "the key could not be stored" in done.stderr


def test_without_a_stack_there_is_no_table(tmp_path: Path) -> None:
    """A state directory that nothing serves is exit code 3 and says how to change that."""
    done = key("--state", str(tmp_path), "--tenant", "acme")

    assert done.exit_code == 3
    assert "onward up" in done.stderr
