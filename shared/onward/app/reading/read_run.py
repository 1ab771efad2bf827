"""The snapshot of a run: everything up to and including event `as_of_seq`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from onward.app.ids import RUN_ID
from onward.app.reading.load_result import children_of, load_result
from onward.app.reading.snapshot import Seen, snapshot
from onward.domain.delivery import SyncStatus
from onward.domain.effects import Effect
from onward.domain.errors import RunNotFound
from onward.domain.model import RunStatus, StepStatus, part_of
from onward.domain.nesting import adder, adopted
from onward.domain.waits import ApprovalRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onward.app.service import Looking, Reading
    from onward.aws.run_reader import RunReader
    from onward.documents.runs import Snapshot
    from onward.domain.model import PlannedStep, Run, Step

_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')
_TRIES: Final = 4
_ATTEMPTED: Final = frozenset({StepStatus.EXECUTING, StepStatus.BACKING_OFF})


@dataclass(frozen=True, slots=True)
class Answer:
    """A snapshot and its validator; without a document the caller's copy is still good."""

    etag: str
    document: Snapshot | None


@dataclass(slots=True)
class _Rows:
    """What was read after a run row."""

    plan: list[PlannedStep]
    steps: dict[str, Step]
    effects: list[Effect] = field(default_factory=list)
    approvals: list[ApprovalRequest] = field(default_factory=list)


def find_run(service: Looking, tenant: str, run_id: str) -> Run:
    """Return a run row; raises RunNotFound also for another tenant's."""
    run = service.reader.run(run_id) if RUN_ID.fullmatch(run_id) else None
    if run is None or run.tenant != tenant:
        raise RunNotFound("there is no such run")
    return run


def etag_of(run: Run, sync: SyncStatus) -> str:
    """Return the strong validator `seq.sync_revision`: events, and what is known of deliveries.

    Who is to hear of a run changes with the tenant's endpoints, and the run row knows nothing of
    that; so the second number counts in steps of the statuses, and has the status in it.
    """
    known = list(SyncStatus)
    return f'"{run.seq}.{run.sync_revision * len(known) + known.index(sync)}"'


def is_expired(run: Run, now: float) -> bool:
    """Whether the run's log and checkpoints count as gone; their rows may be there for days yet."""
    return run.expired_at is not None and run.expired_at <= now


def read_run(
    service: Reading,
    tenant: str,
    run_id: str,
    *,
    if_none_match: str | None = None,
    children: bool = False,
    sync: Callable[[Run], SyncStatus] = lambda _run: SyncStatus.NOT_APPLICABLE,
) -> Answer:
    """Return a run's snapshot, or only its validator when the caller has that one already.

    `children` lists the steps of fan-outs one by one; `sync` tells who has heard of it. Raises
    RunNotFound.
    """
    run = find_run(service, tenant, run_id)
    if if_none_match and _matches(if_none_match, tag := etag_of(run, sync(run))):
        return Answer(tag, None)
    run, rows = _consistent(service, run, children=children)
    submission = None
    if not is_expired(run, service.clock()):
        submission = service.reader.rows(run_id, submission=True).submission
    heard = sync(run)
    seen = Seen(run, submission, rows.plan, rows.steps, rows.effects, heard, rows.approvals)
    document = snapshot(seen, children=children)
    if run.status is RunStatus.SUCCEEDED:
        document = {**document, **load_result(service, run, rows.steps.get(run.result_from))}
    return Answer(etag_of(run, heard), document)


def _consistent(service: Reading, run: Run, *, children: bool) -> tuple[Run, _Rows]:
    """Read rows that belong to one moment, which is the seq of the run row returned.

    The reads are single. The run row (seq s) comes first, so all others are at least as new as
    event s; the run row again (still s) says that no commit ended in between, and `_agree` that
    none was seen in part. A run that moves in every one of a few tries is answered as it was
    read: with the s from *before* its rows, which may then show a little more than s says. A
    client that goes on from s is told of that once more by the events; from a later s it would
    miss what had not been visible yet.
    """
    rows = _read(service, run, children=children)
    for _ in range(_TRIES - 1):
        again = service.reader.run(run.run_id)
        if again is None:
            raise RunNotFound("there is no such run")
        if again.seq == run.seq and _agree(run, rows.steps.values()):
            break
        run, rows = again, _read(service, again, children=children)
    return run, rows


def _agree(run: Run, steps: Iterable[Step]) -> bool:
    """Whether step rows are neither newer nor older than the run row.

    Newer: a later commit is being applied. Older: the run row's own commit is, for DynamoDB
    applies a transaction's items one after the other and queries see them so. Open attempts
    of children (`compare.0`) count only where children were read. Steps that fanned out or added
    others are executing without an attempt of their own.
    """
    rows = list(steps)
    own = [step for step in rows if step.children is None and not step.added]
    attempts = {step.step_id: step.status for step in own}
    executing = {i for i, status in attempts.items() if status is StepStatus.EXECUTING}
    visible = [i for i in run.open if i in attempts or "." not in i]
    return (
        all(step.at_seq <= run.seq for step in rows)
        and executing <= run.open.keys()
        and all(attempts.get(i) in _ATTEMPTED for i in visible)
    )


def _read(service: Reading, run: Run, *, children: bool) -> _Rows:
    """Read the plan with the parts that were adopted, the claimed steps and the ledger.

    Children of a fan-out may be ten thousand: without a call for them they are read only where
    nothing else says how many of them ended.
    """
    reader, run_id = service.reader, run.run_id
    if is_expired(run, service.clock()):
        return _Rows([], {}, reader.records(run_id, Effect))
    plan = [step for step in reader.plan(run_id) if step.step_id]
    if children or not any(step.for_each is not None for step in plan):
        found = reader.steps(run_id)
    else:
        own = reader.rows(run_id, steps=[step.step_id for step in plan]).steps
        found = [step for step in own.values() if step is not None]
        for parent in [step for step in found if _uncounted(run, step)]:
            found += children_of(service, run_id, parent)
    steps = {step.step_id: step for step in found}
    plan = [step for step in plan if _adopted(step, steps)]
    return _Rows(plan, steps, reader.records(run_id, Effect), _asked(reader, run))


def _asked(reader: RunReader, run: Run) -> list[ApprovalRequest]:
    """Return what people are asked to approve; nothing is read where nobody is."""
    kinds = {step_id: wait.kind for step_id, wait in run.waiting.items()}
    waiting = [step_id for step_id, kind in kinds.items() if kind is StepStatus.WAITING_HUMAN]
    if not waiting:
        return []
    wanted = [(ApprovalRequest, step_id) for step_id in waiting]
    found = reader.rows(run.run_id, records=wanted).of(ApprovalRequest).values()
    return [request for request in found if request is not None]


def _adopted(planned: PlannedStep, steps: dict[str, Step]) -> bool:
    """Whether a planned step is of a part that was adopted: others were written ahead in vain."""
    part = part_of(planned.key)
    return adopted(part, steps.get(adder(part)))


def _uncounted(run: Run, step: Step) -> bool:
    """Whether only a fan-out's children know how many of them ended: it was given up."""
    ended_well = step.status is StepStatus.SUCCEEDED
    return step.children is not None and step.plan_key not in run.fans and not ended_well


def _matches(header: str, etag: str) -> bool:
    """Whether `If-None-Match` names a validator; comparison is weak (RFC 9110, 13.1.2).

    Tags are found by their quotes: a comma or star may also stand inside one.
    """
    return header.strip() == "*" or etag in _TAG.findall(header)
