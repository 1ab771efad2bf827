"""What must hold of every commit, whatever happened before it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from onward.domain.effects import EffectState
from onward.domain.limits import MAX_FANS, MAX_LANES, MAX_WAITING
from onward.domain.model import Cursor, Run, RunStatus, StepStatus, child_id, step_of

from tests.property.plans import BROKEN

if TYPE_CHECKING:
    from onward.domain.effects import Effect
    from onward.domain.model import Step
    from onward.domain.protocol import Outcome

    from tests.memory_store import MemoryStore

PAST = {StepStatus.SUCCEEDED, StepStatus.SKIPPED}
REST = PAST | {StepStatus.FAILED, StepStatus.CANCELLED}
UNDERWAY = {StepStatus.EXECUTING, StepStatus.BACKING_OFF}


def check_outcome(store: MemoryStore, outcome: Outcome) -> None:
    """Check an outcome against the rows it was made from and the rows it would leave."""
    before, run = outcome.before, outcome.run
    _check_log(outcome)
    if not outcome.changes:
        return
    assert not before.status.ended
    assert before.generation <= run.generation <= before.generation + 1
    rows = store.steps | {new.step_id: new for _, new in outcome.steps}
    effects = store.effects | {new.step_id: new for _, new in outcome.effects}
    for old, new in outcome.steps:
        _check_step(old, new)
    for row in rows.values():
        _check_birth(store, row, rows)
    for was, becomes in outcome.effects:
        _check_effect(was, becomes)
    for step_id, effect in effects.items():
        _check_no_guess(rows[step_id], effect)
    _check_size(outcome)
    if run.status.ended:
        _check_end(store, run, rows, effects)
    else:
        _check_open(store, run, rows)
        _check_recount(store, run, rows)


def _check_log(outcome: Outcome) -> None:
    before, run = outcome.before, outcome.run
    expected = list(range(before.seq + 1, before.seq + 1 + len(outcome.events)))
    assert expected == [event.seq for event in outcome.events]
    assert run.seq == before.seq + len(outcome.events)
    assert (run != before) == outcome.changes
    assert outcome.changes or not (outcome.steps or outcome.effects)
    assert all(new.at_seq == run.seq for _, new in outcome.steps)
    assert outcome.decision.seq == run.seq


def _check_step(old: Step | None, new: Step) -> None:
    if old is None:
        return
    assert new.fence >= old.fence
    assert new.tries >= old.tries
    assert old.status not in REST, f"{old.step_id} left {old.status}"
    if new.fence == old.fence:
        assert new.status is not StepStatus.EXECUTING or old.children is not None


def _check_birth(store: MemoryStore, row: Step, rows: dict[str, Step]) -> None:
    """No step began before its needs ended, and only an impossible input was refused."""
    planned = store.plan[row.plan_key]
    assert all(rows[step_of(need)].status in PAST for need in planned.needs)
    if not row.fence:
        assert BROKEN in json.dumps(planned.input), row.error


def _check_effect(old: Effect | None, new: Effect) -> None:
    if old is None:
        assert new.state is EffectState.INTENDED
        return
    assert new.key == old.key
    assert new.action_version == old.action_version
    assert new.fence >= old.fence
    assert old.state is not EffectState.APPLIED or new.state is EffectState.APPLIED
    if old.unknown_since is not None:
        assert new.state is EffectState.APPLIED or new.unknown_since == old.unknown_since


def _check_no_guess(row: Step, effect: Effect) -> None:
    """An action whose outcome nobody knows is not behind a step that says it ended (G4)."""
    assert effect.fence >= row.fence
    if effect.unknown_since is not None:
        assert row.status not in REST
    if effect.state is EffectState.UNKNOWN:
        assert effect.unknown_since is not None


def _check_size(outcome: Outcome) -> None:
    """One transaction holds 100 items; the run row stays small whatever the plan."""
    items = 1 + len(outcome.steps) + len(outcome.effects) + len(outcome.events)
    assert items <= 100, f"{items} items in one transaction"
    assert row_bytes(outcome.run) <= 4096
    assert len(outcome.run.open) <= MAX_LANES
    assert len(outcome.run.fans) <= MAX_FANS
    assert len(outcome.run.waiting) < MAX_WAITING + MAX_LANES


def row_bytes(run: Run) -> int:
    """Bytes of a run row as JSON."""
    return len(json.dumps(asdict(run)))


def _check_end(
    store: MemoryStore, run: Run, rows: dict[str, Step], effects: dict[str, Effect]
) -> None:
    assert (run.open, run.waiting, run.fans, run.ready, run.frontier) == ({}, {}, {}, (), {})
    assert run.ended_at is not None
    assert not [row for row in rows.values() if row.status in UNDERWAY]
    if run.status is RunStatus.SUCCEEDED:
        assert run.failing is None
        assert run.done == run.steps_total
        ended = {step.step_id for step in store.plan.values() if step.tool}
        assert all(rows[step_id].status in PAST for step_id in ended)
        assert all(effect.unknown_since is None for effect in effects.values())
    else:
        assert run.status is RunStatus.FAILED
        assert run.failing is not None


def _check_open(store: MemoryStore, run: Run, rows: dict[str, Step]) -> None:
    """`open` and `waiting` are what the rows say, and nothing began before its needs ended."""
    at_work = {
        step_id
        for step_id, row in rows.items()
        if row.status in UNDERWAY and row.children is None and step_id not in run.waiting
    }
    assert set(run.open) == at_work
    for step_id, wait in run.waiting.items():
        assert rows[step_id].status is wait.kind
    unresolved = {s for s, row in rows.items() if row.status is StepStatus.NEEDS_RECONCILIATION}
    assert unresolved <= run.waiting.keys()
    lanes = Counter(run.open.values())
    assert max(lanes.values(), default=0) <= 1, f"two attempts in one lane: {run.open}"


def _check_recount(store: MemoryStore, run: Run, rows: dict[str, Step]) -> None:
    """What the row counts is what a count of all rows gives."""
    planned = [step for step in store.plan.values() if step.tool]
    past = {step.key for step in planned if _past(rows, step.step_id)}
    assert run.done == len(past)
    born = {row.plan_key for row in rows.values() if row.index is None}
    singles, joins = set(), {}
    for step in planned:
        missing = len(set(step.needs) - past)
        if step.key in born:
            continue
        if len(step.needs) > 1 and missing < len(step.needs):
            joins[step.key] = missing
        elif len(step.needs) < 2 and not missing:
            singles.add(step.key)
    failed = {row.plan_key for row in rows.values() if row.status is StepStatus.FAILED}
    assert joins == {k: v for k, v in run.frontier.items() if k not in failed}
    assert singles == {key for cursor in run.ready for key in _pointed(store, cursor)}
    for key, fan in run.fans.items():
        children = [child_id(step_of(key), index) for index in range(fan.total)]
        assert children[: fan.next] == [c for c in children if c in rows]
        assert fan.done == sum(_past(rows, child) for child in children)
        assert fan.done < fan.total


def _past(rows: dict[str, Step], step_id: str) -> bool:
    return step_id in rows and rows[step_id].status in PAST


def _pointed(store: MemoryStore, cursor: Cursor) -> tuple[str, ...]:
    return store.plan[cursor.of].singles[cursor.at : cursor.end]
