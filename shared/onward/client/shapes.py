"""The JSON that the API answers, as types.

They are views of what came over the wire: a newer service may send more, and it is kept.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class Fault(TypedDict):
    """One thing wrong with a request: where (RFC 6901 JSON Pointer) and what."""

    pointer: str
    message: str


class Artifact(TypedDict):
    """A reference to stored bytes, to pass as input and to download; `size` in bytes."""

    ref: str
    name: str
    size: int
    content_type: str


class RunRow(TypedDict):
    """A run in a list; times are RFC 3339."""

    run_id: str
    workflow: str
    status: str
    created_at: str
    ended_at: str | None


class RunPage(TypedDict):
    """A page of runs, and where the next one begins."""

    runs: list[RunRow]
    next_page_token: str | None


class SocketTicket(TypedDict):
    """A ticket that opens one socket at `url`, sent there as `?ticket=`."""

    ticket: str
    use: str
    url: str
    expires_at: str


class RunTicket(TypedDict):
    """A ticket for one run's events."""

    ticket: str
    use: str
    run_id: str
    expires_at: str


class Event(TypedDict):
    """A CloudEvent 1.0; `sequence` is the event's number in its run, padded with zeros."""

    specversion: str
    id: str
    source: str
    type: str
    time: str
    sequence: str
    datacontenttype: str
    data: dict[str, Any]


class Page(TypedDict):
    """A dense piece of a run's log. `ended`: the run is over and this page reaches its end.

    `retry_after`: seconds to wait before asking again, where the question could not be held.
    """

    events: list[Event]
    next_after: int
    as_of_seq: int
    ended: bool
    retry_after: NotRequired[int]


class Failure(TypedDict, total=False):
    """Why a step or run failed, in words a person can act on."""

    code: str
    message: str
    step: str | None


class Children(TypedDict):
    """How far a `for_each` has got."""

    total: int
    done: int


class StepView(TypedDict, total=False):
    """A step as the snapshot shows it; times are RFC 3339."""

    id: str
    tool: str
    status: str
    attempts: int
    lane: int
    started_at: str | None
    ended_at: str | None
    error: Failure
    output: Any
    children: Children


class Counts(TypedDict):
    """Steps in all, finished, skipped; and the attempts they took together."""

    total: int
    done: int
    skipped: int
    attempts: int


class Usage(TypedDict):
    """Tokens that model calls cost."""

    input_tokens: int
    output_tokens: int


class Snapshot(TypedDict):
    """A run at one moment: everything up to and including event `as_of_seq`."""

    run_id: str
    workflow: str
    status: str
    created_at: str
    started_at: str | None
    ended_at: str | None
    as_of_seq: int
    generation: int
    deadline_at: str | None
    labels: dict[str, str]
    steps: list[StepView]
    counts: Counts
    usage: Usage
    downstream_synced: bool
    sync_status: str
    open_approvals: list[Any]
    open_questions: list[Any]
    effects: dict[str, int]
    result: Any
    error: Failure | None
