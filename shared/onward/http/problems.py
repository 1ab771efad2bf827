"""Errors as problem documents (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from onward.aws.failures import may_pass
from onward.domain.errors import (
    CursorExpired,
    InvalidRequest,
    MethodNotAllowed,
    NotEditable,
    OnwardError,
    RequestError,
    StoreError,
    Unauthenticated,
    Unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

PROBLEM_JSON: Final = "application/problem+json"

TITLES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    410: "Gone",
    413: "Content Too Large",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""Every status of ours in the words of RFC 9110; those of `http` differ between Pythons."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back; without a document or text there is no body."""

    status: int
    document: Mapping[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    text: str = ""


def known(error: Exception) -> OnwardError | None:
    """Return the error to tell the caller, or None when it is a defect of ours."""
    if isinstance(error, RequestError | StoreError) and error.status != OnwardError.status:
        return error
    if may_pass(error):
        return Unavailable("a service we depend on is busy; try again")
    return None


def problem(error: OnwardError, run_id: str | None = None) -> Answer:
    """Return an error that the caller is to know of.

    `type` is about:blank: there is no page to look at, and programs go by `code`.
    """
    document = _document(error.code, error.status, str(error), retryable=error.retryable)
    if run_id is not None:
        document["run_id"] = run_id
    if isinstance(error, InvalidRequest | NotEditable):
        document["errors"] = [{"pointer": f.pointer, "message": f.message} for f in error.faults]
    if isinstance(error, CursorExpired) and error.as_of_seq:
        document["as_of_seq"] = error.as_of_seq
    headers = {}
    if error.retryable:
        headers["Retry-After"] = str(error.retry_seconds)
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="onward"'
    return Answer(error.status, document, headers, PROBLEM_JSON)


def defect(request_id: str) -> Answer:
    """Return what a caller is told of a defect: nothing but where our log has it."""
    detail = f"this is a defect of the service, logged as request {request_id}"
    document = _document(OnwardError.code, OnwardError.status, detail, retryable=False)
    return Answer(OnwardError.status, document, {}, PROBLEM_JSON)


def _document(code: str, status: int, detail: str, *, retryable: bool) -> dict[str, Any]:
    return {
        "type": "about:blank",
        "title": TITLES[status],
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": retryable,
    }
