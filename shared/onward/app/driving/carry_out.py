"""Read, decide, commit; on a conflict again, until the time is up."""

from __future__ import annotations

import math
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from onward.app.driving.checkpoints import Outputs, Resolver
from onward.app.driving.meter import meter
from onward.app.driving.wake_driver import signal
from onward.app.payloads.manifests import write_manifest
from onward.app.payloads.store import Clock, TooSlow, load
from onward.aws.batches import LEAST_JITTER
from onward.aws.failures import may_pass
from onward.domain.errors import Conflict, Contended, RunNotFound
from onward.domain.machine import decide
from onward.domain.machine.move import rouses
from onward.domain.protocol import Begin, Complete, OfStep, Resolved, RowsMissing, Settle, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from onward.aws.blobs import Blobs
    from onward.aws.run_reader import RunReader
    from onward.aws.run_store import RunStore
    from onward.domain.model import Json, Payload, PlannedStep, Run, Step
    from onward.domain.protocol import Claim, Command, Outcome

COMMIT_MARGIN: Final = 5.0
"""Seconds before a function's end at which it stops trying to commit."""

RESOLVE_MARGIN: Final = 5.0
"""Seconds before that at which it stops reading outputs, so that there is time for a commit."""

_BASE, _CAP = 0.01, 0.5
_LATE: Final = "the outputs that {} takes were not read in time; a resume tries again"
_KEPT_STEPS: Final = 512
_KEPT_INPUTS: Final = 16

K = TypeVar("K")
V = TypeVar("V")


@dataclass(slots=True)
class Drive:
    """What moving runs takes: the store, and the world's clock, ids, chance and sleep.

    Planned steps and submissions never change, so a warm process keeps them. `ended` is told of
    each end that was committed here; it is a second way to those who wait for it, and may fail.
    `wake` answers a task token.
    """

    reader: RunReader
    store: RunStore
    blobs: Callable[[str], Blobs]
    clock: Callable[[], float]
    new_id: Callable[[], str]
    chance: Callable[[], float]
    sleep: Callable[[float], None]
    ended: Callable[[Run], object] = lambda _run: None
    wake: Callable[[str], object] = lambda _token: None
    outputs: Outputs = field(default_factory=Outputs)
    planned: OrderedDict[tuple[str, str], PlannedStep] = field(default_factory=OrderedDict)
    inputs: OrderedDict[str, Json] = field(default_factory=OrderedDict)


def carry_out(
    drive: Drive,
    run_id: str,
    generation: int | None,
    command: Command,
    until: float,
    view: View | None = None,
    moved: Callable[[], object] = lambda: None,
) -> Outcome:
    """Commit what a command decides and return it; `view` saves the first read.

    `moved` is called whenever a try has not gone through, as far as the log shows: somebody else
    was first, or no reply came. Raises Contended when the run kept moving until `until` (epoch
    seconds), AttemptClosed when the attempt was taken over, PartsMoved when another step added
    steps meanwhile, RunNotFound without such a run. A table that is busy is waited for as well;
    what it refused last is raised when the time is up.
    """
    underway: dict[str, Outcome] = {}
    pause = _BASE
    while True:
        try:
            view = view or look(drive, run_id, command)
            landed = _landed(drive, view.run.seq, underway)
            if landed is not None:
                return _done(drive, landed)
            outcome = decided(drive, view, command, generation, until - RESOLVE_MARGIN)
            return _committed(drive, outcome, underway)
        except Conflict as conflict:
            moved()
            if not _paused(drive, pause, until):
                raise Contended(f"{run_id} kept moving") from conflict
        except Exception as error:
            if not may_pass(error):
                raise
            moved()
            if not _paused(drive, pause, until):
                raise
        view, pause = None, min(_CAP, pause * 2)


def _committed(drive: Drive, outcome: Outcome, underway: dict[str, Outcome]) -> Outcome:
    """Commit an outcome, or return the one of an earlier try that was only late to arrive.

    Raises Conflict. What nobody can say of, as the table is too busy to be asked, is underway.
    """
    if not outcome.changes:
        return outcome
    commit_id = drive.new_id()
    underway[commit_id] = outcome
    try:
        drive.store.commit(outcome, commit_id)
    except Conflict as conflict:
        if conflict.by is not None:
            del underway[commit_id]
        if conflict.by not in underway:
            raise
        outcome = underway[conflict.by]
    return _done(drive, outcome)


def _paused(drive: Drive, ceiling: float, until: float) -> bool:
    """Sleep, if there is time for another try after that: full jitter."""
    seconds = ceiling * max(LEAST_JITTER, drive.chance())
    if drive.clock() + seconds >= until:
        return False
    drive.sleep(seconds)
    return True


def _landed(drive: Drive, seq: int, underway: dict[str, Outcome]) -> Outcome | None:
    """Return the try that went through after all; it was only late to arrive.

        commit 1 ─► no reply; the log shows nothing ───────► lands
                      read ─► decide otherwise ─► commit 2 ────────► refused

    Each try has an id of its own, and the event after the one it saw tells whose commit it is.
    Another's: that try will never arrive any more, and is not asked about again.
    """
    passed = [each for each in underway.items() if seq > each[1].before.seq]
    for commit_id, outcome in passed:
        before = outcome.before
        if drive.store.commit_of(before.run_id, before.seq + 1) == commit_id:
            return outcome
        del underway[commit_id]
    return None


def _done(drive: Drive, outcome: Outcome) -> Outcome:
    """Count an outcome that was committed, and tell of an end."""
    meter(outcome)
    if rouses(outcome.before, outcome.run):
        with suppress(Exception):  # the lane's time is bounded, and the patrol looks
            signal(drive.reader, outcome.run.run_id, drive.wake)
    if outcome.run.status.ended:
        with suppress(Exception):  # the stream says it too, and the patrol looks
            drive.ended(outcome.run)
    return outcome


def look(drive: Drive, run_id: str, command: Command) -> View:
    """Read the run row and what a command certainly needs beside it, in one call."""
    own = [command.step_id] if isinstance(command, OfStep) else []
    return read_view(drive, run_id, steps=own)


def read_view(drive: Drive, run_id: str, *, steps: list[str], plan: Sequence[str] = ()) -> View:
    """Read a run row and rows beside it; raises RunNotFound."""
    kept = _kept(drive, run_id, plan)
    rows = drive.reader.rows(
        run_id,
        run=True,
        submission=run_id not in drive.inputs,
        steps=steps,
        plan=[key for key in plan if key not in kept],
    )
    if rows.run is None:
        raise RunNotFound(run_id)
    if rows.submission is not None:
        blobs = drive.blobs(rows.run.tenant)
        _remember(drive.inputs, run_id, load(blobs, rows.submission.input), _KEPT_INPUTS)
    _keep(drive, run_id, rows.plan)
    return View(rows.run, plan=kept | rows.plan, steps=rows.steps)


def decided(
    drive: Drive,
    view: View,
    command: Command,
    generation: int | None,
    until: float = math.inf,
) -> Outcome:
    """Decide, reading whatever rows the decision turns out to need.

    Outputs that a claim takes may be thousands. When they are not read by `until` (epoch seconds),
    whatever else the command changes is decided without them, and settle is to claim; where this is
    settle, the run fails and says which step it was, and may be resumed: nothing was claimed.
    """
    clock = Clock(drive.clock, drive.sleep, until)
    while True:
        try:
            return decide(view, command, generation, drive.clock())
        except RowsMissing as missing:
            try:
                _read(drive, view, missing, command, clock)
            except TooSlow as slow:
                if missing.manifests or not isinstance(command, Begin | Settle):
                    if view.hurried:
                        raise
                    view.hurried = True
                else:
                    late = Resolved(fault=_LATE.format(slow), late=str(slow))
                    view.inputs |= dict.fromkeys((c.step_id for c in missing.inputs), late)


def _read(drive: Drive, view: View, missing: RowsMissing, command: Command, clock: Clock) -> None:
    """Read missing rows into the view; they are at least as new as its run row."""
    run_id = view.run.run_id
    view.plan |= _kept(drive, run_id, missing.plan)
    unkept = sorted(missing.plan - view.plan.keys())
    if unkept or missing.steps or missing.records:
        rows = drive.reader.rows(
            run_id, plan=unkept, steps=sorted(missing.steps), records=missing.records
        )
        _keep(drive, run_id, rows.plan)
        view.steps |= rows.steps
        for kind, found in rows.records.items():
            view.records.setdefault(kind, {}).update(found)
        view.plan |= rows.plan
    if missing.inputs:
        _resolve(drive, view, missing.inputs, command, clock)
    for wanted in missing.manifests:
        fetch = _fetch(drive, run_id)
        blobs = drive.blobs(view.run.tenant)
        view.manifests[wanted] = write_manifest(blobs, run_id, fetch, wanted, clock)


def _fetch(drive: Drive, run_id: str) -> Callable[[list[str]], dict[str, Step | None]]:
    return lambda step_ids: drive.reader.rows(run_id, steps=step_ids).steps


def _resolve(
    drive: Drive, view: View, claims: frozenset[Claim], command: Command, clock: Clock
) -> None:
    run = view.run
    resolver = Resolver(
        run_id=run.run_id,
        run_input=drive.inputs[run.run_id],
        blobs=drive.blobs(run.tenant),
        outputs=drive.outputs,
        fetch=_fetch(drive, run.run_id),
        fresh=fresh_output(command),
        manifests={wanted.step_id: made for wanted, made in view.manifests.items()},
        clock=clock,
    )
    view.inputs |= resolver.resolve({claim: view.plan[claim.plan_key] for claim in claims})


def fresh_output(command: Command) -> dict[str, Payload]:
    """Return the output that a command commits; a refused one is no step's."""
    if isinstance(command, Complete) and command.output.refused is None:
        return {command.step_id: command.output}
    return {}


def _kept(drive: Drive, run_id: str, keys: Iterable[str]) -> dict[str, PlannedStep]:
    """Return those planned steps that the process holds; it may not when others were kept."""
    return {key: drive.planned[(run_id, key)] for key in keys if (run_id, key) in drive.planned}


def _keep(drive: Drive, run_id: str, plan: dict[str, PlannedStep]) -> None:
    for key, planned in plan.items():
        _remember(drive.planned, (run_id, key), planned, _KEPT_STEPS)


def _remember(kept: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)
