from __future__ import annotations

import importlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from onward import compose_http
from onward.app.service import Service
from onward.aws import clients
from onward.observability import logger
from onward.settings import FUNCTION_FIELDS, settings, variable

from tests import faults
from tests.store.caller import Caller
from tests.store.conftest import ACCESS, BUCKET, CURSORS, IDEMPOTENCY, RUNS, Time, caller, issue

HELLO: dict[str, Any] = {"workflow": "speak", "input": {"text": "hi"}}
PROBLEM = "application/problem+json"


@pytest.fixture
def deployed(aws: None, service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    """The function as Lambda imports it, with its environment and nothing else."""
    values = {
        "runs_table": RUNS,
        "idempotency_table": IDEMPOTENCY,
        "artifacts_bucket": BUCKET,
        "execute_step_version": "arn:execute_step:7",
        "patrol_function": "patrol",
        "notify_queue_url": "notify",
        "notify_dead_url": "notify-dead",
        "allow_local_endpoints": "0",
        "cursors_table": CURSORS,
        "live_queue_url": "live",
        "socket_url": "wss://abc.execute-api.eu-central-1.amazonaws.com/live",
        "drills": "0",
        "access_table": ACCESS,
        "audit_days": "400",
        "notify_function": "notify",
        "webhook_ports": "443",
        "max_steps": "500",
        "max_children": "10000",
        "max_input_bytes": "50000000",
        "max_active_runs": "1000",
        "max_active_steps": "10000",
        "waiting_slots": "3",
    }
    assert FUNCTION_FIELDS["http_api"] == values.keys()
    for name, value in values.items():
        monkeypatch.setenv(variable(name), value)
    cached = (clients.client, settings, compose_http.api, compose_http.catalogue)
    for made in cached:
        made.cache_clear()
    yield Caller(importlib.import_module("http_api").handler, issue(service, "acme", "operator"))
    for made in cached:
        made.cache_clear()


def test_the_deployed_function_accepts_and_tells(deployed: Caller) -> None:
    """Real handler, real catalogue: accepted, pinned, shown, logged in events."""
    reply = deployed.post("/runs", {"workflow": "hello", "input": {"name": "you"}})
    assert reply.status == 202
    run_id = reply.body["run_id"]
    shown = deployed.get(f"/runs/{run_id}")
    assert reply.body == shown.body
    assert reply.headers["etag"] == shown.headers["etag"] == '"1.0"'
    page = deployed.get(f"/runs/{run_id}/events")
    assert [f"{run_id}/1"] == [event["id"] for event in page.body["events"]]
    run = compose_http.api()._service.reader.run(run_id)
    assert run is not None
    assert run.worker == "arn:execute_step:7"


def test_the_same_key_twice_through_the_deployed_function(deployed: Caller) -> None:
    """One run, the same Location."""
    replies = [
        deployed.post("/runs", {"workflow": "hello"}, {"Idempotency-Key": '"k"'}) for _ in range(2)
    ]
    assert [202, 202] == [reply.status for reply in replies]
    assert replies[0].headers["location"] == replies[1].headers["location"]


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the log says."""
    kept = io.StringIO()
    handler = logging.StreamHandler(kept)
    handler.setFormatter(logger().registered_formatter)
    logging.getLogger("onward").addHandler(handler)
    yield kept
    logging.getLogger("onward").removeHandler(handler)


def test_one_line_an_invocation_without_what_was_sent(
    deployed: Caller, written: io.StringIO
) -> None:
    """Route, status, tenant, run and time; no path, query string, key or payload."""
    secret = "sesame"
    body = {"workflow": "hello", "input": {"name": secret}}
    run_id = deployed.post("/runs", body, {"Idempotency-Key": secret}).body["run_id"]
    deployed.get(f"/runs/{run_id}", ticket=secret)
    deployed.get(f"/artifacts/{secret}")
    said = written.getvalue()
    first, second, third = [json.loads(line) for line in said.splitlines()]
    assert ("/runs", "POST", 202) == (first["route"], first["method"], first["status"])
    assert ("acme", run_id, "http_api") == (first["tenant"], first["run_id"], first["function"])
    assert (422, 404) == (second["status"], third["status"])  # no such parameter there
    assert "run_id" not in third
    assert secret not in said
    assert deployed.key is not None
    assert deployed.key not in said


def test_a_problem_says_what_when_and_where(acme: Caller) -> None:
    """RFC 9457 with our code, and every fault by its pointer."""
    reply = acme.post("/runs", {"workflow": "nope", "x": 1})
    assert (422, PROBLEM) == (reply.status, reply.headers["content-type"])
    detail = reply.body.pop("detail")
    assert detail.startswith("/x: unknown key 'x'; /workflow: there is no workflow 'nope'")
    assert {
        "type": "about:blank",
        "title": "Unprocessable Content",
        "status": 422,
        "code": "invalid_request",
        "retryable": False,
        "errors": [
            {"pointer": "/x", "message": "unknown key 'x'"},
            {
                "pointer": "/workflow",
                "message": "there is no workflow 'nope'; there are: speak",
            },
        ],
    } == reply.body


def test_an_invalid_plan_has_its_own_code(acme: Caller) -> None:
    """Also when something beside the plan is wrong."""
    reply = acme.post("/runs", {"plan": {"steps": []}, "labels": 1})
    assert (422, "invalid_plan") == (reply.status, reply.body["code"])
    assert ["/labels", "/plan/steps"] == [fault["pointer"] for fault in reply.body["errors"]]


@pytest.mark.parametrize("key", [None, "nonsense", "ow_acme_0123456789abcdef0123"])
def test_without_a_key_nothing_is_told(service: Service, key: str | None) -> None:
    """401 with the scheme to use, before the body is looked at."""
    for send in (
        lambda c: c.post("/runs", {}),
        lambda c: c.get("/runs/run_1"),
        lambda c: c.get("/artifacts/art_1"),
    ):
        reply = send(caller(service, key))
        assert (401, "unauthenticated") == (reply.status, reply.body["code"])
        assert reply.headers["www-authenticate"] == 'Bearer realm="onward"'


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/nothing"),
        ("GET", "/runs/"),
        ("GET", "/"),
        ("GET", "/runs/a/b"),
    ],
)
def test_there_is_no_such_route(acme: Caller, method: str, path: str) -> None:
    """A trailing slash is no route either."""
    reply = acme.send(method, path)
    assert (404, "route_not_found", PROBLEM) == (
        reply.status,
        reply.body["code"],
        reply.headers["content-type"],
    )


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/runs", "GET, POST"),
        ("HEAD", "/runs/run_1", "GET"),
        ("PUT", "/uploads", "POST"),
        ("OPTIONS", "/openapi.json", "GET"),
    ],
)
def test_a_path_has_other_methods(acme: Caller, method: str, path: str, allowed: str) -> None:
    """405 names them."""
    reply = acme.send(method, path)
    assert (405, "method_not_allowed") == (reply.status, reply.body["code"])
    assert allowed == reply.headers["allow"]


def test_a_problem_names_its_run(acme: Caller) -> None:
    """Unless there is none."""
    run_id = acme.post("/runs", HELLO).body["run_id"]
    reply = acme.get(f"/runs/{run_id}/events", after="x")
    assert (422, run_id) == (reply.status, reply.body["run_id"])
    assert "run_id" not in acme.get("/runs/run_1").body


def test_a_reconnect_names_the_last_event_it_saw(acme: Caller) -> None:
    """The header of a reconnect goes over the query of the first request; an event's id does."""
    run_id = acme.post("/runs", HELLO).body["run_id"]
    path = f"/runs/{run_id}/events"
    for last in ("1", f"{run_id}/1"):
        assert acme.get(path, {"Last-Event-ID": last}, after=0).body["events"] == []
    assert acme.get(path, {"Last-Event-ID": "run_other/1"}).status == 422


def test_a_held_request_ends_when_its_time_is_up(acme: Caller, time: Time) -> None:
    """Wait is seconds, also in part."""
    run_id = acme.post("/runs", HELLO).body["run_id"]
    before = time.now
    page = acme.get(f"/runs/{run_id}/events", after=1, wait=2.5)
    assert (200, [], 2.5) == (page.status, page.body["events"], time.now - before)


def test_the_snapshot_is_sent_once(acme: Caller) -> None:
    """304 without a body for who has it."""
    made = acme.post("/runs", HELLO)
    path, etag = made.headers["location"], made.headers["etag"]
    reply = acme.get(path, {"If-None-Match": etag})
    assert (304, None, etag) == (reply.status, reply.body, reply.headers["etag"])
    assert "content-type" not in reply.headers


def test_a_throttled_table_is_503(acme: Caller, dynamodb: Any) -> None:
    """The caller is told to try again."""
    path = acme.post("/runs", HELLO).headers["location"]
    with faults.throttled(dynamodb, "GetItem"):
        reply = acme.get(path)
    assert (503, "unavailable", True) == (
        reply.status,
        reply.body["code"],
        reply.body["retryable"],
    )
    assert reply.headers["retry-after"] == "1"
    with faults.lost_reply(dynamodb, "GetItem"):
        assert acme.get(path).status == 503


def test_a_defect_is_500_and_tells_nothing(
    acme: Caller, dynamodb: Any, written: io.StringIO
) -> None:
    """No trace goes out, one goes to the log, and the request's id joins them."""
    path = acme.post("/runs", HELLO).headers["location"]
    with faults.refused(dynamodb, "Query", "AccessDeniedException"):
        reply = acme.get(path)
    assert (500, "internal_error", False) == (
        reply.status,
        reply.body["code"],
        reply.body["retryable"],
    )
    assert "request-1" in reply.body["detail"]
    assert "AccessDenied" not in json.dumps(reply.body)
    _, trace, line = [json.loads(line) for line in written.getvalue().splitlines()]
    assert ("ERROR", "INFO", 500) == (trace["level"], line["level"], line["status"])
    assert "AccessDenied" in trace["exception"]
