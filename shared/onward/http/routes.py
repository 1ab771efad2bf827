"""The calls of the API: read the request, one use case, map the answer."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from onward.app.access.keys import OPERATING, SUBMITTING, authorise
from onward.app.live.run_tickets import issue_run_ticket
from onward.app.live.socket_tickets import issue_socket_ticket
from onward.app.operating.answer_run import cancel_run, resolve_step, resume_run
from onward.app.operating.audit import audited
from onward.app.reading.list_effects import list_effects
from onward.app.reading.read_run import etag_of, read_run
from onward.app.reading.recovery_stats import recovery_stats
from onward.app.reading.replay_events import MAX_WAIT, replay_events
from onward.app.reading.snapshot import Seen, snapshot
from onward.app.submitting.run_request import RunRequest, read_work
from onward.app.submitting.submit_once import key_of_request, submit_once
from onward.app.submitting.submit_run import Accepted, submit_run
from onward.app.submitting.uploads import locate_artifact, place_upload
from onward.domain.errors import Fault, InvalidRequest
from onward.http.bodies import (
    Budget,
    Cancellation,
    Resolution,
    RunBody,
    SocketTicketWish,
    TicketWish,
    Upload,
)
from onward.http.checks import checked, checked_with
from onward.http.event_stream import streamed, wants_stream
from onward.http.overview import get_openapi, get_runs, get_tools, get_workflows
from onward.http.problems import Answer
from onward.http.queries import MAX_SEQ, EventsQuery, RecoveryQuery, RunQuery, whole
from onward.http.routes_access import ACCESS_ROUTES
from onward.http.routes_approvals import APPROVAL_ROUTES
from onward.http.routes_delivery import DELIVERY_ROUTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.service import Service
    from onward.app.submitting.submit_run import KeyOfRequest
    from onward.aws.tenants import Holder
    from onward.domain.limits import RunLimits
    from onward.domain.model import Json
    from onward.http.requests import Request
    from onward.sdk.catalogue import Catalogue


EVENTS: Final = "/runs/<run_id>/events"
OPENAPI: Final = "/openapi.json"


def post_run(service: Service, holder: Holder, request: Request) -> Answer:
    """Accept a run: 202 with its snapshot, the same run for the same Idempotency-Key."""
    authorise(holder, SUBMITTING)
    body = request.body()
    accepted: dict[str, Accepted] = {}
    trace = request.trace()

    def submit(key: KeyOfRequest | None) -> str:
        wanted = run_request(body, service.catalogue(), service.limits)
        service.quota.take(holder.tenant, wanted.plan)
        made = submit_run(service, holder, wanted, key, trace)
        accepted[made.run.run_id] = made
        return made.run.run_id

    header = request.headers.get("idempotency-key")
    if header is None:
        run_id = submit(None)
    else:
        key = key_of_request(header, body)
        run_id = submit_once(service, holder.tenant, key, lambda: submit(key))
    if run_id in accepted:
        return _accepted(service, accepted[run_id])
    known = read_run(service, holder.tenant, run_id, sync=service.downstream.status)
    return Answer(202, known.document, _location(run_id) | {"ETag": known.etag})


def get_run(service: Service, holder: Holder, request: Request, run_id: str) -> Answer:
    """Answer the snapshot; 304 when the caller has it, unless the endpoints are to be asked."""
    query, known = request.asked(RunQuery), request.headers.get("if-none-match")
    verify = query.verify
    found = read_run(
        service,
        holder.tenant,
        run_id,
        if_none_match=None if verify else known,
        children=query.children,
        sync=service.downstream.verified if verify else service.downstream.status,
    )
    return Answer(304 if found.document is None else 200, found.document, {"ETag": found.etag})


def get_events(service: Service, holder: Holder, request: Request, run_id: str) -> Answer:
    """Answer a page of the log, or an event stream, which is held unless the caller says not to.

    A `Last-Event-ID`, as a reconnect sends it, goes over the `after` of the first request.
    """
    stream = wants_stream(request)
    last = request.headers.get("last-event-id")
    query = request.asked(EventsQuery)
    wait = query.wait if query.wait is not None else MAX_WAIT if stream else 0.0
    page = replay_events(
        service,
        holder.tenant,
        run_id,
        after=_position(last.removeprefix(f"{run_id}/")) if last else query.after,
        limit=query.limit,
        wait=wait,
        admit=lambda: service.door.admit(holder.tenant, holder.key_id),
    )
    if stream:
        return streamed(page)
    later = page.get("retry_after")
    return Answer(200, page, {"Retry-After": str(later)} if later else {})


def post_ticket(service: Service, holder: Holder, request: Request) -> Answer:
    """Make a ticket for a run's event stream, or for a socket; whoever may read may have one."""
    headers, body = {"Cache-Control": "no-store"}, request.body()
    if isinstance(body, dict) and body.get("use") == "ws":
        checked(SocketTicketWish, body)
        return Answer(201, issue_socket_ticket(service, holder), headers)
    wish = checked(TicketWish, body)
    return Answer(201, issue_run_ticket(service, holder, wish.run_id), headers)


def post_upload(service: Service, holder: Holder, request: Request) -> Answer:
    """Make a place for bytes."""
    authorise(holder, SUBMITTING)
    wish = checked(Upload, request.body())
    place = place_upload(service, holder.tenant, wish.name, wish.size, wish.sha256)
    return Answer(201, place)


def get_artifact(service: Service, holder: Holder, request: Request, ref: str) -> Answer:  # noqa: ARG001 - routes are called alike
    """Redirect to an address that gives the bytes."""
    location = locate_artifact(service, holder.tenant, ref)
    return Answer(302, None, {"Location": location, "Cache-Control": "no-store"})


def post_resolution(
    service: Service, holder: Holder, request: Request, run_id: str, step_id: str
) -> Answer:
    """Take an operator's word for a write in doubt; answer the run as it stands then."""
    authorise(holder, OPERATING)
    body = checked(Resolution, request.body())
    said = body.model_dump(include={"result"}, exclude_unset=True)
    resolve_step(service, holder, run_id, step_id, body.outcome, said, body.comment)
    return _current(service, holder, run_id, 200)


def post_resume(service: Service, holder: Holder, request: Request, run_id: str) -> Answer:
    """Let a failed run go on; answer the run as it stands then."""
    authorise(holder, OPERATING)
    resume_run(service, holder, run_id, request.remark())
    return _current(service, holder, run_id, 202)


def post_cancel(service: Service, holder: Holder, request: Request, run_id: str) -> Answer:
    """Cancel a run; answer it as it stands then. Again: the same."""
    authorise(holder, SUBMITTING)
    said = checked(Cancellation, request.body() if request.text else {})
    cancel_run(service, holder, run_id, said.reason)
    return _current(service, holder, run_id, 202)


def get_effects(service: Service, holder: Holder, request: Request, run_id: str) -> Answer:  # noqa: ARG001 - routes are called alike
    """Answer the run's ledger."""
    return Answer(200, list_effects(service, holder.tenant, run_id))


def post_patrol(service: Service, holder: Holder, request: Request) -> Answer:
    """Look after every run of the tenant that is due, now; answer what was repaired."""
    authorise(holder, OPERATING)
    comment = request.remark()
    service.audit.note(audited(service, holder, "patrol", comment=comment))
    return Answer(200, service.patrol(holder.tenant))


def get_recovery(service: Service, holder: Holder, request: Request) -> Answer:
    """Answer the tenant's incidents of the last days by cause."""
    days = request.asked(RecoveryQuery).days
    return Answer(200, recovery_stats(service.incidents, holder.tenant, days, service.clock()))


ROUTES: Final[tuple[tuple[str, str, Callable[..., Answer]], ...]] = (
    ("GET", "/runs", get_runs),
    ("POST", "/runs", post_run),
    ("GET", "/runs/<run_id>", get_run),
    ("GET", EVENTS, get_events),
    ("GET", "/runs/<run_id>/effects", get_effects),
    ("POST", "/runs/<run_id>/resume", post_resume),
    ("POST", "/runs/<run_id>/cancel", post_cancel),
    ("POST", "/runs/<run_id>/steps/<step_id>/resolution", post_resolution),
    ("POST", "/patrol", post_patrol),
    ("POST", "/tickets", post_ticket),
    ("GET", "/stats/recovery", get_recovery),
    ("POST", "/uploads", post_upload),
    ("GET", "/artifacts/<ref>", get_artifact),
    ("GET", "/workflows", get_workflows),
    ("GET", "/tools", get_tools),
    ("GET", OPENAPI, get_openapi),
    *APPROVAL_ROUTES,
    *DELIVERY_ROUTES,
    *ACCESS_ROUTES,
)
OPEN: Final = frozenset({OPENAPI})
"""Paths that anybody may read."""

TICKETED: Final = frozenset({EVENTS})
"""Paths that may be read with a ticket in the query string instead of a key."""


def _current(service: Service, holder: Holder, run_id: str, status: int) -> Answer:
    known = read_run(service, holder.tenant, run_id, sync=service.downstream.status)
    return Answer(status, known.document, {"ETag": known.etag})


def _accepted(service: Service, made: Accepted) -> Answer:
    steps = [step for step in made.plan if step.step_id]
    heard = service.downstream.status(made.run)
    seen = Seen(made.run, made.submission, steps, {}, (), heard)
    headers = _location(made.run.run_id) | {"ETag": etag_of(made.run, heard)}
    return Answer(202, snapshot(seen), headers)


def run_request(body: Json, catalogue: Catalogue, limits: RunLimits) -> RunRequest:
    """Return a submission with every fault looked for: its own, and those of its plan."""
    wish, work = checked_with(RunBody, body, lambda raw: read_work(raw, catalogue, limits))
    budget = wish.budget or Budget()
    return RunRequest(
        *work, wish.deadline_seconds, wish.labels or {}, budget.tokens, budget.retries
    )


def _position(text: str) -> int:
    """Return the position that a `Last-Event-ID` names; raises InvalidRequest."""
    with suppress(ValueError):
        if (position := whole(text)) <= MAX_SEQ:
            return position
    message = f"Last-Event-ID is a whole number from 0 to {MAX_SEQ}"
    raise InvalidRequest(message, (Fault("/Last-Event-ID", message),))


def _location(run_id: str) -> dict[str, str]:
    return {"Location": f"/runs/{run_id}"}
