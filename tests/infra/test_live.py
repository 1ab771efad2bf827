from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.infra.conftest import Template, of_type, target
from tests.infra.test_outbox import queues
from tests.infra.test_permissions import listed, statements

CURSORS = {
    "HttpApi": {"PutItem"},
    "Authorize": {"DeleteItem"},
    "WsConnect": {"PutItem"},
    "WsDisconnect": {"DeleteItem"},
    "WsMessage": {"GetItem", "PutItem", "UpdateItem", "DeleteItem"},
    "PushEvents": {"GetItem", "Query", "UpdateItem", "DeleteItem"},
    "Patrol": {"Query"},
}


def routes(template: Template) -> dict[str, dict[str, Any]]:
    """Return the WebSocket API's routes by key."""
    apis = of_type(template, "ApiGatewayV2::Api")
    (sockets,) = (n for n, a in apis.items() if a["Properties"]["ProtocolType"] == "WEBSOCKET")
    found = [route["Properties"] for route in of_type(template, "ApiGatewayV2::Route").values()]
    return {r["RouteKey"]: r for r in found if target(r["ApiId"]) == sockets}


def test_each_action_has_a_route(template: Template) -> None:
    """What a client may say, and one route for what it may not."""
    assert {
        "$connect",
        "$disconnect",
        "$default",
        "subscribe",
        "unsubscribe",
        "ack",
        "ping",
    } == routes(template).keys()


def test_a_socket_opens_with_a_ticket_only(template: Template) -> None:
    """Without one the authorizer is not even asked; the other routes speak for whom it let in."""
    (authorizer,) = of_type(template, "ApiGatewayV2::Authorizer").values()
    kinds = {key: route.get("AuthorizationType", "NONE") for key, route in routes(template).items()}

    assert ["route.request.querystring.ticket"] == authorizer["Properties"]["IdentitySource"]
    assert "REQUEST" == authorizer["Properties"]["AuthorizerType"]
    assert "CUSTOM" == kinds.pop("$connect")
    assert {"NONE"} == set(kinds.values())


def test_wake_ups_are_ordered_by_run_and_never_recognised_by_content(template: Template) -> None:
    """Every wake-up of a run reads the same; by content a catch-up would be swallowed."""
    ordered = {name: q for name, q in queues(template).items() if q.get("FifoQueue")}
    live = [name for name in ordered if "WakesLive" in name]

    assert 2 == len(live)
    for name in live:
        queue = ordered[name]
        assert not queue.get("ContentBasedDeduplication")
        assert "messageGroup" == queue["DeduplicationScope"]
        assert "perMessageGroupId" == queue["FifoThroughputLimit"]


def test_only_push_events_reads_wake_ups(template: Template) -> None:
    """Two readers would be two writers to the same sockets."""
    (reader,) = (
        target(mapping["Properties"]["FunctionName"])
        for mapping in of_type(template, "Lambda::EventSourceMapping").values()
        if "WakesLive" in json.dumps(mapping["Properties"]["EventSourceArn"])
    )
    assert reader.startswith("PushEvents")


@pytest.mark.parametrize(("function", "actions"), CURSORS.items())
def test_cursors_are_touched_only_as_each_function_does(
    template: Template, function: str, actions: set[str]
) -> None:
    """The emulator checks no permission."""
    held = {
        action.removeprefix("dynamodb:")
        for name, statement in statements(template)
        if name.split("ServiceRole")[0] == function
        and "StateCursors" in json.dumps(statement["Resource"])
        for action in listed(statement["Action"])
    }
    assert actions == held


def test_nobody_else_touches_cursors(template: Template) -> None:
    """Where clients stand is none of the driver's business."""
    holders = {
        name.split("ServiceRole")[0]
        for name, statement in statements(template)
        if "StateCursors" in json.dumps(statement["Resource"])
    }
    assert CURSORS.keys() == holders


def test_frames_may_be_sent_and_sockets_closed_by_the_pusher_only(template: Template) -> None:
    """The permission names the stage and the method; nobody may ask about a socket."""
    held = {
        (name.split("ServiceRole")[0], method)
        for name, statement in statements(template)
        if "execute-api:ManageConnections" in listed(statement["Action"])
        for method in re.findall(r"/live/(.*?)/@connections/\*", json.dumps(statement["Resource"]))
    }
    assert {("WsMessage", "POST"), ("PushEvents", "POST"), ("PushEvents", "DELETE")} == held
