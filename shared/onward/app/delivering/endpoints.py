"""Webhook subscriptions: who hears of a tenant's runs, and by which secret they know it is us."""

from __future__ import annotations

import re
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from onward.app.delivering.post_event import ORIGIN
from onward.app.delivering.redrive import discard, redrive
from onward.aws.codec import iso
from onward.domain.delivery import Endpoint, Secret
from onward.domain.errors import EndpointNotFound, Fault, InvalidRequest, TooManyEndpoints
from onward.domain.events import TYPES, matches
from onward.domain.pointer import pointer
from onward.outside.addresses import AddressRefused, NameUnknown, loopback, parse, resolve
from onward.outside.request import NoAnswer, Refused, request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.app.delivering.downstream import Downstream
    from onward.aws.endpoints import Endpoints
    from onward.documents.operating import EndpointView
    from onward.domain.model import Json
    from onward.outside.addresses import Addresses

MAX_ENDPOINTS: Final = 20
"""Of one tenant; each is a message for each event that it hears."""

EVENT_FILTER: Final = r"\*|(run|step|effect)\.(\*|[a-z_]{1,40}\*?)"
MAX_FILTERS: Final = 30

SECRET_BYTES: Final = 32
"""Standard Webhooks: 24 to 64."""

BOTH_VALID_SECONDS: Final = 86_400
"""How long a secret goes on signing after it was rotated out."""

_HELLO_SECONDS: Final = 2.0
_REDIRECTS: Final = range(300, 400)
_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_FILTER: Final = re.compile(r"\*|(run|step|effect)\.(\*|[a-z_]{1,40}\*?)")
_MAX_FILTERS: Final = 30
_MEMBERS: Final = frozenset({"url", "event_types", "status_url"})
_DEFAULT: Final = ("run.*",)


@dataclass(frozen=True, slots=True)
class Registrar:
    """What keeping subscriptions takes; `downstream` says where they may be, and wakes them."""

    endpoints: Endpoints
    downstream: Downstream
    clock: Callable[[], float]
    entropy: Callable[[int], bytes]


def put_endpoint(registrar: Registrar, asked: Endpoint) -> tuple[EndpointView, bool]:
    """Subscribe, or change a subscription; return it, and whether it is new.

    A new one comes with its secret, which nobody can read again. An address that is not known yet
    is pending until it agrees to get webhooks; then it hears of what happened since. One that was
    disabled is enabled, and goes on from where it was. Raises TooManyEndpoints.
    """
    tenant, endpoint_id = asked.tenant, asked.endpoint_id
    known = registrar.endpoints.get(tenant, endpoint_id)
    if known is None:
        if len(registrar.endpoints.of(tenant)) >= MAX_ENDPOINTS:
            raise TooManyEndpoints(f"a tenant has at most {MAX_ENDPOINTS} endpoints")
        secret = new_secret(registrar)
        made = replace(asked, secrets=(Secret(secret),))
        if registrar.endpoints.create(made):
            _have_it_asked(registrar, made)
            return {**view(made), "secret": secret}, True
    elif known.url == asked.url and not known.pending:
        asked = replace(asked, pending_since=None)  # it has agreed
    if not registrar.endpoints.describe(asked):
        raise EndpointNotFound(f"endpoint {endpoint_id} was deleted meanwhile")
    _have_it_asked(registrar, asked)
    if known is not None and not known.active:
        redrive(registrar.downstream, tenant, endpoint_id)
    return view(find(registrar, tenant, endpoint_id)), False


def _have_it_asked(registrar: Registrar, endpoint: Endpoint) -> None:
    """Let an address be asked soon; the patrol does it where this fails."""
    if endpoint.pending:
        with suppress(Exception):
            registrar.downstream.bell.prove(endpoint)


def rotate_secret(registrar: Registrar, tenant: str, endpoint_id: str) -> EndpointView:
    """Give an endpoint a new secret; for a day both sign. The one before the last is dropped."""
    secret = new_secret(registrar)
    while True:
        known = find(registrar, tenant, endpoint_id)
        until = registrar.clock() + BOTH_VALID_SECONDS
        if registrar.endpoints.rotate(known, secret, until):
            return {**view(known), "secret": secret, "previous_valid_until": iso(until)}


def delete_endpoint(registrar: Registrar, tenant: str, endpoint_id: str) -> None:
    """End a subscription; what was not delivered yet is not delivered any more, nor dead."""
    registrar.endpoints.delete(find(registrar, tenant, endpoint_id), registrar.clock())
    discard(registrar.downstream, tenant, endpoint_id)


def find(registrar: Registrar, tenant: str, endpoint_id: str) -> Endpoint:
    """Return an endpoint; raises EndpointNotFound."""
    found = registrar.endpoints.get(tenant, endpoint_id) if _ID.fullmatch(endpoint_id) else None
    if found is None:
        raise EndpointNotFound(f"there is no endpoint {endpoint_id}")
    return found


def view(endpoint: Endpoint) -> EndpointView:
    """Return an endpoint as its owner sees it: without secrets."""
    disabled = endpoint.disabled_at
    return {
        "id": endpoint.endpoint_id,
        "url": endpoint.url,
        "event_types": list(endpoint.event_types),
        "status_url": endpoint.status_url,
        "created_at": iso(endpoint.created_at),
        "status": endpoint.status,
        "enabled": endpoint.reachable,
        "pending_because": endpoint.pending_because,
        "disabled_at": None if disabled is None else iso(disabled),
        "disabled_because": endpoint.disabled_because,
        "timeouts_in_a_row": endpoint.timeouts,
    }


def new_secret(registrar: Registrar) -> str:
    """Return a fresh signing key in the form of Standard Webhooks."""
    return "whsec_" + b64encode(registrar.entropy(SECRET_BYTES)).decode()


def asked_for(
    registrar: Registrar, tenant: str, endpoint_id: str, wish: Mapping[str, Json]
) -> Endpoint:
    """Return an endpoint as it is wished for, once its addresses were looked at.

    Raises InvalidRequest naming every fault of the id and the addresses; what is no text at all is
    left to who reads the wish.
    """
    faults = []
    if not _ID.fullmatch(endpoint_id):
        faults.append(Fault("", f"an endpoint's id matches {_ID.pattern}"))
    found = {
        member: _address(member, url, registrar, faults)
        for member in ("url", "status_url")
        if isinstance(url := wish.get(member), str)
    }
    filters = wish.get("event_types")
    for index, each in enumerate(filters if isinstance(filters, list) else ()):
        malformed = not isinstance(each, str) or not re.fullmatch(EVENT_FILTER, each)
        if not malformed and not any(matches(str(each), known_type) for known_type in TYPES):
            where = pointer("event_types", str(index))
            faults.append(Fault(where, f"there are no events of type {each}"))
    if faults:
        raise InvalidRequest("; ".join(f"{f.pointer}: {f.message}" for f in faults), tuple(faults))
    # Nobody else is behind an address of this machine.
    addresses = found.get("url")
    agrees = registrar.downstream.local and addresses is not None and loopback(addresses)
    now, event_types = registrar.clock(), wish.get("event_types")
    return Endpoint(
        endpoint_id=endpoint_id,
        tenant=tenant,
        url=str(wish.get("url")),
        event_types=tuple(map(str, event_types if isinstance(event_types, list) else _DEFAULT)),
        created_at=now,
        status_url=None if wish.get("status_url") is None else str(wish["status_url"]),
        pending_since=None if agrees else now,
    )


def _address(member: str, url: str, registrar: Registrar, faults: list[Fault]) -> Addresses | None:
    """Return the addresses of a URL; name why nothing may be sent there: form, port, redirect.

    All of it is looked at again whenever something is sent: a name may change its mind.
    """
    downstream = registrar.downstream
    try:
        target = parse(url, local=downstream.local)
        found = resolve(target, local=downstream.local, ports=downstream.ports)
        status = _greeted(downstream, url)
    except (AddressRefused, NameUnknown, Refused) as error:
        faults.append(Fault(pointer(member), str(error)))
        return None
    if status in _REDIRECTS:
        text = f"it answers {status}: redirects are not followed"
        faults.append(Fault(pointer(member), text))
    return found


def _greeted(downstream: Downstream, url: str) -> int | None:
    """Ask whether it redirects; silence and refusals do not.

    An endpoint that is not up yet, or does not know the question, may be subscribed.
    """
    headers = {"WebHook-Request-Origin": ORIGIN, "User-Agent": "onward"}
    try:
        return request(
            "OPTIONS",
            url,
            headers,
            seconds=_HELLO_SECONDS,
            local=downstream.local,
            ports=downstream.ports,
        ).status
    except Refused:
        raise
    except NoAnswer:
        return None
