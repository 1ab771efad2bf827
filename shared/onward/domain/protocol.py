"""What goes into the state machine and what comes out of it.

`decide(view, command, now)` answers with an Outcome, or raises RowsMissing naming the rows it
needs to see; the caller reads them into the view and asks again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from onward.domain.model import (
    MAIN_LANE,
    Event,
    Failure,
    Json,
    Payload,
    PlannedStep,
    Run,
    Step,
    Usage,
    attempt_id,
)

if TYPE_CHECKING:
    from onward.domain.effects import Effect
    from onward.domain.incidents import Incident
    from onward.domain.manifest import Gathering
    from onward.domain.waits import ApprovalRequest, Awaited


Record: TypeAlias = "Effect | ApprovalRequest | Awaited"
"""What a step may have one of, in a row of its own beside the step's."""

RecordT = TypeVar("RecordT", "Effect", "ApprovalRequest", "Awaited")


@dataclass(frozen=True, slots=True)
class Begin:
    """An execution of the driver starts; open attempts are perhaps still running."""


@dataclass(frozen=True, slots=True)
class Settle:
    """The main lane asks what is next: after a Map, after a Park, or for a handoff."""


@dataclass(frozen=True, slots=True)
class WakeLane:
    """The parked lane of a Map asks what is next: it was signalled, or the first wait is over."""

    lane: int


@dataclass(frozen=True, slots=True)
class Extension:
    """A part that an attempt wrote ahead; it exists once the attempt's commit adopts it.

    `part` is named after the attempt, so that two attempts never write the same rows. `seen` is
    how often the run had been extended when the part was validated.
    """

    part: str
    added: tuple[str, ...]
    roots: int
    seen: int


@dataclass(frozen=True, slots=True)
class Complete:
    """An attempt's tool returned, or its probe found the write applied (`reconciled`).

    `started_at` is when the attempt really began, in epoch seconds.
    """

    step_id: str
    fence: int
    output: Payload
    usage: Usage = field(default_factory=Usage)
    started_at: float | None = None
    reconciled: bool = False
    extension: Extension | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """An attempt's tool raised. `jitter` in [0, 1) spreads the back-off.

    `called` is false when the tool was not: the attempt came too late, or a store of ours was
    busy until its deadline. That is no failure of its step, and takes nothing off any budget.
    """

    step_id: str
    fence: int
    failure: Failure
    jitter: float = 0.0
    usage: Usage = field(default_factory=Usage)
    started_at: float | None = None
    called: bool = True


@dataclass(frozen=True, slots=True)
class Recover:
    """The driver lost an attempt. `dead`: the process of invocation `request` is gone for sure.

    `called` is false when it was never begun, for want of capacity (`jitter` as in Fail) or, if
    `gone`, because the version of the worker that its run is pinned to is no more. `frozen`: the
    task's time was up and the process had not ended itself, as one that runs does. `costs` is
    false where the tool was called and a store of ours was in the way of the commit.
    """

    step_id: str
    fence: int
    lane: int
    cause: str
    dead: bool
    called: bool = True
    gone: bool = False
    frozen: bool = False
    costs: bool = True
    jitter: float = 0.0
    request: str | None = None


TIMED_OUT: Final = "timed_out"
"""The cause of an attempt whose process ended itself at its deadline."""


@dataclass(frozen=True, slots=True)
class Report:
    """A running attempt tells how far it is; `fraction` in [0, 1]."""

    step_id: str
    fence: int
    fraction: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Restart:
    """The execution of this generation is dead: fence it and queue the next one.

    `by_itself` is false when it was stopped from outside, or was refused until its history was
    full: that says nothing of whether the run can be driven, so it is no stall.
    """

    cause: str
    by_itself: bool = True


class Verdict(StrEnum):
    """What an operator says of a write whose outcome nobody knew."""

    APPLIED = "applied"
    NOT_APPLIED = "not_applied"
    ABANDON = "abandon"


@dataclass(frozen=True, slots=True)
class Resolve:
    """An operator answers for a step in doubt; `result` is its output where it was applied."""

    step_id: str
    verdict: Verdict
    by: str
    result: Payload | None = None


@dataclass(frozen=True, slots=True)
class DecideApproval:
    """A person approves or rejects the action that a step proposes.

    `action_version` is the one that was seen. `edited`: the action to do instead, checked before.
    """

    step_id: str
    approve: bool
    action_version: str
    by: str
    comment: str = ""
    edited: Resolved | None = None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody cancels the run, for this reason."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TakeReceipt:
    """A worker put a receipt on its ledger row although its attempt had been given up."""

    step_id: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A receiver that was asked once more holds an action twice; `key` is the other one's."""

    step_id: str
    key: str


@dataclass(frozen=True, slots=True)
class Resume:
    """An operator lets a failed run go on; `steps` are those that failed or were cancelled."""

    by: str
    steps: tuple[str, ...]


DriverCommand: TypeAlias = Begin | Settle | WakeLane | Complete | Fail | Recover | Report | Restart
OutsideCommand: TypeAlias = Resolve | Resume | TakeReceipt | Suspect | DecideApproval | Cancel
"""Commands that no execution of the driver gives; the run may have ended."""

Command: TypeAlias = DriverCommand | OutsideCommand
OfStep: TypeAlias = (
    Complete | Fail | Recover | Report | Resolve | TakeReceipt | Suspect | DecideApproval
)


class Do(StrEnum):
    """What the driver does next."""

    STEP = "step"
    FANOUT = "fanout"
    WAIT = "wait"
    DELAY = "delay"
    HANDOFF = "handoff"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Decision:
    """The driver's next move; travels through Step Functions, so it carries ids only.

    `timeout` and `seconds` are whole seconds. `function` is the pinned version's ARN.
    """

    run_id: str
    generation: int
    do: Do
    step_id: str = ""
    fence: int = 0
    lane: int = 0
    plan_key: str = ""
    function: str = ""
    timeout: int = 0
    seconds: int = 0
    seq: int = 0
    lanes: tuple[Decision, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the document that the state machine reads, without what this move ignores."""
        document: dict[str, Json] = {
            "run_id": self.run_id,
            "generation": self.generation,
            "do": self.do.value,
        }
        if self.do in {Do.STEP, Do.DELAY}:
            document |= {name: getattr(self, name) for name in _ATTEMPT_FIELDS}
        if self.do in {Do.WAIT, Do.DELAY}:
            document["seconds"] = self.seconds
        if self.do is Do.WAIT:
            document["seq"] = self.seq
        if self.do is Do.WAIT and self.lane != MAIN_LANE:
            document["lane"] = self.lane
        if self.do is Do.FANOUT:
            document["lanes"] = [lane.to_json() for lane in self.lanes]
        return document

    @property
    def attempt_id(self) -> str:
        """The id of the attempt to run."""
        return attempt_id(self.step_id, self.fence)


_ATTEMPT_FIELDS: Final = ("step_id", "fence", "lane", "plan_key", "function", "timeout")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A claim's input with every reference filled in, or why that cannot be done.

    `digest` is the action version: the hash of tool and input. `items` counts a `for_each`,
    `size` is about how many bytes of JSON the input has. `late` is the step whose outputs were not
    read in time, where there is time no more. `unmet`: the step's condition is not true. `key` and
    `until` are what a step that waits is resolved to.
    """

    payload: Payload | None = None
    digest: str = ""
    items: int = 0
    size: int = 0
    fault: str | None = None
    late: str | None = None
    unmet: bool = False
    key: str | None = None
    until: float | None = None


@dataclass(slots=True)
class View:
    """What has been read of a run. A step or record mapped to None has no row.

    `hurried`: there is no time to make inputs or manifests; the next commit, which is settle's, is
    to claim steps and end fan-outs.
    """

    run: Run
    plan: dict[str, PlannedStep] = field(default_factory=dict)
    steps: dict[str, Step | None] = field(default_factory=dict)
    records: dict[type, dict[str, Any]] = field(default_factory=dict)
    inputs: dict[str, Resolved] = field(default_factory=dict)
    manifests: dict[Gathering, Payload] = field(default_factory=dict)
    hurried: bool = False

    def of(self, kind: type[RecordT]) -> dict[str, RecordT | None]:
        """Return the records of one kind that were read, by step."""
        return self.records.setdefault(kind, {})


@dataclass(frozen=True, slots=True)
class Claim:
    """A step that is about to be claimed: its id, planned step and fan-out index."""

    step_id: str
    plan_key: str
    index: int | None = None


class RowsMissing(LookupError):
    """The view lacks these rows; read them and decide again.

    Inputs are claims to resolve, manifests those of fan-outs to write.
    """

    def __init__(
        self,
        plan: frozenset[str] = frozenset(),
        steps: frozenset[str] = frozenset(),
        records: frozenset[tuple[type, str]] = frozenset(),
        inputs: frozenset[Claim] = frozenset(),
        manifests: frozenset[Gathering] = frozenset(),
    ) -> None:
        """Name what is missing, by plan key, step id and claim."""
        found = sorted(f"{kind.__name__} {step_id}" for kind, step_id in records)
        text = f"plan={sorted(plan)} steps={sorted(steps)} records={found}"
        super().__init__(f"{text} inputs={len(inputs)} manifests={len(manifests)}")
        self.plan = plan
        self.steps = steps
        self.records = records
        self.inputs = inputs
        self.manifests = manifests


class PartsMoved(LookupError):
    """Another step added steps meanwhile: validate the extension against the run as it is now."""


class AttemptClosed(LookupError):
    """The attempt is not open, or another took it over: it may change nothing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The changed rows, new events and next move; equal `before` and `run` mean no commit.

    `steps` and `records` pair each row as it was read (None: a birth) with what it becomes.
    """

    before: Run
    run: Run
    decision: Decision
    steps: tuple[tuple[Step | None, Step], ...] = ()
    records: tuple[tuple[Record | None, Record], ...] = ()
    events: tuple[Event, ...] = ()
    incidents: tuple[Incident, ...] = ()

    def of(self, kind: type[RecordT]) -> list[tuple[RecordT | None, RecordT]]:
        """Return the changed records of one kind."""
        found: Any = [pair for pair in self.records if isinstance(pair[1], kind)]
        return list(found)

    @property
    def changes(self) -> bool:
        """Whether there is anything to commit; every commit has an event."""
        return bool(self.events)
