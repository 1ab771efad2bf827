"""The calls about webhooks: subscriptions, and what became of deliveries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onward.app.access.keys import OPERATING, authorise
from onward.app.delivering import endpoints
from onward.app.delivering.redrive import dead_deliveries, deliveries_of, redrive
from onward.app.operating.audit import audited
from onward.app.reading.read_run import find_run
from onward.http.bodies import EndpointWish
from onward.http.checks import checked_with
from onward.http.problems import Answer
from onward.http.queries import DeliveriesQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.delivering.endpoints import Registrar
    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.http.requests import Request

_SECRET: Final = {"Cache-Control": "no-store"}


def put_endpoint(service: Service, holder: Holder, request: Request, endpoint_id: str) -> Answer:
    """Subscribe (201, with the secret, this once) or change a subscription (200)."""
    authorise(holder, OPERATING)
    body = request.body()
    registrar = _telling(service, holder, "endpoint.put", endpoint_id)
    _, asked = checked_with(
        EndpointWish,
        body,
        lambda raw: endpoints.asked_for(registrar, holder.tenant, endpoint_id, raw),
    )
    found, new = endpoints.put_endpoint(registrar, asked)
    return Answer(201, found, _SECRET) if new else Answer(200, found, _SECRET)


def rotate_endpoint(service: Service, holder: Holder, request: Request, endpoint_id: str) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer a new secret, this once; the one before it stays valid for a day."""
    authorise(holder, OPERATING)
    registrar = _telling(service, holder, "endpoint.rotate", endpoint_id)
    rotated = endpoints.rotate_secret(registrar, holder.tenant, endpoint_id)
    return Answer(200, rotated, _SECRET)


def get_endpoint(service: Service, holder: Holder, request: Request, endpoint_id: str) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer a subscription."""
    authorise(holder, OPERATING)
    found = endpoints.find(service.registrar, holder.tenant, endpoint_id)
    return Answer(200, endpoints.view(found))


def get_endpoints(service: Service, holder: Holder, request: Request) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer all of the tenant's subscriptions."""
    authorise(holder, OPERATING)
    found = service.downstream.endpoints.of(holder.tenant)
    return Answer(200, {"endpoints": [endpoints.view(endpoint) for endpoint in found]})


def delete_endpoint(service: Service, holder: Holder, request: Request, endpoint_id: str) -> Answer:  # noqa: ARG001 - routes are called alike
    """End a subscription."""
    authorise(holder, OPERATING)
    registrar = _telling(service, holder, "endpoint.delete", endpoint_id)
    endpoints.delete_endpoint(registrar, holder.tenant, endpoint_id)
    return Answer(204)


def get_deliveries(service: Service, holder: Holder, request: Request) -> Answer:
    """Answer the deliveries of one run, or those that are dead."""
    authorise(holder, OPERATING)
    query = request.asked(DeliveriesQuery)
    state, run_id = query.state, query.run_id
    if run_id is None:
        rows = dead_deliveries(service.downstream, service.reader, holder.tenant)
    else:
        rows = deliveries_of(service.downstream, find_run(service, holder.tenant, run_id))
    return Answer(200, {"deliveries": [row for row in rows if state in {None, row["state"]}]})


def post_redrive(service: Service, holder: Holder, request: Request) -> Answer:
    """Try every dead delivery again."""
    authorise(holder, OPERATING)
    comment = request.remark()
    service.audit.note(audited(service, holder, "deliveries.redrive", comment=comment))
    return Answer(202, {"redriven": redrive(service.downstream, holder.tenant)})


def _telling(service: Service, holder: Holder, action: str, endpoint_id: str) -> Registrar:
    """Return what keeps subscriptions, with an entry of the audit log in the same transaction."""
    write = service.audit.write(audited(service, holder, action, endpoint_id))
    registrar = service.registrar
    return replace(registrar, endpoints=registrar.endpoints.beside(write))


DELIVERY_ROUTES: Final[tuple[tuple[str, str, Callable[..., Answer]], ...]] = (
    ("PUT", "/endpoints/<endpoint_id>", put_endpoint),
    ("GET", "/endpoints/<endpoint_id>", get_endpoint),
    ("DELETE", "/endpoints/<endpoint_id>", delete_endpoint),
    ("GET", "/endpoints", get_endpoints),
    ("POST", "/endpoints/<endpoint_id>/rotate", rotate_endpoint),
    ("GET", "/deliveries", get_deliveries),
    ("POST", "/deliveries/redrive", post_redrive),
)
