"""Runs: their snapshot, their log, their effects, and what reading them takes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from typing_extensions import TypedDict

from onward.documents.schema import Described, Time
from onward.domain.delivery import SyncStatus
from onward.domain.effects import EffectState
from onward.domain.model import RunStatus, StepStatus

RunWord = Annotated[str, Described(enum=list(RunStatus))]


class FailureView(TypedDict):
    """Why a step or run failed, in words a person can act on."""

    code: str
    message: str
    step: NotRequired[str | None]


class ChildrenView(TypedDict):
    """How far a fan-out has got."""

    total: int
    done: int


class StepView(TypedDict):
    """A step as it stands. A large output is left out, or has a reference instead."""

    id: str
    tool: str
    status: Annotated[str, Described(enum=list(StepStatus))]
    attempts: int
    lane: NotRequired[int]
    waits_until: NotRequired[Time]
    started_at: Time | None
    ended_at: Time | None
    error: NotRequired[FailureView]
    output: NotRequired[Any]
    output_ref: NotRequired[str]
    output_omitted: NotRequired[bool]
    children: NotRequired[ChildrenView]


class OpenApprovalView(TypedDict):
    """An action of the run that waits for somebody's approval; `GET /approvals` has its input."""

    step_id: str
    tool: str
    action_version: str
    groups: list[str]
    expires_at: Time | None


class OpenQuestion(TypedDict):
    """A step whose outcome a person is to resolve, and why; also of a run that has failed."""

    step_id: str
    code: NotRequired[str]
    message: NotRequired[str]


class Counts(TypedDict):
    """Steps in all, finished and skipped, and the attempts they took together."""

    total: int
    done: int
    skipped: int
    attempts: int


class TokenUsage(TypedDict):
    """Tokens of language models."""

    input_tokens: int
    output_tokens: int


class ResultView(TypedDict):
    """What a run came to. A large result is null, and `result_refs` names its parts."""

    result: Any
    result_refs: NotRequired[list[str | None]]


class Snapshot(ResultView):
    """A run at one moment: everything up to and including event `as_of_seq`."""

    run_id: str
    workflow: str
    status: RunWord
    created_at: Time
    started_at: Time | None
    ended_at: Time | None
    as_of_seq: int
    generation: int
    deadline_at: Time | None
    labels: dict[str, str]
    steps: list[StepView]
    counts: Counts
    usage: TokenUsage
    downstream_synced: bool
    sync_status: Annotated[str, Described(enum=list(SyncStatus))]
    open_approvals: list[OpenApprovalView]
    open_questions: list[OpenQuestion]
    effects: dict[str, int]
    error: FailureView | None


class RunRow(TypedDict):
    """A run in a list."""

    run_id: str
    workflow: str
    status: RunWord
    created_at: Time
    ended_at: Time | None


class RunPage(TypedDict):
    """A page of runs, newest first; the token is null at the end of the list."""

    runs: list[RunRow]
    next_page_token: str | None


class CloudEvent(TypedDict):
    """A CloudEvent 1.0; `sequence` is the number of the event in its run, with zeros in front."""

    specversion: Literal["1.0"]
    id: str
    source: str
    type: str
    time: Time
    sequence: str
    datacontenttype: Literal["application/json"]
    data: dict[str, Any]


class EventPage(TypedDict):
    """A dense piece of a run's log. `ended`: the run is over and this page reaches its end.

    `retry_after` (seconds) is there where the request was to be held and could not be, as too many
    are; the header of that name says the same.
    """

    events: list[CloudEvent]
    next_after: int
    as_of_seq: int
    ended: bool
    retry_after: NotRequired[int]


class StreamFrame(TypedDict):
    """A frame of an event stream; `data` is a CloudEvent, or `{"as_of_seq"}` of `event: end`."""

    id: NotRequired[str]
    event: str
    data: str


class EffectView(TypedDict):
    """An action that may have touched the world; the receipt is JSON text, or by reference.

    `receipt_refused`: why the receipt cannot be the output of its step; the write was applied.
    """

    step_id: str
    tool: str
    state: Annotated[str, Described(enum=list(EffectState))]
    key: str
    action_version: str
    fence: int
    sent_fence: int | None
    intended_at: Time
    sent_at: Time | None
    unknown_since: Time | None
    duplicate_suspected_at: Time | None
    receipt_ref: str | None
    receipt: str | None
    receipt_refused: str | None


class EffectList(TypedDict):
    """A run's ledger, oldest action first."""

    run_id: str
    effects: list[EffectView]


class ArtifactView(TypedDict):
    """A reference to stored bytes, to pass as input and to download; `size` in bytes."""

    ref: str
    name: str
    size: int
    content_type: str


class UploadPlace(TypedDict):
    """Where to PUT the bytes within 15 minutes, with which headers, and what they will be."""

    upload_url: str
    headers: dict[str, str]
    artifact: ArtifactView


class RunTicketView(TypedDict):
    """To be sent as `?ticket=`; it can be used again until it runs out."""

    ticket: str
    use: Literal["sse"]
    run_id: str
    expires_at: Time


class SocketTicketView(TypedDict):
    """To be sent as `?ticket=` to the address; it opens one socket."""

    ticket: str
    use: Literal["ws"]
    url: str
    expires_at: Time


class ProblemFault(TypedDict):
    """One thing that is wrong: where (RFC 6901 JSON Pointer, or a parameter) and what."""

    pointer: str
    message: str


class Problem(TypedDict):
    """An error (RFC 9457). Programs go by `code`; `retryable`: the same call may succeed later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    run_id: NotRequired[str]
    errors: NotRequired[list[ProblemFault]]
    as_of_seq: NotRequired[int]


class ApprovalView(TypedDict):
    """An action that waits for somebody to approve it: the tool with its input, and who may."""

    run_id: str
    step_id: str
    workflow: str
    tool: str
    input: Any
    action_version: str
    groups: list[str]
    editable: list[str]
    not_submitter: bool
    asked_at: Time
    expires_at: Time | None
    on_expiry: Annotated[str, Described(enum=["fail", "reject"])]


class ApprovalPage(TypedDict):
    """Open approvals of all runs, oldest first."""

    approvals: list[ApprovalView]
    next_page_token: str | None


class DecisionView(TypedDict):
    """What was decided on an action; `approved_version` is another where it was edited."""

    run_id: str
    step_id: str
    state: Annotated[str, Described(enum=["open", "approved", "rejected", "expired", "withdrawn"])]
    tool: str
    action_version: str
    approved_version: str | None
    decided_by: str | None
    decided_at: Time | None
    comment: str
