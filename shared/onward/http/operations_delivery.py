"""What the description says of the calls about webhooks."""

from __future__ import annotations

from typing import Final

from onward.documents import operating
from onward.http import bodies, queries
from onward.http.operations import Operation, Success

_NO_STORE: Final = {"Cache-Control": "Nothing keeps the answer."}


_EXAMPLE: Final = {"url": "https://example.com/hook", "event_types": ["run.*"]}

DELIVERY_OPERATIONS: Final[dict[str, Operation]] = {
    "put_endpoint": Operation(
        {
            200: Success("It is changed, and enabled.", operating.EndpointView, _NO_STORE),
            201: Success("It is made; here is its secret.", operating.EndpointView, _NO_STORE),
        },
        problems=(400, 403, 404, 409, 413, 422),
        bodies=(bodies.EndpointWish,),
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
        query=queries.DeliveriesQuery,
    ),
    "post_redrive": Operation(
        {202: Success("Their wake-ups are in the queue again.", operating.Redriven)},
        problems=(400, 403, 413, 422),
        bodies=(bodies.Remark,),
        needs_body=False,
    ),
}
"""By the name of the route's function."""
