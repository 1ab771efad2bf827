"""What a client may say on its socket: subscribe, acknowledge, unsubscribe, ping."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.app.ids import RUN_ID
from onward.app.live.wake_live import closing, live_wake_up
from onward.app.reading.read_run import find_run
from onward.aws.cursors import Subscription, TooManyRuns
from onward.aws.key_sockets import KeySocket
from onward.aws.sockets import SocketGone, frame
from onward.domain.errors import OnwardError, RequestError, RunNotFound, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.cursors import Cursors
    from onward.aws.key_sockets import KeySockets
    from onward.aws.queues import Queue
    from onward.aws.run_reader import RunReader

SOCKET_SECONDS: Final = 2 * 3600
"""API Gateway closes a socket then, in the middle of whatever it does."""

SLACK_SECONDS: Final = 600
"""Rows outlive their socket a little; deletion by expiry is late anyway."""

_EARLY, _SPREAD = 120.0, 600.0
_CLIENT: Final = re.compile(r"[A-Za-z0-9_.:@-]{1,64}")
_WHOLE: Final = re.compile(r"[0-9]{1,10}")


class TooManySubscriptions(RequestError):
    """A socket listens to a hundred runs at most."""

    code = "too_many_subscriptions"
    status = 429


@dataclass(frozen=True, slots=True)
class Socket:
    """Whose message it is, and by which key.

    `connected_at` in epoch seconds, `asked_at` in epoch milliseconds.
    """

    connection: str
    tenant: str
    connected_at: float
    asked_at: int
    key_id: str = ""


@dataclass(frozen=True, slots=True)
class Desk:
    """Where messages of clients are answered; `post` raises SocketGone.

    `admit` raises Unauthenticated for a tenant's key that opens nothing any more.
    """

    reader: RunReader
    cursors: Cursors
    live: Queue
    post: Callable[[str, str], None]
    admit: Callable[[str, str], object]
    clock: Callable[[], float]
    chance: Callable[[], float]
    new_id: Callable[[], str]


def open_socket(
    cursors: Cursors, held: KeySockets, admits: Callable[[str, str], bool], socket: Socket
) -> bool:
    """Note a socket, so that it can be closed with its key, and what it listens to be forgotten.

    False: its key was revoked meanwhile, and the socket does not open. The key is looked at after
    the row is written: whoever revokes it reads the rows after that.
    """
    until = int(_closed_by(socket)) + SLACK_SECONDS
    opened = KeySocket(socket.connection, socket.connected_at)
    held.put(socket.tenant, socket.key_id, opened, until)
    cursors.connect(socket.connection, socket.tenant, until)
    return admits(socket.tenant, socket.key_id)


def forget_socket(cursors: Cursors, held: KeySockets, socket: Socket) -> None:
    """Forget a socket that was closed, and what it listened to."""
    cursors.disconnect(socket.connection)
    if socket.key_id:
        held.forget(socket.tenant, socket.key_id, socket.connection)


def answer_socket(desk: Desk, socket: Socket, text: str) -> None:
    """Do what a message asks; what is wrong with it goes back as an `error` frame.

    Events are never sent from here: replies to two messages overtake each other.
    """
    try:
        if socket.key_id:
            desk.admit(socket.tenant, socket.key_id)
        body = _object(text)
        _ACTIONS.get(str(body.get("action")), refuse)(desk, socket, body)
    except RequestError as error:
        _reply(desk, socket, {"type": "error", **_told(error, text)})
        if isinstance(error, Unauthenticated):
            desk.live.send_ordered([closing(socket.tenant, socket.key_id, desk.new_id())])


def subscribe(desk: Desk, socket: Socket, body: dict[str, Any]) -> None:
    """Write the cursor, then queue the catch-up that greets the client and sends what it lacks.

    In the other order the catch-up could be over before there is a cursor, and what was
    committed meanwhile would wait for the run's next event. Raises RunNotFound also for another
    tenant's run.
    """
    run = find_run(desk, socket.tenant, _run_id(body))
    client, now = _client_id(body), desk.clock()
    at = _position(body, "last_event_id", run.run_id)
    if at is None:
        known = client and desk.cursors.acknowledged(socket.tenant, client, run.run_id, now)
        at = known or 0
    latest = _closed_by(socket)
    wanted = Subscription(
        run_id=run.run_id,
        connection=socket.connection,
        tenant=socket.tenant,
        sub=desk.new_id(),
        at=at,
        asked_at=socket.asked_at,
        reconnect_by=latest - _EARLY - desk.chance() * _SPREAD,
        expires_at=int(latest) + SLACK_SECONDS,
        client_id=client,
        key_id=socket.key_id,
    )
    try:
        stored = desk.cursors.subscribe(wanted)
    except TooManyRuns as error:
        raise TooManySubscriptions(str(TooManySubscriptions.__doc__)) from error
    if stored:
        _catch_up(desk, run.run_id)


def unsubscribe(desk: Desk, socket: Socket, body: dict[str, Any]) -> None:
    """End a subscription; events that are on their way still arrive."""
    desk.cursors.unsubscribe(socket.connection, _run_id(body), socket.asked_at)


def acknowledge(desk: Desk, socket: Socket, body: dict[str, Any]) -> None:
    """Keep how far the client of a subscription has got, for its next socket.

    A message that names its `client_id` needs no subscription: that may be gone with the socket
    by the time the last acknowledgement is worked on.
    """
    run_id, client = _run_id(body), _client_id(body)
    at = _position(body, "event_id", run_id)
    if at is None:
        raise RequestError("event_id is missing")
    if client:
        find_run(desk, socket.tenant, run_id)
    else:
        held = desk.cursors.subscription(socket.connection, run_id)
        if held is None or held.tenant != socket.tenant:
            raise RunNotFound("this socket does not listen to such a run")
        client = held.client_id
    if not client:
        raise RequestError("subscribe with a client_id to acknowledge events")
    desk.cursors.acknowledge(socket.tenant, client, run_id, at, desk.clock())


def ping(desk: Desk, socket: Socket, body: dict[str, Any]) -> None:  # noqa: ARG001 - actions are called alike
    """Answer the position of each log the socket listens to, and make good a lost wake-up."""
    seqs: dict[str, int] = {}
    for run_id in desk.cursors.runs(socket.connection):
        held = desk.cursors.subscription(socket.connection, run_id)
        run = desk.reader.run(run_id) if held else None
        if held is None or run is None or run.tenant != socket.tenant:
            continue
        seqs[run_id] = run.seq
        if held.at < run.seq or not held.told:
            _catch_up(desk, run_id)
    _reply(desk, socket, {"type": "pong", "runs": seqs})


def refuse(desk: Desk, socket: Socket, body: dict[str, Any]) -> None:  # noqa: ARG001 - actions are called alike
    """Name the actions that there are."""
    raise RequestError(f"action is one of {', '.join(sorted(_ACTIONS))}")


_ACTIONS: Final[dict[str, Callable[[Desk, Socket, dict[str, Any]], None]]] = {
    "subscribe": subscribe,
    "unsubscribe": unsubscribe,
    "ack": acknowledge,
    "ping": ping,
}


def _closed_by(socket: Socket) -> float:
    return socket.connected_at + SOCKET_SECONDS


def _catch_up(desk: Desk, run_id: str) -> None:
    desk.live.send_ordered([live_wake_up(run_id, desk.new_id())])


def _reply(desk: Desk, socket: Socket, document: dict[str, Any]) -> None:
    try:
        desk.post(socket.connection, frame(document))
    except SocketGone:
        desk.cursors.disconnect(socket.connection)


def _object(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RequestError("a message is a JSON object") from error
    if not isinstance(body, dict):
        raise RequestError("a message is a JSON object")
    return body


def _run_id(body: dict[str, Any]) -> str:
    run_id = body.get("run_id")
    if not isinstance(run_id, str):
        raise RequestError("run_id is missing")
    return run_id


def _client_id(body: dict[str, Any]) -> str:
    client = body.get("client_id", "")
    if client != "" and not (isinstance(client, str) and _CLIENT.fullmatch(client)):
        raise RequestError(f"client_id matches {_CLIENT.pattern}")
    return str(client)


def _position(body: dict[str, Any], name: str, run_id: str) -> int | None:
    """Return an event's number from `7`, `"7"` or `"run_…/7"`; None when it is not given."""
    value = body.get(name)
    if value is None:
        return None
    text = str(value).removeprefix(f"{run_id}/")
    if isinstance(value, bool) or not _WHOLE.fullmatch(text):
        raise RequestError(f"{name} is the number of an event")
    return int(text)


def _told(error: OnwardError, text: str) -> dict[str, Any]:
    """Return what a client is told, with the run that its message named."""
    told = {"code": error.code, "message": str(error)}
    try:
        run_id = json.loads(text).get("run_id")
    except (ValueError, RecursionError, AttributeError):
        return told
    known = isinstance(run_id, str) and RUN_ID.fullmatch(run_id)
    return told | ({"run_id": run_id} if known else {})
