"""What the description says of the calls about webhooks."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from onward.documents import operating
from onward.http import bodies
from onward.http.operations import RUN_ID, Operation, Success
from onward.http.routes_delivery import STATES

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


_EXAMPLE: Final = {"url": "https://example.com/hook", "event_types": ["run.*"]}

DELIVERY_OPERATIONS: Final[dict[str, Operation]] = {
    "put_endpoint": Operation(
        {
            200: Success("It is changed, and enabled.", operating.EndpointView, _NO_STORE),
            201: Success("It is made; here is its secret.", operating.EndpointView, _NO_STORE),
        },
        problems=(400, 403, 404, 409, 413, 422),
        bodies=(EndpointWish,),
        examples={"ends": _EXAMPLE},
    ),
    "get_endpoint": Operation({200: Success("It.", operating.EndpointView)}, problems=(403, 404)),
    "delete_endpoint": Operation({204: Success("It is gone.")}, problems=(403, 404)),
    "get_endpoints": Operation(
        {200: Success("All of them.", operating.EndpointList)}, problems=(403,)
    ),
    "rotate_endpoint": Operation(
        {200: Success("Its new secret.", operating.EndpointView, _NO_STORE)}, problems=(403, 404)
    ),
    "get_deliveries": Operation(
        {200: Success("Deliveries.", operating.DeliveryList)},
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
        {202: Success("Their wake-ups are in the queue again.", operating.Redriven)},
        problems=(400, 403, 413, 422),
        bodies=(bodies.Remark,),
        needs_body=False,
    ),
}
"""By the name of the route's function."""
