"""The way to whoever carries a refund's writes out.

In a drill that is the receiver that the input names, over HTTP; its answers become the SDK's
errors here, once. Otherwise papers are filed in the artifact store, whose first write wins.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    Request,
)

from onward.sdk import (
    InvalidInput,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    StepContext,
    Transient,
)

from workflows.drills.faults import OUTSIDE, Fault, allow_receiver, die
from workflows.refund.models import Receipt, Write

if TYPE_CHECKING:
    from onward.sdk import StepError

PATIENCE: Final = 5.0
"""Seconds for an answer; less when the attempt has less, so that it can still say what it knows."""

RESERVE: Final = 1.0
REHEARSE: Final = "Rehearse"


def _opener() -> OpenerDirector:
    """Return what speaks HTTP and nothing else.

    The address comes from the input of a drill: `build_opener` would read files and follow
    redirects for it, and ask a proxy of the environment.
    """
    opener = OpenerDirector()
    for handler in (HTTPHandler, HTTPSHandler, HTTPErrorProcessor, HTTPDefaultErrorHandler):
        opener.add_handler(handler())
    return opener


_open = _opener().open


@dataclass(frozen=True, slots=True)
class Desk:
    """Writes one action of one attempt."""

    ctx: StepContext
    request: Write
    action: str

    def write(self, fault: Fault | None) -> Receipt:
        """Have the action carried out under this attempt's key and fence.

        Raises:
            OSError, OutcomeUnknown: there was no answer that says what happened, so nobody knows.
            StepError: any other one: it was refused, so nothing happened.
        """
        order = self.request.order
        body = {
            "amount": str(self.request.amount),
            "customer": order.customer,
            "reference": self.request.reference,
        }
        if not self.request.receiver_url:
            return self._file(body)
        allow_receiver(self.ctx, self.request.receiver_url)
        document = {"order_id": order.order_id, "action": self.action, "body": body}
        headers = {
            "Content-Type": "application/json",
            "Idempotency-Key": self.ctx.idempotency_key,
            "Fence": str(self.ctx.fence),
        }
        if fault is not None and fault.kind in OUTSIDE:
            headers[REHEARSE] = f"{fault.kind};{fault.seconds:g}"
        if fault is not None and fault.kind == "late_landing":
            self._send_and_die(document, headers)
        return _receipt(self._ask("/writes", headers, json.dumps(document).encode()))

    def find(self) -> Receipt | None:
        """Return what was written under this action's key; None when nothing was.

        Raises as `write` does.
        """
        if not self.request.receiver_url:
            # To file a paper again under its key changes nothing and says what is there.
            return self.write(None)
        allow_receiver(self.ctx, self.request.receiver_url)
        key = quote(self.ctx.idempotency_key, safe="")
        answer = self._ask(f"/writes?key={key}", {}, None)
        found = answer.get("effects") if isinstance(answer, dict) else None
        if not isinstance(found, list):
            raise OutcomeUnknown("the receiver does not list its effects")
        return _receipt(found[0]) if found else None

    def _file(self, body: dict[str, str]) -> Receipt:
        paper = json.dumps({"action": self.action, **body}, indent=2).encode()
        artifact = self.ctx.publish_artifact(f"{self.action}.json", paper, "application/json")
        return Receipt(
            reference=artifact.ref, action=self.action, order_id=self.request.order.order_id
        )

    def _ask(self, path: str, headers: dict[str, str], body: bytes | None) -> Any:
        url = self.request.receiver_url.rstrip("/") + path
        seconds = max(0.1, min(PATIENCE, self.ctx.remaining() - RESERVE))
        try:
            with _open(Request(url, body, headers), timeout=seconds) as answer:  # noqa: S310
                return json.load(answer)
        except HTTPError as error:
            raise _refusal(error) from error
        except ValueError as error:
            raise OutcomeUnknown(f"the receiver's answer is no JSON: {error}") from error

    def _send_and_die(self, document: dict[str, Any], headers: dict[str, str]) -> None:
        """Leave a request on its way and be gone before it arrives."""
        from http.client import HTTPConnection
        from urllib.parse import urlsplit

        connection = HTTPConnection(urlsplit(self.request.receiver_url).netloc, timeout=PATIENCE)
        connection.request("POST", "/writes", json.dumps(document), headers)
        die()


def _receipt(answer: Any) -> Receipt:
    """Read an answer as a receipt; one of another shape says nothing of what happened."""
    try:
        return Receipt.model_validate(answer)
    except ValueError as error:
        raise OutcomeUnknown(f"the receiver's answer is no receipt: {error}") from error


def _refusal(error: HTTPError) -> StepError | HTTPError:
    """Return what a refusal means; other answers leave the outcome open."""
    text = f"the receiver answered {error.code}: {error.read(200).decode(errors='replace')}"
    if error.code == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimited(text, retry_after=error.headers.get("Retry-After", ""))
    if error.code == HTTPStatus.LOCKED:
        return Transient(text)
    if error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return PermissionDenied(text)
    if error.code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return InvalidInput(text)
    return error
