"""What `POST /runs` takes, with every fault of it named at once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.domain.cost import plan_faults
from onward.domain.errors import Fault, InvalidPlan, InvalidRequest
from onward.domain.plan import compile_plan
from onward.domain.pointer import pointer

if TYPE_CHECKING:
    from onward.domain.limits import RunLimits
    from onward.domain.model import Json
    from onward.domain.plan import CompiledPlan
    from onward.sdk.catalogue import Catalogue

INLINE_PLAN: Final = "plan"
"""The workflow's name of a run whose plan was submitted with it."""

MAX_DEADLINE: Final = 365 * 86_400
"""Seconds; a Standard execution lives a year."""

MAX_TOKENS: Final = 10**12
MAX_RETRIES: Final = 10_000
MAX_LABELS: Final = 20
MAX_LABEL: Final = 256

_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}")
_KEYS: Final = frozenset({"workflow", "plan", "input", "deadline_seconds", "labels", "budget"})
_BUDGET: Final = {"tokens": MAX_TOKENS, "retries": MAX_RETRIES}


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


def read_run_request(body: Json, catalogue: Catalogue, limits: RunLimits) -> RunRequest:
    """Check a body; raises InvalidRequest, or InvalidPlan when the plan has part in it."""
    if not isinstance(body, dict):
        raise InvalidRequest("the body is a JSON object", (Fault("", "not an object"),))
    faults = [Fault(pointer(k), f"unknown key {k!r}") for k in sorted(body.keys() - _KEYS)]
    deadline = _deadline(body.get("deadline_seconds"), faults)
    labels = _labels(body.get("labels"), faults)
    budget = _budget(body.get("budget"), faults)
    wrong: type[InvalidRequest] = InvalidRequest
    work: tuple[str, CompiledPlan, Json] | None = None
    try:
        work = _work(body, catalogue)
        _check_cost(work, limits)
    except InvalidRequest as error:
        wrong = type(error)
        faults.extend(error.faults)
    if faults or work is None:
        raise wrong(_said(faults), tuple(faults))
    return RunRequest(*work, deadline, labels, **budget)


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
        raise InvalidPlan(_said(faults), tuple(faults))


def _deadline(value: Json, faults: list[Fault]) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        faults.append(Fault("/deadline_seconds", "deadline_seconds is a number"))
    elif not 0 < value <= MAX_DEADLINE:
        faults.append(
            Fault("/deadline_seconds", f"deadline_seconds is more than 0, at most {MAX_DEADLINE}")
        )
    else:
        return float(value)
    return None


def _labels(value: Json, faults: list[Fault]) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or len(value) > MAX_LABELS:
        faults.append(Fault("/labels", f"labels is an object of at most {MAX_LABELS} members"))
        return {}
    kept: dict[str, str] = {}
    for name, text in value.items():
        if not _LABEL.fullmatch(name):
            faults.append(Fault(pointer("labels", name), f"a label matches {_LABEL.pattern}"))
        if not isinstance(text, str) or len(text) > MAX_LABEL:
            message = f"a label is text of at most {MAX_LABEL} characters"
            faults.append(Fault(pointer("labels", name), message))
        else:
            kept[name] = text
    return kept


def _budget(value: Json, faults: list[Fault]) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        faults.append(Fault("/budget", 'budget is an object of "tokens" and "retries"'))
        return {}
    unknown = sorted(value.keys() - _BUDGET.keys())
    faults.extend(Fault(pointer("budget", name), f"unknown key {name!r}") for name in unknown)
    for name, most in _BUDGET.items():
        given = value.get(name)
        whole = isinstance(given, int) and not isinstance(given, bool)
        if given is not None and not (whole and 0 <= int(str(given)) <= most):
            faults.append(Fault(f"/budget/{name}", f"{name} is a whole number from 0 to {most}"))
    return {name: value.get(name) for name in _BUDGET}


def _one_fault(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, (Fault(pointer, message),))


def _said(faults: list[Fault]) -> str:
    return "; ".join(f"{f.pointer or 'body'}: {f.message}" for f in faults[:3]) + (
        f"; and {len(faults) - 3} more" if len(faults) > 3 else ""  # noqa: PLR2004
    )
