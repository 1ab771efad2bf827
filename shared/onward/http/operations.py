"""What the description says of each call beyond its path, method and summary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from onward.app.submitting.submit_once import MAX_KEY
from onward.documents import operating, runs
from onward.domain.trace import MAX_STATE
from onward.http import bodies, queries

if TYPE_CHECKING:
    from pydantic import BaseModel

    from onward.http.checks import Query

RUN_ID: Final = "run_019ad0f0a0007000800000000000abcd"

_TIME: Final = "2026-11-29T10:00:00.000Z"
_LOCATION: Final = {"Location": "Where it is."}
_ETAG: Final = {"ETag": "Names this state of the run."}
_EVENT: Final = {
    "specversion": "1.0",
    "id": f"{RUN_ID}/7",
    "source": f"/runs/{RUN_ID}",
    "type": "onward.step.succeeded",
    "time": _TIME,
    "sequence": "0000000007",
    "datacontenttype": "application/json",
    "data": {"step_id": "inspect", "attempt": 1},
}
_ARTIFACT: Final = {
    "ref": "upl_0b9c2625dc21ef05f6ad4ddf47c5f203",
    "name": "book.xlsx",
    "size": 48_213,
    "content_type": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


@dataclass(frozen=True, slots=True)
class Success:
    """An answer that is no problem; without a document it has no body."""

    text: str
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    example: Any = None
    frame: Any = None


@dataclass(frozen=True, slots=True)
class Operation:
    """What a call takes beside its path, and what it answers."""

    answers: dict[int, Success]
    problems: tuple[int, ...] = ()
    query: type[Query] = queries.NoQuery
    headers: tuple[dict[str, Any], ...] = ()
    bodies: tuple[type[BaseModel], ...] = ()
    examples: dict[str, Any] = field(default_factory=dict)
    needs_body: bool = True


def _header(name: str, text: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": text, "schema": schema}


OPERATIONS: Final[dict[str, Operation]] = {
    "get_runs": Operation(
        {
            200: Success(
                "A page of runs.",
                runs.RunPage,
                example={
                    "runs": [
                        {
                            "run_id": RUN_ID,
                            "workflow": "excel-report",
                            "status": "running",
                            "created_at": _TIME,
                            "ended_at": None,
                        }
                    ],
                    "next_page_token": None,
                },
            )
        },
        query=queries.RunsQuery,
        problems=(422,),
    ),
    "post_run": Operation(
        {202: Success("The run, accepted.", runs.Snapshot, _LOCATION | _ETAG)},
        problems=(400, 403, 409, 413, 422),
        headers=(
            _header(
                "Idempotency-Key",
                "The same key and body name the same run for a day.",
                type="string",
                minLength=1,
                maxLength=MAX_KEY,
                pattern="^[A-Za-z0-9._~-]+$",
            ),
            _header(
                "traceparent",
                "The caller's span (W3C Trace Context), handed to tools and webhooks; a malformed"
                " one is ignored.",
                type="string",
            ),
            _header(
                "tracestate", f"Its vendors' state, {MAX_STATE} characters of it.", type="string"
            ),
        ),
        bodies=(bodies.RunBody,),
        examples={
            "workflow": {"workflow": "excel-report", "input": {"file": _ARTIFACT}},
            "plan": {
                "plan": {"steps": [{"id": "one", "tool": "echo", "input": {"value": 1}}]},
                "labels": {"team": "finance"},
                "deadline_seconds": 3600,
            },
        },
    ),
    "get_run": Operation(
        {
            200: Success("The run as it stands.", runs.Snapshot, _ETAG),
            304: Success("The caller has this state.", headers=_ETAG),
        },
        query=queries.RunQuery,
        problems=(404, 422),
        headers=(_header("If-None-Match", "ETags that the caller has.", type="string"),),
    ),
    "get_events": Operation(
        {
            200: Success(
                "Events, in order and without a gap. As a stream: frames with `id` (the number),"
                " `event` (the type) and `data` (the CloudEvent); after the run's last one a frame"
                " `event: end`. The stream ends with what there is, to be asked for again.",
                runs.EventPage,
                example={"events": [_EVENT], "next_after": 7, "as_of_seq": 9, "ended": False},
                frame=runs.StreamFrame,
            ),
            204: Success("Stream only: the run has ended and the caller has all of it."),
        },
        query=queries.EventsQuery,
        problems=(404, 410, 422),
        headers=(
            _header(
                "Last-Event-ID",
                "Goes over `after`.",
                type="string",
                pattern=r"^([0-9]{1,10})?$",
            ),
        ),
    ),
    "get_effects": Operation({200: Success("The ledger.", runs.EffectList)}, problems=(404,)),
    "post_resume": Operation(
        {202: Success("The run, going on.", runs.Snapshot, _ETAG)},
        problems=(400, 403, 404, 409, 413, 422),
        bodies=(bodies.Remark,),
        needs_body=False,
    ),
    "post_cancel": Operation(
        {202: Success("The run, cancelled or about to be.", runs.Snapshot, _ETAG)},
        problems=(400, 403, 404, 409, 413, 422),
        bodies=(bodies.Cancellation,),
        needs_body=False,
    ),
    "post_resolution": Operation(
        {200: Success("The run, with the answer.", runs.Snapshot, _ETAG)},
        problems=(400, 403, 404, 409, 413, 422),
        bodies=(bodies.Resolution,),
        examples={"not_applied": {"outcome": "not_applied"}},
    ),
    "get_approvals": Operation(
        {200: Success("Open approvals.", runs.ApprovalPage)},
        query=queries.ApprovalsQuery,
        problems=(422,),
    ),
    "post_approval": Operation(
        {200: Success("The decision, as it counts.", runs.DecisionView)},
        problems=(400, 403, 404, 409, 410, 413, 422),
        bodies=(bodies.ApprovalDecision,),
        examples={"approve": {"decision": "approve", "action_version": "0b9c2625dc21ef05"}},
    ),
    "post_patrol": Operation(
        {200: Success("A round.", operating.PatrolRound)},
        problems=(400, 403, 413, 422),
        bodies=(bodies.Remark,),
        needs_body=False,
    ),
    "get_recovery": Operation(
        {200: Success("Incidents.", operating.RecoveryStats)},
        query=queries.RecoveryQuery,
        problems=(422,),
    ),
    "post_upload": Operation(
        {201: Success("A place for the bytes.", runs.UploadPlace)},
        problems=(400, 403, 413, 422),
        bodies=(bodies.Upload,),
        examples={"file": {"name": "book.xlsx", "size": 48_213}},
    ),
    "get_artifact": Operation(
        {302: Success("Where the bytes are for 15 minutes; send no key there.", headers=_LOCATION)},
        problems=(404,),
    ),
    "post_ticket": Operation(
        {
            201: Success(
                "A ticket: for a stream for an hour, for a socket for 30 seconds.",
                runs.RunTicketView | runs.SocketTicketView,
            )
        },
        problems=(400, 404, 413, 422),
        bodies=(bodies.TicketWish, bodies.SocketTicketWish),
        examples={"sse": {"use": "sse", "run_id": RUN_ID}, "ws": {"use": "ws"}},
    ),
    "get_workflows": Operation({200: Success("All workflows.", operating.WorkflowList)}),
    "get_tools": Operation({200: Success("All tools.", operating.ToolList)}),
    "get_openapi": Operation({200: Success("An OpenAPI 3.1 document.")}),
}
"""By the name of the route's function."""
