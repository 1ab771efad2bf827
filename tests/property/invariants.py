"""What must hold of every commit, whatever happened before it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from onward.domain.effects import Effect, EffectState
from onward.domain.limits import MAX_FANS, MAX_LANES, MAX_WAITING
from onward.domain.machine.ledger import proven
from onward.domain.machine.waiting import UNMET, waits
from onward.domain.model import Cursor, Run, RunStatus, StepStatus, Wait, child_id, step_of
from onward.domain.protocol import Claim
from onward.domain.waits import ApprovalRequest, ApprovalState

from tests.property.plans import BROKEN
from tests.property.tries import check_tries

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.domain.incidents import Interruption
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
    resumed = "resumed_by_operator" in [event.data.get("cause") for event in outcome.events]
    learned = before.status.ended and outcome.events[0].type == "step.reconciled"
    assert resumed or learned or not before.status.ended
    stays = ({}, before.attempts, before.status)
    assert not learned or (run.open, run.attempts, run.status) == stays
    assert before.generation + resumed <= run.generation <= before.generation + 1
    rows = store.steps | {new.step_id: new for _, new in outcome.steps}
    effects = store.effects | {new.step_id: new for _, new in outcome.of(Effect)}
    for old, new in outcome.steps:
        _check_step(old, new, resumed=resumed, learned=learned)
    for row in rows.values():
        _check_birth(store, row, rows)
    _check_inputs(store, outcome, rows)
    _check_incidents(outcome)
    check_tries(store, outcome, rows)
    _check_approvals(store, outcome, rows, effects)
    for was, becomes in outcome.of(Effect):
        _check_effect(was, becomes)
        _check_look(store, run, rows, was, becomes)
    for step_id, effect in effects.items():
        _check_no_guess(rows[step_id], effect)
    _check_size(outcome)
    _check_recount(store, run, rows)
    if run.status.ended:
        _check_end(store, run, rows, effects)
    else:
        _check_open(run, rows)


def _check_log(outcome: Outcome) -> None:
    before, run = outcome.before, outcome.run
    expected = list(range(before.seq + 1, before.seq + 1 + len(outcome.events)))
    assert expected == [event.seq for event in outcome.events]
    assert run.seq == before.seq + len(outcome.events)
    assert (run != before) == outcome.changes
    assert outcome.changes or not (outcome.steps or outcome.records)
    assert all(new.at_seq == run.seq for _, new in outcome.steps)
    assert outcome.decision.seq == run.seq


def _check_step(old: Step | None, new: Step, *, resumed: bool, learned: bool) -> None:
    if old is None:
        return
    assert new.fence >= old.fence
    answered = old.status in {StepStatus.UNKNOWN, StepStatus.NEEDS_RECONCILIATION}
    assert new.tries >= old.tries or (new.tries == 0 and (resumed or answered))
    assert old.status not in PAST, f"{old.step_id} left {old.status}"
    closes = learned and old.children is not None and new.status is StepStatus.SUCCEEDED
    assert old.status not in REST or resumed or closes, f"{old.step_id} left {old.status}"
    if new.fence == old.fence:
        assert new.status is not StepStatus.EXECUTING or old.children is not None


def _check_birth(store: MemoryStore, row: Step, rows: dict[str, Step]) -> None:
    """No step began before its needs ended, and only an impossible input was refused."""
    planned = store.plan[row.plan_key]
    assert all(rows[step_of(need)].status in PAST for need in planned.needs)
    if not row.fence and not waits(planned) and row.error != UNMET:
        assert BROKEN in json.dumps(planned.input), row.error


def _check_inputs(store: MemoryStore, outcome: Outcome, rows: dict[str, Step]) -> None:
    """A claim's input is made of what is committed with it or was before."""
    after = replace(store, steps=rows)
    for old, new in outcome.steps:
        if old is None and new.children is None and new.input is not None:
            claim = Claim(new.step_id, new.plan_key, new.index)
            assert after.resolved(claim, {}).payload == new.input


def _check_incidents(outcome: Outcome) -> None:
    """What a row said was lost is told once, when it is over, and not before it began."""
    told = [(i.step_id, i.interruption.cause, i.interruption.at) for i in outcome.incidents]
    known, over = set(), set()
    for step_id, lost, now in _interruptions(outcome):
        known.add((step_id, lost.cause, lost.at))
        alone = lost.doubtful or not lost.part
        if alone and (now is None or (now.cause, now.at) != (lost.cause, lost.at)):
            over.add((step_id, lost.cause, lost.at))
    assert over <= set(told) <= known
    assert len(told) == len(set(told))
    assert all(i.resumed_at >= i.interruption.at for i in outcome.incidents)
    _check_one_interruption(outcome)


def _check_one_interruption(outcome: Outcome) -> None:
    """What one command cuts is one interruption, which saves no more than was paid before it."""
    begun = [new.lost for old, new in outcome.steps if new.lost and not (old and old.lost)]
    begun += [i.interruption for i in outcome.incidents if i.step_id is None]
    if outcome.run.lost and not outcome.before.lost:
        begun.append(outcome.run.lost)
    assert len([lost for lost in begun if not lost.part]) <= 1
    assert sum(lost.tokens for lost in begun) <= outcome.run.usage.total


def _interruptions(
    outcome: Outcome,
) -> Iterator[tuple[str | None, Interruption, Interruption | None]]:
    if outcome.before.lost is not None:
        yield None, outcome.before.lost, outcome.run.lost
    for old, new in outcome.steps:
        before = None if old is None else old.lost
        if before is not None:
            yield new.step_id, before, new.lost
        for incident in outcome.incidents:
            lost = incident.interruption
            if incident.step_id != new.step_id or _is_of(lost, before):
                continue
            assert lost.at == incident.resumed_at  # its receipt was there already
            yield new.step_id, lost, None


def _is_of(lost: Interruption, before: Interruption | None) -> bool:
    return before is not None and (lost.cause, lost.at) == (before.cause, before.at)


def _check_effect(old: Effect | None, new: Effect) -> None:
    if old is None:
        assert new.state is EffectState.INTENDED
        return
    disproved = new.proofs == old.proofs + 1
    edited = old.sent_fence is None and old.fence == 0 and new.action_version != old.action_version
    assert edited or new.action_version == old.action_version
    assert edited or new.key == (proven(old.key, new.proofs) if disproved else old.key)
    assert disproved or new.proofs == old.proofs
    assert new.fence >= old.fence
    assert old.state is not EffectState.APPLIED or new.state is EffectState.APPLIED
    if old.unknown_since is not None and not disproved:
        assert new.state is EffectState.APPLIED or new.unknown_since == old.unknown_since
        assert (new.quiet_at or 0.0) >= (old.quiet_at or 0.0)


def _check_approvals(
    store: MemoryStore, outcome: Outcome, rows: dict[str, Step], effects: dict[str, Effect]
) -> None:
    """What asks a person is attempted only once it was approved, as it was approved."""
    approvals = store.approvals | {new.step_id: new for _, new in outcome.of(ApprovalRequest)}
    for step_id, row in rows.items():
        if store.plan[row.plan_key].approval is None or row.children is not None:
            continue
        request = approvals.get(step_id)
        approved = request is not None and request.state is ApprovalState.APPROVED
        assert approved or (row.fence == 0 and row.status not in UNDERWAY)
        if approved and request is not None and step_id in effects:
            assert effects[step_id].action_version == request.approved_version
    for old, new in outcome.of(ApprovalRequest):
        if old is not None and old.state is ApprovalState.APPROVED:
            assert new == old, "a decision was taken back"


def _check_look(
    store: MemoryStore, run: Run, rows: dict[str, Step], old: Effect | None, new: Effect
) -> None:
    """What was sent again on a probe's word is looked at once more, however it came to its end."""
    policy = store.plan[rows[new.step_id].plan_key].policy
    ends = old is not None and old.state is not EffectState.APPLIED is new.state
    if ends and new.proofs and policy.idempotency == "probe":
        assert new.step_id in run.looks
        assert run.due_at is not None


def _check_no_guess(row: Step, effect: Effect) -> None:
    """An action whose outcome nobody knows is not behind a step that says it ended (G4)."""
    assert effect.fence >= row.fence
    assert row.output is None or row.output.refused is None
    if effect.unknown_since is not None:
        assert row.status not in REST or abandoned(row)
    if effect.state is EffectState.UNKNOWN:
        assert effect.unknown_since is not None


def abandoned(row: Step) -> bool:
    """Whether an operator gave a step up knowing that its write may have happened."""
    given_up = row.status in {StepStatus.FAILED, StepStatus.SKIPPED}
    return given_up and row.error is not None and row.error.code == "abandoned"


def _check_size(outcome: Outcome) -> None:
    """One transaction holds 100 items; the run row stays small whatever the plan."""
    rows = len(outcome.steps) + len(outcome.records)
    items = 1 + rows + len(outcome.events) + len(outcome.incidents)
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
    assert run.open == {}
    asked = {s for s, row in rows.items() if row.status is StepStatus.NEEDS_RECONCILIATION}
    assert run.waiting == {s: Wait(StepStatus.NEEDS_RECONCILIATION) for s in asked}
    assert run.ended_at is not None
    assert all(row.ended_at is not None for s, row in rows.items() if s in asked)
    own = [row for row in rows.values() if row.children is None]  # others are under way as it is
    assert not [row for row in own if row.status in UNDERWAY | {StepStatus.UNKNOWN}]
    if run.status is RunStatus.SUCCEEDED:
        assert run.failing is None
        assert (run.fans, run.ready, run.frontier) == ({}, (), {})
        assert run.done == run.steps_total
        ended = {step.step_id for step in store.plan.values() if step.step_id}
        assert all(rows[step_id].status in PAST for step_id in ended)
        succeeded = [row for row in rows.values() if row.status is StepStatus.SUCCEEDED]
        assert not [row for row in succeeded if row.lost is not None]
        known = [effect for step_id, effect in effects.items() if not abandoned(rows[step_id])]
        assert all(effect.unknown_since is None for effect in known)
    else:
        assert run.status in {RunStatus.FAILED, RunStatus.CANCELLED}
        assert run.failing is not None


def _check_open(run: Run, rows: dict[str, Step]) -> None:
    """`open` and `waiting` are what the rows say, and nothing began before its needs ended."""
    at_work = {
        step_id
        for step_id, row in rows.items()
        if row.status in UNDERWAY and row.children is None and step_id not in run.waiting
    }
    assert set(run.open) == at_work
    for step_id, wait in run.waiting.items():
        assert rows[step_id].status is wait.kind
    doubt = {StepStatus.UNKNOWN, StepStatus.NEEDS_RECONCILIATION}
    unresolved = {s for s, row in rows.items() if row.status in doubt}
    assert unresolved <= run.waiting.keys()
    lanes = Counter(run.open.values())
    assert max(lanes.values(), default=0) <= 1, f"two attempts in one lane: {run.open}"


def _check_recount(store: MemoryStore, run: Run, rows: dict[str, Step]) -> None:
    """What the row counts is what a count of all rows gives."""
    planned = [step for step in store.plan.values() if step.step_id]
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
