"""Every error Onward raises, each with its problem code, HTTP status and whether to try again.

OnwardError
├── StepError                what a tool may raise, or what its errors are classified into
│   ├── Transient ─ RateLimited(retry_after), SandboxUnavailable
│   ├── InvalidInput ─ CodeFailed(kind, line, stdout)
│   ├── PermissionDenied     ├── InvalidOutput
│   ├── Fatal                └── OutcomeUnknown
├── RequestError             what the HTTP API answers
│   ├── InvalidRequest ─ InvalidPlan
│   ├── BodyTooLarge         ├── MethodNotAllowed(allowed)
│   ├── Unauthenticated      ├── Forbidden
│   ├── NotFound ─ RunNotFound, ArtifactNotFound, EndpointNotFound, KeyNotFound, RouteNotFound
│   ├── IdempotencyKeyReused ├── IdempotencyInProgress
│   ├── NotWaiting           ├── NotResumable
│   ├── ActionChanged        ├── AlreadyDecided
│   ├── AlreadyTerminal
│   ├── ApprovalExpired      ├── NotEditable
│   ├── LastOperatorKey      ├── TooManyEndpoints
│   └── CursorExpired        └── TooManyRuns
└── StoreError
    ├── Conflict             the run moved since it was read: read again, decide again
    ├── Contended, NotBegun  it kept moving, or was busy, until the time was up
    └── Unavailable          a service we stand on is throttled or silent
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request: where (RFC 6901 JSON Pointer) and what."""

    pointer: str
    message: str


class OnwardError(Exception):
    """The root; `code` is stable and meant for programs."""

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False
    retry_seconds: ClassVar[int] = 1


class StepError(OnwardError):
    """A step's failure, as its tool reports it.

    A write tool that raises one says that nothing was applied and nothing can still arrive; only
    OutcomeUnknown says that nobody knows. So does every error that is not one of these, once the
    write may have been sent: raise one of these only for an answer of the receiver itself.
    """

    code = "step_failed"


class Transient(StepError):
    """Worth trying again: nothing is known to be wrong with the request."""

    code = "transient"
    retryable = True


class RateLimited(Transient):
    """Worth trying again, not before what `retry_after` asks for, a day at most.

    In seconds, 0 for nothing; or the text of a `Retry-After` header (RFC 9110, 10.2.3), which may
    be a date.
    """

    code = "rate_limited"

    def __init__(self, message: str = "rate limited", retry_after: float | str = 0.0) -> None:
        """Keep the provider's wish."""
        super().__init__(message)
        self.retry_after = retry_after


class SandboxUnavailable(Transient):
    """The sandbox did not start or did not answer; nothing is known to be wrong with the code."""

    code = "sandbox_unavailable"


class InvalidInput(StepError):
    """The same input will fail the same way: fail at once."""

    code = "invalid_input"
    status = 422


class CodeFailed(InvalidInput):
    """Code that ran in the sandbox gave no value; the same code on the same data will not either.

    `kind` is raised, timeout, memory, killed, output_too_large, not_json or syntax, `line` the
    code's own where it is known, `stdout` the beginning of what it printed.
    """

    code = "code_failed"

    def __init__(
        self, message: str, kind: str = "raised", line: int | None = None, stdout: str = ""
    ) -> None:
        """Keep what a repair of the code needs to know."""
        super().__init__(message)
        self.kind = kind
        self.line = line
        self.stdout = stdout


class PermissionDenied(StepError):
    """Credentials or grants are wrong: fail at once and ring an alarm."""

    code = "permission_denied"


class Fatal(StepError):
    """The tool says that no retry can help."""

    code = "fatal"


class InvalidOutput(StepError):
    """What the tool returned cannot be kept as what it declares; calling it again cannot help.

    Raised by Onward, not by tools. A write that returned was applied all the same.
    """

    code = "invalid_output"


class OutcomeUnknown(StepError):
    """A write may or may not have happened."""

    code = "outcome_unknown"


class RequestError(OnwardError):
    """A request that is answered with a problem document (RFC 9457)."""

    code = "bad_request"
    status = 400


class InvalidRequest(RequestError):
    """The body or a parameter is wrong; every fault is named."""

    code = "invalid_request"
    status = 422

    def __init__(self, message: str, faults: tuple[Fault, ...] = ()) -> None:
        """Keep the faults for the problem document's `errors`."""
        super().__init__(message)
        self.faults = faults


class InvalidPlan(InvalidRequest):
    """A submitted plan is refused; nothing was stored."""

    code = "invalid_plan"


class BodyTooLarge(RequestError):
    """The body is over the API's limit; large data is uploaded and passed as an artifact."""

    code = "body_too_large"
    status = 413


class Unauthenticated(RequestError):
    """No key, one that nobody issued, or one that was revoked or has expired."""

    code = "unauthenticated"
    status = 401


class Forbidden(RequestError):
    """The key's roles do not allow this call."""

    code = "forbidden"
    status = 403


class NotFound(RequestError):
    """There is no such thing, or it belongs to another tenant."""

    code = "not_found"
    status = 404


class RouteNotFound(NotFound):
    """The API has no such path or method."""

    code = "route_not_found"


class MethodNotAllowed(RequestError):
    """The API has the path, with other methods."""

    code = "method_not_allowed"
    status = 405

    def __init__(self, message: str, allowed: tuple[str, ...] = ()) -> None:
        """Keep what the header `Allow` is to name."""
        super().__init__(message)
        self.allowed = allowed


class RunNotFound(NotFound):
    """No run of this tenant has that id."""

    code = "run_not_found"


class ArtifactNotFound(NotFound):
    """No artifact of this tenant has that reference, or its upload never arrived."""

    code = "artifact_not_found"


class EndpointNotFound(NotFound):
    """No endpoint of this tenant has that id."""

    code = "endpoint_not_found"


class KeyNotFound(NotFound):
    """No key of this tenant has that id."""

    code = "key_not_found"


class LastOperatorKey(RequestError):
    """No other valid key of the tenant is an operator's; said once more, it is revoked."""

    code = "last_operator_key"
    status = 409


class TooManyEndpoints(RequestError):
    """The tenant has as many endpoints as a tenant may have."""

    code = "too_many_endpoints"
    status = 409


class IdempotencyKeyReused(RequestError):
    """The Idempotency-Key came before with another body."""

    code = "idempotency_key_reused"
    status = 422


class TooManyRuns(RequestError):
    """The tenant has as many active runs, or steps of them, as it may have at a time."""

    code = "too_many_runs"
    status = 429
    retryable = True
    retry_seconds = 15


class IdempotencyInProgress(RequestError):
    """The first request with this Idempotency-Key is still in flight."""

    code = "idempotency_in_progress"
    status = 409
    retryable = True


class CursorExpired(RequestError):
    """Events before the retained log were asked for; go on from the snapshot's `as_of_seq`."""

    code = "cursor_expired"
    status = 410

    def __init__(self, message: str, as_of_seq: int = 0) -> None:
        """Keep where the log can be taken up again."""
        super().__init__(message)
        self.as_of_seq = as_of_seq


class NotWaiting(RequestError):
    """The step does not wait for this answer, or was answered already."""

    code = "not_waiting"
    status = 409


class AlreadyTerminal(RequestError):
    """A run that is to be cancelled has ended by itself before."""

    code = "already_terminal"
    status = 409


class ActionChanged(RequestError):
    """A decision names another action than the one that is proposed."""

    code = "action_changed"
    status = 409


class AlreadyDecided(RequestError):
    """Another decision was taken before this one."""

    code = "already_decided"
    status = 409


class ApprovalExpired(RequestError):
    """A decision came at or after the time by which it was asked for."""

    code = "approval_expired"
    status = 410


class NotEditable(RequestError):
    """An approver changed a member of the input that its step does not let them change."""

    code = "not_editable"
    status = 403

    def __init__(self, message: str, faults: tuple[Fault, ...] = ()) -> None:
        """Keep the faults for the problem document."""
        super().__init__(message)
        self.faults = faults


class NotResumable(RequestError):
    """The run has not failed, or resuming it cannot help."""

    code = "not_resumable"
    status = 409


class StoreError(OnwardError):
    """A commit did not go through."""


class Conflict(StoreError):
    """The run moved between reading and writing.

    `by` is the commit that wrote the event of this one; None when nobody had yet, so that this
    one may still arrive.
    """

    code = "conflict"
    retryable = True

    def __init__(self, message: str, by: str | None = None) -> None:
        """Keep whose commit won."""
        super().__init__(message)
        self.by = by


class Contended(StoreError):
    """The run kept moving until there was no time left to decide again."""

    code = "contended"
    status = 503
    retryable = True


class NotBegun(StoreError):
    """A store of ours was busy until the attempt's deadline: its tool was not called."""

    code = "not_begun"


class Unavailable(StoreError):
    """A service we stand on refused for want of capacity, or did not answer in time."""

    code = "unavailable"
    status = 503
    retryable = True
