from __future__ import annotations

import dataclasses
import socket
from base64 import b64decode
from typing import Any

import pytest
from onward.app.delivering.endpoints import BOTH_VALID_SECONDS, MAX_ENDPOINTS
from onward.app.service import Service
from onward.domain.events import TYPES

from infra.local.subscriber import subscribed
from tests.store.caller import Caller
from tests.store.conftest import Time, caller, issue, new_downstream

HOOK: dict[str, Any] = {"url": "http://127.0.0.1:9/hook"}


@pytest.fixture
def operator(service: Service) -> Caller:
    return caller(service, issue(service, "acme", "operator"))


@pytest.fixture
def strict(service: Service, dynamodb: Any, time: Time) -> Caller:
    """An operator of a stack that does not allow local addresses."""
    downstream = new_downstream(dynamodb, time, local=False)
    cloud = dataclasses.replace(service, downstream=downstream)
    return caller(cloud, issue(service, "acme", "operator"))


def put(who: Caller, name: str, body: Any) -> Any:
    import json

    return who.send("PUT", f"/endpoints/{name}", json.dumps(body).encode())


def test_the_secret_is_shown_once(operator: Caller) -> None:
    """With the endpoint that it belongs to, and never again; it has 32 bytes of entropy."""
    made = put(operator, "billing", HOOK | {"event_types": ["run.*", "step.failed"]})

    assert 201 == made.status
    assert 32 == len(b64decode(made.body["secret"].removeprefix("whsec_")))
    assert "no-store" == made.headers["cache-control"]
    again = put(operator, "billing", HOOK)
    shown = [again, operator.get("/endpoints/billing"), operator.get("/endpoints")]
    assert [200, 200, 200] == [reply.status for reply in shown]
    assert not any("secret" in str(reply.body) for reply in shown)
    assert ["run.*"] == again.body["event_types"]


def test_a_rotated_secret_is_new_and_the_old_one_ends(
    operator: Caller, service: Service, time: Time
) -> None:
    """Two are valid at most, however often it is rotated."""
    first = put(operator, "billing", HOOK).body["secret"]
    second, third = (
        operator.post("/endpoints/billing/rotate", {}).body["secret"] for _ in range(2)
    )
    endpoint = service.downstream.endpoints.signed("acme", "billing")
    assert endpoint is not None
    assert [third, second] == endpoint.valid_secrets(time.now)
    assert [third] == endpoint.valid_secrets(time.now + BOTH_VALID_SECONDS)
    assert first not in {secret.text for secret in endpoint.secrets}


def test_what_is_deleted_is_gone_and_may_be_made_anew(operator: Caller) -> None:
    """With another secret: the old one may be in anybody's hands."""
    secret = put(operator, "billing", HOOK).body["secret"]
    assert 204 == operator.send("DELETE", "/endpoints/billing").status
    assert 404 == operator.get("/endpoints/billing").status
    assert {"endpoints": []} == operator.get("/endpoints").body
    again = put(operator, "billing", HOOK)
    assert 201 == again.status
    assert secret != again.body["secret"]


def test_another_tenants_endpoint_is_not_there(operator: Caller, service: Service) -> None:
    """404, as for one that never was."""
    put(operator, "billing", HOOK)
    other = caller(service, issue(service, "umbra", "operator"))
    assert 404 == other.get("/endpoints/billing").status
    assert 404 == other.send("DELETE", "/endpoints/billing").status
    assert 404 == other.post("/endpoints/billing/rotate", {}).status


def test_endpoints_are_for_operators(acme: Caller) -> None:
    """A submitter's key neither reads nor writes them, and redrives nothing."""
    replies = [
        put(acme, "billing", HOOK),
        acme.get("/endpoints"),
        acme.get("/deliveries", state="dead"),
        acme.post("/deliveries/redrive", {}),
    ]
    assert [403] * 4 == [reply.status for reply in replies]


def test_a_tenant_has_so_many_endpoints_and_no_more(operator: Caller) -> None:
    """Each is a message for every event."""
    made = [put(operator, f"e{n}", HOOK).status for n in range(MAX_ENDPOINTS + 1)]
    assert [201] * MAX_ENDPOINTS + [409] == made


def test_every_fault_is_named(operator: Caller) -> None:
    """By its pointer, all of them at once."""
    body = {"url": 7, "event_types": ["run.*", "Run.X"], "status_url": "gopher://x", "more": 1}
    refused = put(operator, "billing", body)
    assert 422 == refused.status
    pointers = sorted(fault["pointer"] for fault in refused.body["errors"])
    assert pointers == ["/event_types/1", "/more", "/status_url", "/url"]


@pytest.mark.parametrize("wish", ["step.faild", "run.succeeded_", "run.q_*", "effect.done"])
def test_a_filter_that_nothing_passes_is_refused_by_name(operator: Caller, wish: str) -> None:
    """A subscription that can never hear anything is a slip of the pen."""
    refused = put(operator, "billing", HOOK | {"event_types": ["*", wish]})

    assert 422 == refused.status
    assert [{"pointer": "/event_types/1", "message": f"there are no events of type {wish}"}] == [
        {k: fault[k] for k in ("pointer", "message")} for fault in refused.body["errors"]
    ]


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_every_type_can_be_subscribed_to(operator: Caller, kind: str) -> None:
    """By its whole name, whatever it is about."""
    assert 201 == put(operator, "billing", HOOK | {"event_types": [kind]}).status


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00:ec2::254]/latest",
        "https://[::ffff:169.254.169.254]/",
        "https://10.1.2.3/hook",
        "https://192.168.0.1/hook",
        "https://100.64.0.1/hook",
        "https://127.0.0.1/hook",
        "https://[::1]/hook",
        "https://0.0.0.0/hook",
        "https://inside.example/hook",
        "https://half.example/hook",
        "https://nowhere.example/hook",
        "https://user:word@public.example/hook",
        "http://public.example/hook",
        "https://93.184.216.34:22/hook",
        "https://93.184.216.34:6379/",
        "ftp://public.example/hook",
    ],
)
def test_what_is_not_public_is_refused(
    strict: Caller, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its address, whatever its name, whatever notation; nothing is connected to."""
    names = {"inside.example": ["10.0.0.7"], "half.example": ["93.184.216.34", "10.0.0.7"]}
    real = socket.getaddrinfo

    def lookup(host: str, port: int, **how: Any) -> list[Any]:
        if not host.endswith(".example"):
            return real(host, port, **how)
        if host not in names:
            raise socket.gaierror(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in names[host]]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr(socket.socket, "connect", _never)

    refused = put(strict, "billing", {"url": url})

    assert (422, ["/url"]) == (refused.status, [f["pointer"] for f in refused.body["errors"]])


def _never(*_: object) -> None:
    raise AssertionError("a refused address was connected to")


def test_an_address_that_redirects_is_refused(operator: Caller) -> None:
    """It is asked once, as CloudEvents asks whether webhooks are welcome."""
    with subscribed() as hook:
        refused = put(operator, "billing", {"url": f"{hook.url}/moved"})
        assert (422, 1) == (refused.status, hook.greetings)
        assert "redirects are not followed" in refused.body["detail"]
        assert 201 == put(operator, "billing", {"url": hook.url}).status


def test_the_metadata_service_is_refused_also_where_local_addresses_are_allowed(
    operator: Caller,
) -> None:
    """Nobody's webhook lives there."""
    assert 422 == put(operator, "billing", {"url": "http://169.254.169.254/"}).status
