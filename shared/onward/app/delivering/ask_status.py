"""Ask an endpoint how far it has got with a run, signed: where the keys to sign with are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from onward.app.delivering.post_event import signature
from onward.outside.request import NoAnswer, Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.aws.endpoints import Endpoints

MAX_BODY = 1000
"""Bytes of an answer that are looked at: `{"sequence": n}` has few."""


def ask_status(
    endpoints: Endpoints,
    get: Callable[[str, dict[str, str], float], Reply],
    now: float,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Ask what `asked` names: `tenant`, `endpoint_id`, `run_id`, within `seconds`.

    Returns the answer's `status` and `body`, or what went wrong as `error`. The address is the one
    that is stored: whoever has this done cannot have anything signed for another.
    """
    run_id, endpoint_id = str(asked["run_id"]), str(asked["endpoint_id"])
    endpoint = endpoints.signed(str(asked["tenant"]), endpoint_id)
    if endpoint is None or endpoint.status_url is None:
        return {"error": "it has no address to be asked at"}
    url = endpoint.status_url
    url += ("&" if "?" in url else "?") + urlencode({"run_id": run_id})
    signed = signature(endpoint, f"{run_id}/status/{endpoint_id}", "", now)
    try:
        reply = get(url, {"Accept": "application/json", **signed}, float(asked["seconds"]))
    except NoAnswer as error:
        return {"error": str(error)}
    return {"status": reply.status, "body": reply.body[:MAX_BODY].decode(errors="replace")}


def reply_of(answer: Mapping[str, Any]) -> Reply:
    """Return what an endpoint answered; raises NoAnswer."""
    if "error" in answer:
        raise NoAnswer(str(answer["error"]))
    return Reply(int(answer["status"]), {}, str(answer["body"]).encode())
