"""The documents that the API answers, as its description shows them.

Later versions may add members, so a client ignores those that it does not know.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field, RootModel

from onward.domain.effects import EffectState
from onward.domain.model import RunStatus, StepStatus
from onward.sdk.artifact import Artifact

JsonSchema = dict[str, Any]

_ABSENT: Any = Field(default_factory=lambda: None)
"""For members that are left out when there is nothing to say; a factory shows no default."""


class Fault(BaseModel):
    """One thing that is wrong: where (RFC 6901 JSON Pointer, or a parameter) and what."""

    pointer: str
    message: str


class Problem(BaseModel):
    """An error (RFC 9457). Programs go by `code`; `retryable`: the same call may succeed later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    run_id: str = _ABSENT
    errors: list[Fault] = _ABSENT
    as_of_seq: int = _ABSENT


class Reason(BaseModel):
    """Why a step or run failed."""

    code: str
    message: str
    step: str | None = _ABSENT


class Children(BaseModel):
    """How far a fan-out has got."""

    total: int
    done: int


class Step(BaseModel):
    """A step as it stands. A large output is left out, or has a reference instead."""

    id: str
    tool: str
    status: StepStatus
    attempts: int
    lane: int = _ABSENT
    started_at: datetime | None
    ended_at: datetime | None
    error: Reason = _ABSENT
    output: Any = _ABSENT
    output_ref: str = _ABSENT
    output_omitted: bool = _ABSENT
    children: Children = _ABSENT


class Question(BaseModel):
    """A step whose outcome a person is to resolve, and why; also of a run that has failed."""

    step_id: str
    code: str = _ABSENT
    message: str = _ABSENT


class Counts(BaseModel):
    """Steps in all, finished and skipped, and the attempts they took together."""

    total: int
    done: int
    skipped: int
    attempts: int


class Usage(BaseModel):
    """Tokens of language models."""

    input_tokens: int
    output_tokens: int


class Run(BaseModel):
    """A run at one moment: everything up to and including event `as_of_seq`."""

    run_id: str
    workflow: str
    status: RunStatus
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    as_of_seq: int
    generation: int
    deadline_at: datetime | None
    labels: dict[str, str]
    steps: list[Step]
    counts: Counts
    usage: Usage
    downstream_synced: bool
    sync_status: Literal["not_applicable", "pending", "synced", "unknown", "dead"]
    open_approvals: list[dict[str, Any]]
    open_questions: list[Question]
    effects: dict[str, int]
    result: Any
    result_refs: list[str | None] = _ABSENT
    error: Reason | None


class RunRow(BaseModel):
    """A run in a list."""

    run_id: str
    workflow: str
    status: RunStatus
    created_at: datetime
    ended_at: datetime | None


class Runs(BaseModel):
    """A page of runs, newest first; the token is null at the end of the list."""

    runs: list[RunRow]
    next_page_token: str | None


class CloudEvent(BaseModel):
    """A CloudEvent 1.0; `sequence` is the number of the event in its run, with zeros in front."""

    specversion: Literal["1.0"]
    id: str
    source: str
    type: str
    time: datetime
    sequence: str
    datacontenttype: Literal["application/json"]
    data: dict[str, Any]


class Events(BaseModel):
    """A dense piece of a run's log. `ended`: the run is over and this page reaches its end.

    `retry_after` (seconds) is there where the request was to be held and could not be, as too many
    are; the header of that name says the same.
    """

    events: list[CloudEvent]
    next_after: int
    as_of_seq: int
    ended: bool
    retry_after: int = 0


class Effect(BaseModel):
    """An action that may have touched the world; the receipt is JSON text, or by reference.

    `receipt_refused`: why the receipt cannot be the output of its step; the write was applied.
    """

    step_id: str
    tool: str
    state: EffectState
    key: str
    action_version: str
    fence: int
    sent_fence: int | None
    intended_at: datetime
    sent_at: datetime | None
    unknown_since: datetime | None
    duplicate_suspected_at: datetime | None
    receipt_ref: str | None
    receipt: str | None
    receipt_refused: str | None


class Effects(BaseModel):
    """A run's ledger, oldest action first."""

    run_id: str
    effects: list[Effect]


class Cause(BaseModel):
    """Interruptions of one kind: which steps they hit most, and what recovery saved."""

    cause: str
    count: int
    typical_steps: list[str]
    resume_median_seconds: float
    resume_max_seconds: float
    tokens_saved: int
    duplicates_prevented: int


class Recovery(BaseModel):
    """Incidents of the last days, the most frequent cause first."""

    days: int
    causes: list[Cause]


class Rounds(BaseModel):
    """How many runs the patrol looked at, its repairs by kind, and whether others are left."""

    looked: int
    repairs: dict[str, int]
    more: bool = _ABSENT


class Frame(BaseModel):
    """A frame of an event stream; `data` is a CloudEvent, or `{"as_of_seq"}` of `event: end`."""

    id: str = _ABSENT
    event: str
    data: str


class Place(BaseModel):
    """Where to PUT the bytes within 15 minutes, with which headers, and what they will be."""

    upload_url: str
    headers: dict[str, str]
    artifact: Artifact


class RunTicket(BaseModel):
    """To be sent as `?ticket=`; it can be used again until it runs out."""

    ticket: str
    use: Literal["sse"]
    run_id: str
    expires_at: datetime


class SocketTicket(BaseModel):
    """To be sent as `?ticket=` to the address; it opens one socket."""

    ticket: str
    use: Literal["ws"]
    url: str
    expires_at: datetime


class Ticket(RootModel[RunTicket | SocketTicket]):
    """What was asked for."""


class Retry(BaseModel):
    """Tries in all, and the back-off in seconds."""

    attempts: int
    base: float
    cap: float


class Tool(BaseModel):
    """A tool that plans can use; times in seconds. `expands`: it may add steps to its run."""

    name: str
    description: str
    effect: Literal["read", "write"]
    idempotency: Literal["native", "probe", "fenced", "none"] | None
    key_ttl: float | None
    settles_after: float | None
    timeout: int
    retry: Retry
    expands: bool
    input_schema: JsonSchema
    output_schema: JsonSchema


class Tools(BaseModel):
    """All tools by name."""

    tools: list[Tool]


class Workflow(BaseModel):
    """A workflow that runs can name; `plan` is what they begin with."""

    name: str
    version: int
    input_schema: JsonSchema
    output_schema: JsonSchema
    plan: dict[str, Any]


class Workflows(BaseModel):
    """All workflows by name."""

    workflows: list[Workflow]
