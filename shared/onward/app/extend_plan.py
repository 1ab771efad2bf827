"""Steps that a running step adds to its run, as a model plans them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.cost import plan_faults
from onward.domain.errors import InvalidInput, InvalidPlan, RunNotFound
from onward.domain.limits import MAX_NESTING, RunLimits
from onward.domain.model import StepStatus, part_of
from onward.domain.nesting import level
from onward.domain.plan import Extending, compile_plan
from onward.domain.protocol import Extension

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onward.app.carry_out import Drive
    from onward.domain.errors import Fault
    from onward.domain.model import Json, Run, Step
    from onward.domain.plan import ToolSpec

_ENDED = frozenset({StepStatus.SUCCEEDED, StepStatus.SKIPPED})


def extend_plan(
    drive: Drive, run_id: str, step: Step, output: Json, tools: Mapping[str, ToolSpec]
) -> Extension:
    """Validate the `steps` of an output like a submitted plan, and write them ahead.

    They may refer to what has ended, this step included. Raises InvalidInput naming every fault;
    nothing is stored then. Rows that no commit adopts are never read.
    """
    steps = output.get("steps") if isinstance(output, dict) else None
    if steps == []:
        return Extension("", (), 0, ())
    run = _run(drive, run_id)
    if level(run, step.plan_key) >= MAX_NESTING:
        raise InvalidInput(f"steps add steps that add steps, at most {MAX_NESTING} levels deep")
    part = f"{step.step_id}.{step.fence}"
    try:
        plan = compile_plan(
            {"steps": steps},
            tools,
            pointer="",
            part=part,
            extending=_extending(drive, run, step),
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
    return Extension(part, added, len(plan.roots.singles), run.parts)


def _listed(faults: Iterable[Fault]) -> str:
    return "; ".join(f"{fault.pointer}: {fault.message}" for fault in faults)


def _run(drive: Drive, run_id: str) -> Run:
    run = drive.reader.run(run_id)
    if run is None:
        raise RunNotFound(run_id)
    return run


def _extending(drive: Drive, run: Run, step: Step) -> Extending:
    """Return what the added steps must fit to, as the run stands now."""
    rows = drive.reader.plan(run.run_id)
    planned = [p.step_id for p in rows if p.tool and part_of(p.key) in run.parts]
    ended = {row.step_id for row in drive.reader.steps(run.run_id) if row.status in _ENDED}
    return Extending(
        taken=frozenset(planned),
        ended=frozenset(ended & set(planned)) | {step.step_id},
        room=run.max_steps - len(planned),
    )
