from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError
from onward.aws import clients

from tests import faults


@pytest.fixture
def fresh(aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is kept from other tests, and a pause between tries takes no time."""
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _seconds: None)
    clients.client.cache_clear()
    yield
    clients.client.cache_clear()


@pytest.mark.parametrize(
    ("service", "operation", "tries"),
    [("dynamodb", "ListTables", 3), ("lambda", "ListFunctions", 1)],
)
def test_a_call_is_tried_so_often_in_all(
    fresh: None, service: str, operation: str, tries: int
) -> None:
    """Three times; an invocation once, for a second one would be a second run of the function."""
    client: Any = clients.client(service)
    call = getattr(
        client, {"ListTables": "list_tables", "ListFunctions": "list_functions"}[operation]
    )
    with (
        faults.lost_reply(client, operation, faults.MANY) as fault,
        pytest.raises(ConnectionClosedError),
    ):
        call()
    assert tries == fault.fired
