"""What is to be done in a run: its plan, compiled, and its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from onward.domain.cost import plan_faults
from onward.domain.errors import Fault, InvalidPlan, InvalidRequest
from onward.domain.plan import compile_plan

if TYPE_CHECKING:
    from onward.domain.limits import RunLimits
    from onward.domain.model import Json
    from onward.domain.plan import CompiledPlan
    from onward.sdk.catalogue import Catalogue

INLINE_PLAN: Final = "plan"
"""The workflow's name of a run whose plan was submitted with it."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request that was checked: `input` has its defaults, `plan` is compiled."""

    workflow: str
    plan: CompiledPlan
    input: Json
    deadline_seconds: float | None = None
    labels: dict[str, str] | None = None
    tokens: int | None = None
    retries: int | None = None


def read_work(
    body: dict[str, Json], catalogue: Catalogue, limits: RunLimits
) -> tuple[str, CompiledPlan, Json]:
    """Return a submission's workflow by name, its plan and its input, with defaults.

    Raises InvalidRequest, or InvalidPlan when the plan has part in it; every fault is named.
    """
    work = _work(body, catalogue)
    _check_cost(work, limits)
    return work


def _work(body: dict[str, Json], catalogue: Catalogue) -> tuple[str, CompiledPlan, Json]:
    """Return the workflow's name, the plan and its input."""
    name, plan = body.get("workflow"), body.get("plan")
    if (name is None) == (plan is None):
        which = "neither is" if name is None else "both are"
        raise _one_fault("", f"a run has either a workflow or a plan; {which} given")
    value = body.get("input", {})
    if name is None:
        return INLINE_PLAN, compile_plan(plan, catalogue.specs), value
    workflow = catalogue.workflows.get(name) if isinstance(name, str) else None
    if workflow is None:
        known = ", ".join(sorted(catalogue.workflows)) or "none"
        raise _one_fault("/workflow", f"there is no workflow {name!r}; there are: {known}")
    checked = workflow.check_input(value)
    document = workflow.document()
    return workflow.name, compile_plan(document, catalogue.specs, pointer="/workflow"), checked


def _check_cost(work: tuple[str, CompiledPlan, Json], limits: RunLimits) -> None:
    name, plan, value = work
    pointer = "/plan" if name == INLINE_PLAN else "/workflow"
    if faults := plan_faults(plan.steps, value, limits, pointer):
        raise InvalidPlan("the run costs too much", tuple(faults))


def _one_fault(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, (Fault(pointer, message),))
