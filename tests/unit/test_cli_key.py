"""`onward key` writes to the table itself; here that is moto's."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from moto import mock_aws
from onward.app.keys import Doorkeeper
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
