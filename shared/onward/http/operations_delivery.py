"""What the description says of the calls about webhooks."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from onward.http import bodies
from onward.http.operations import RUN_ID, Operation, Success
from onward.http.routes_delivery import STATES

_ABSENT: Any = Field(default_factory=lambda: None)
_NO_STORE: Final = {"Cache-Control": "Nothing keeps the answer."}


class EndpointWish(BaseModel):
    """Where events go, and which: `run.*` unless it says otherwise."""

    model_config = ConfigDict(extra="forbid")

    url: str = Field(pattern=r"^https://[a-z0-9-]+\.[a-z]{2,8}(/[a-z0-9]*)?$", max_length=200)
    event_types: list[str] = Field(
        default=["run.*"], min_length=1, max_length=30, examples=[["run.*", "step.failed"]]
    )
    status_url: str | None = Field(
        default=None,
        description='Answers `?run_id=` with `{"sequence": n}`, the last event it has of the run.',
    )


class Endpoint(BaseModel):
    """A subscription. Its secret is shown when it is made or rotated, and never again.

    `pending`: its address has not agreed yet to get webhooks (CloudEvents HTTP 1.1 Web Hooks, 4).
    """

    id: str
    url: str
    event_types: list[str]
    status_url: str | None
    created_at: datetime
    status: Literal["pending", "enabled", "disabled"]
    enabled: bool
    pending_because: str | None
    disabled_at: datetime | None
    disabled_because: str | None
    timeouts_in_a_row: int
    secret: str = _ABSENT
    previous_valid_until: datetime = _ABSENT


class Endpoints(BaseModel):
    """All of a tenant's subscriptions."""

    endpoints: list[Endpoint]


class Tried(BaseModel):
    """One request: when, about which event, and what came of it."""

    at: datetime
    sequence: int
    outcome: str


class Delivery(BaseModel):
    """How far an endpoint has got with a run. `dead`: its wake-up is among the dead letters."""

    run_id: str
    endpoint_id: str
    state: Literal["pending", "synced", "dead"]
    acked_seq: int
    attempts: int
    last_error: str | None
    next_try: datetime | None
    dead_since: datetime | None
    given_up: bool
    tries: list[Tried]


class Deliveries(BaseModel):
    """Deliveries of one run, or the dead ones of all, oldest first."""

    deliveries: list[Delivery]


class Redriven(BaseModel):
    """How many deliveries are tried again."""

    redriven: int


_EXAMPLE: Final = {"url": "https://example.com/hook", "event_types": ["run.*"]}

DELIVERY_OPERATIONS: Final[dict[str, Operation]] = {
    "put_endpoint": Operation(
        {
            200: Success("It is changed, and enabled.", Endpoint, _NO_STORE),
            201: Success("It is made; here is its secret.", Endpoint, _NO_STORE),
        },
        problems=(400, 403, 404, 409, 413, 422),
        bodies=(EndpointWish,),
        examples={"ends": _EXAMPLE},
    ),
    "get_endpoint": Operation({200: Success("It.", Endpoint)}, problems=(403, 404)),
    "delete_endpoint": Operation({204: Success("It is gone.")}, problems=(403, 404)),
    "get_endpoints": Operation({200: Success("All of them.", Endpoints)}, problems=(403,)),
    "rotate_endpoint": Operation(
        {200: Success("Its new secret.", Endpoint, _NO_STORE)}, problems=(403, 404)
    ),
    "get_deliveries": Operation(
        {200: Success("Deliveries.", Deliveries)},
        problems=(403, 404, 422),
        parameters=(
            {
                "name": "run_id",
                "in": "query",
                "description": "Of this run; without one, the dead ones of all runs.",
                "schema": {"type": "string"},
                "example": RUN_ID,
            },
            {
                "name": "state",
                "in": "query",
                "description": "Only those that stand so.",
                "schema": {"type": "string", "enum": list(STATES)},
            },
        ),
    ),
    "post_redrive": Operation(
        {202: Success("Their wake-ups are in the queue again.", Redriven)},
        problems=(400, 403, 413, 422),
        bodies=(bodies.Remark,),
        needs_body=False,
    ),
}
"""By the name of the route's function."""
