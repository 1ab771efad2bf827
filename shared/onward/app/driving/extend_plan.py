"""Steps that a running step adds to its run, as a model plans them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.cost import plan_faults
from onward.domain.errors import InvalidInput, InvalidPlan, RunNotFound
from onward.domain.limits import RunLimits
from onward.domain.model import StepStatus, part_of, step_of
from onward.domain.needs import mentioned
from onward.domain.nesting import adder, adopted, is_added, part_named
from onward.domain.plan import STEP_ID, Extending, compile_plan
from onward.domain.protocol import Extension

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onward.app.driving.carry_out import Drive
    from onward.domain.errors import Fault
    from onward.domain.model import Json, Run, Step
    from onward.domain.plan import ToolSpec

_ENDED = frozenset({StepStatus.SUCCEEDED, StepStatus.SKIPPED})


def extend_plan(
    drive: Drive, run_id: str, step: Step, output: Json, tools: Mapping[str, ToolSpec]
) -> Extension:
    """Validate the `steps` of an output like a submitted plan, and write them ahead.

    They may refer to what has ended, this step included. Of the run's rows only those that the
    steps name are read, and the keys of its plan. Raises InvalidInput naming every fault; nothing
    is stored then. Rows that no commit adopts are never read.
    """
    steps = output.get("steps") if isinstance(output, dict) else None
    if steps == []:
        return Extension("", (), 0, 0)
    run = _run(drive, run_id)
    part = part_named(step.step_id, step.fence)
    try:
        plan = compile_plan(
            {"steps": steps},
            tools,
            pointer="",
            part=part,
            extending=_extending(drive, run, step, steps),
        )
    except InvalidPlan as error:
        raise InvalidInput(
            f"the added steps have {len(error.faults)} fault(s): {_listed(error.faults)}"
        ) from error
    left = RunLimits(run.max_steps, run.children_left, run.bytes_left)
    if faults := plan_faults(plan.steps, drive.inputs.get(run_id), left, ""):
        raise InvalidInput(f"the added steps ask for too much: {_listed(faults)}")
    drive.store.write_part(run_id, [plan.roots, *plan.steps])
    added = tuple(planned.step_id for planned in plan.steps)
    return Extension(part, added, len(plan.roots.singles), run.extensions)


def _listed(faults: Iterable[Fault]) -> str:
    return "; ".join(f"{fault.pointer}: {fault.message}" for fault in faults)


def _run(drive: Drive, run_id: str) -> Run:
    run = drive.reader.run(run_id)
    if run is None:
        raise RunNotFound(run_id)
    return run


def _extending(drive: Drive, run: Run, step: Step, steps: Json) -> Extending:
    """Return what the added steps must fit to, as the run stands now."""
    named = {name for name in mentioned(steps) if STEP_ID.fullmatch(name)}
    rows = drive.reader.rows(run.run_id, steps=sorted(named - {step.step_id})).steps
    ended = {name for name, row in rows.items() if row is not None and row.status in _ENDED}
    return Extending(
        taken=_taken(drive, run.run_id, step, _ids(steps)),
        ended=frozenset(ended) | {step.step_id},
        room=run.max_steps - run.steps_total,
    )


def _ids(steps: Json) -> frozenset[str]:
    found = (
        [each.get("id") for each in steps if isinstance(each, dict)]
        if isinstance(steps, list)
        else []
    )
    return frozenset(step_id for step_id in found if isinstance(step_id, str))


def _taken(drive: Drive, run_id: str, step: Step, ids: frozenset[str]) -> frozenset[str]:
    """Return those ids that steps of the run have: what was written ahead in vain takes none.

    Only where an id is found in another step's part does it matter whether that was adopted.
    """
    keys = [key for key in drive.reader.plan_keys(run_id) if step_of(key) in ids]
    owners = {adder(part_of(key)) for key in keys if is_added(key)} - {step.step_id}
    rows = drive.reader.rows(run_id, steps=sorted(owners)).steps if owners else {}
    return frozenset(step_of(k) for k in keys if adopted(part_of(k), rows.get(adder(part_of(k)))))
