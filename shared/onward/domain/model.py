"""The nouns: run, step, effect, event, and the statuses they may have.

Plain frozen dataclasses, because every handler imports them on its cold path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from onward.domain.limits import FUNCTION_SECONDS, MAX_STALLS, MAX_STEPS, RunLimits

if TYPE_CHECKING:
    from onward.domain.incidents import Interruption
    from onward.domain.waits import ApprovalTerms, WaitTerms

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

MAIN_LANE = 0
FIRST_PART = "0"


class RunStatus(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_HUMAN = "waiting_human"
    WAITING_EXTERNAL = "waiting_external"
    NEEDS_RECONCILIATION = "needs_reconciliation"
    BACKING_OFF = "backing_off"
    CANCEL_REQUESTED = "cancel_requested"
    COMPENSATING = "compensating"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        """Whether the status absorbs."""
        return self in {RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.CANCELLED}


class StepStatus(StrEnum):
    """Where a step stands. `pending` has no row: a row is born in the first claim."""

    PENDING = "pending"
    EXECUTING = "executing"
    BACKING_OFF = "backing_off"
    WAITING_HUMAN = "waiting_human"
    WAITING_EXTERNAL = "waiting_external"
    UNKNOWN = "unknown"
    NEEDS_RECONCILIATION = "needs_reconciliation"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    COMPENSATING = "compensating"
    COMPENSATED = "compensated"
    COMPENSATION_FAILED = "compensation_failed"


@dataclass(frozen=True, slots=True)
class Payload:
    """A JSON value at rest: its text, or the reference of the blob that holds `size` bytes.

    `refused`: why a receipt cannot be its step's output. It shows what a tool returned as far as
    JSON carries that, to people; no step is ever given it.
    """

    text: str | None = None
    ref: str | None = None
    refused: str | None = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """How a step is tried, copied into the run so that a redeploy changes nothing.

    `function_seconds` is how long a process that runs the tool can live: its function's time-out.
    """

    effect: str = "read"
    idempotency: str | None = None
    attempts: int = 4
    backoff_base: float = 1.0
    backoff_cap: float = 60.0
    timeout: int = 60
    settles_after: float = 30.0
    key_ttl: float | None = None
    function_seconds: int = FUNCTION_SECONDS

    @property
    def writes(self) -> bool:
        """Whether the tool changes the world."""
        return self.effect == "write"


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One immutable step of a plan.

    `singles` are the dependents that need nothing else, `joins` those that need more, with how
    many in all. The row with an empty id lists a part's roots as singles. `when` is the condition
    without which it is skipped; one that `wait`s has no tool.
    """

    key: str
    tool: str = ""
    entry: str = ""
    input: Json = None
    needs: tuple[str, ...] = ()
    singles: tuple[str, ...] = ()
    joins: tuple[tuple[str, int], ...] = ()
    for_each: Json = None
    optional: bool = False
    expands: bool = False
    policy: Policy = field(default_factory=Policy)
    when: Json = None
    approval: ApprovalTerms | None = None
    wait: WaitTerms | None = None

    @property
    def step_id(self) -> str:
        """The step's id, unique in its run."""
        return step_of(self.key)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt, a step or a run failed, in words a person can act on."""

    code: str
    message: str
    retryable: bool = False
    retry_after: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What model calls cost."""

    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total(self) -> int:
        """Tokens in both directions."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        sent = self.input_tokens + other.input_tokens
        return Usage(sent, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was claimed at least once. Times are epoch seconds; `fence` never falls.

    `attempt` is the number of the latest attempt. It is not the fence, which waits and questions
    raise too; one that never reached its tool (`unbegun`) leaves its number to the next. `tries`
    are attempts that count, `freezes` workers in a row that froze instead of ending.
    `counted`: how many of the steps that it `added` had ended when the run row let that number go.
    """

    step_id: str
    plan_key: str
    status: StepStatus
    fence: int = 1
    attempt: int = 0
    unbegun: bool = False
    tries: int = 0
    freezes: int = 0
    index: int | None = None
    children: int | None = None
    input: Payload | None = None
    output: Payload | None = None
    error: Failure | None = None
    usage: Usage = field(default_factory=Usage)
    started_at: float | None = None
    ended_at: float | None = None
    not_before: float | None = None
    deadline: float | None = None
    lost: Interruption | None = None
    added: tuple[str, ...] = ()
    counted: int | None = None
    at_seq: int = 0

    @property
    def next_attempt(self) -> int:
        """The number of the next attempt: another one only if the latest may have begun."""
        return self.attempt + (not self.unbegun)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The dependents of `of` from `at` to `end` are ready and not yet claimed."""

    of: str
    at: int
    end: int


@dataclass(frozen=True, slots=True)
class Fan:
    """How far a `for_each` has got: items in all, next unclaimed index, finished children."""

    total: int
    next: int = 0
    done: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a step waits and until when (epoch seconds; None: until somebody answers)."""

    kind: StepStatus
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Failing:
    """The run will fail with this, or be `cancelled`, once its open attempts have stopped."""

    failure: Failure
    step_id: str | None = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """The row that every commit is conditioned on; at most about 1 KB whatever the plan.

    `seq` is the last event and the version; `sync_revision` counts what became known of its
    delivery after the end. From `expired_at` on its log and checkpoints are gone. `frontier`
    holds the joins that are met in part (needs still missing) or met and unclaimed (0); `ready`
    the dependents with a single need. `extensions` counts how often steps were added; `extended`
    says of a few that added others how many of those have ended. `max_steps` and `max_children`
    are what its plan and its fan-outs may grow to, `bytes_left` what its inputs may still come to.
    `parked` is the lane of a Map that waits with the run's waits while other lanes work.
    `looks` are writes that were sent again, and when their receivers are to be asked once more.
    """

    run_id: str
    tenant: str
    workflow: str
    status: RunStatus
    worker: str
    steps_total: int
    result_from: str
    created_at: float
    seq: int = 0
    generation: int = 1
    extensions: int = 0
    frontier: dict[str, int] = field(default_factory=dict)
    ready: tuple[Cursor, ...] = ()
    fans: dict[str, Fan] = field(default_factory=dict)
    extended: dict[str, Fan] = field(default_factory=dict)
    open: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, Wait] = field(default_factory=dict)
    failing: Failing | None = None
    done: int = 0
    skipped: int = 0
    attempts: int = 0
    decisions: int = 0
    retries_left: int = 0
    tokens_left: int | None = None
    max_steps: int = MAX_STEPS
    max_children: int = RunLimits().children
    children: int = 0
    bytes_left: int = RunLimits().bytes
    usage: Usage = field(default_factory=Usage)
    started_at: float | None = None
    ended_at: float | None = None
    deadline: float | None = None
    due_at: int | None = None
    park_token: str | None = None
    parked: int | None = None
    stalls: int = 0
    lost: Interruption | None = None
    sync_revision: int = 0
    expired_at: int | None = None
    traceparent: str = ""
    tracestate: str = ""
    looks: dict[str, float] = field(default_factory=dict)

    @property
    def children_left(self) -> int:
        """How many children its fan-outs may still have."""
        return max(0, self.max_children - self.children)

    @property
    def cancelled(self) -> bool:
        """Whether somebody cancelled it, whatever its status says meanwhile (it may stall)."""
        return self.failing is not None and self.failing.cancelled

    @property
    def stalled(self) -> bool:
        """Whether so many executions died without a commit that only an operator helps."""
        return self.status is RunStatus.NEEDS_RECONCILIATION and self.stalls >= MAX_STALLS


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a run's log. `start` asks for an execution of that generation."""

    seq: int
    type: str
    at: float
    data: dict[str, Json]
    start: int | None = None


def plan_key(part: str, step_id: str) -> str:
    """Return the key of a planned step."""
    return f"{part}#{step_id}"


def part_of(key: str) -> str:
    """Return the part that a plan key belongs to."""
    return key.split("#", 1)[0]


def step_of(key: str) -> str:
    """Return the step id in a plan key."""
    return key.split("#", 1)[1]


def child_id(step_id: str, index: int) -> str:
    """Return the id of a fan-out's child."""
    return f"{step_id}.{index}"


def attempt_id(step_id: str, fence: int) -> str:
    """Return the id of one opening of a step: its fence tells it from every other."""
    return f"{step_id}#{fence}"
