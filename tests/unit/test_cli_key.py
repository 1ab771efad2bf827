"""`onward key` writes to the table itself; here that is moto's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws
from onward.app.keys import Doorkeeper
from onward.aws.clients import client
from onward.aws.tenants import Tenants
from onward.cli import app
from onward.domain.errors import Unauthenticated
from typer.testing import CliRunner, Result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLE = "runs"


@pytest.fixture
def dynamodb(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    client.cache_clear()
    with mock_aws():
        dynamodb = boto3.client("dynamodb")
        dynamodb.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
        )
        yield dynamodb
    client.cache_clear()


def key(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["key", *arguments])


def test_the_printed_key_opens_the_door(dynamodb: Any) -> None:
    """What is printed is what the API accepts, for that tenant and those roles; nothing else is."""
    done = key("--table", TABLE, "--tenant", "acme", "--role", "operator", "--role", "approver:it")
    door = Doorkeeper(Tenants(dynamodb, TABLE), lambda: 0.0)

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
    assert issued == {"tenant": "acme", "subject": "ci", "roles": ["submitter"]}


@pytest.mark.parametrize("wrong", [("Acme", "submitter"), ("acme", "king")])
def test_a_tenant_or_role_that_no_key_carries_is_wrong_use(
    dynamodb: Any, wrong: tuple[str, str]
) -> None:
    """Exit code 2, and nothing is stored."""
    tenant, role = wrong

    done = key("--table", TABLE, "--tenant", tenant, "--role", role)

    assert done.exit_code == 2
    assert dynamodb.scan(TableName=TABLE)["Count"] == 0


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
