"""Submit through the route and look at what is stored."""

from __future__ import annotations

import json
from typing import Any

from onward.app.service import Service
from onward.aws import keys
from onward.aws.tenants import Holder
from onward.http.requests import Request
from onward.http.routes import post_run

from tests.store.conftest import RUNS

ADA = Holder("acme", "ada", frozenset({"submitter"}))
HELLO: dict[str, Any] = {"workflow": "speak", "input": {"text": "hi"}}


def submit(service: Service, body: Any, key: str | None = None, holder: Holder = ADA) -> str:
    headers = {} if key is None else {"idempotency-key": key}
    answer = post_run(service, holder, Request(headers, {}, json.dumps(body)))
    assert answer.status == 202
    assert answer.document is not None
    assert f"/runs/{answer.document['run_id']}" == answer.headers["Location"]
    return str(answer.document["run_id"])


def runs(client: Any) -> set[str]:
    """The ids of the runs that exist."""
    return {row["run_id"]["S"] for row in rows(client, keys.RUN) if row["sk"]["S"] == keys.RUN}


def rows(client: Any, prefix: str = "") -> list[dict[str, Any]]:
    found = client.scan(TableName=RUNS, ConsistentRead=True)["Items"]
    return [row for row in found if row["sk"]["S"].startswith(prefix)]
