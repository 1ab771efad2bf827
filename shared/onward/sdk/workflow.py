"""Workflows: named plans that ship with the code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter, ValidationError

from onward.domain.errors import Fault, InvalidOutput, InvalidPlan, InvalidRequest
from onward.domain.limits import MAX_STEPS
from onward.domain.plan import Extending, compile_plan
from onward.domain.template import escaped
from onward.sdk.declared import unwritable
from onward.sdk.kept import kept, readable
from onward.sdk.tools import ToolRefused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pydantic import BaseModel

    from onward.domain.model import Json
    from onward.sdk.tools import Tool
    from onward.sdk.waits import Approval, Signal


def ref(path: str) -> dict[str, Json]:
    """Stand for a value of the run: `input.x`, `steps.<id>.field`, or `item` in a for_each."""
    return {"$ref": path}


def literal(value: Json) -> dict[str, Json]:
    """Stand for a value as it is, also where it holds `$ref`, as a JSON Schema does."""
    return {"$literal": value}


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a workflow. What its references name comes first; `after` adds to that.

    `for_each` runs the tool once per item of a list; its output is the list of theirs. With `when`
    it is skipped unless that is true: a `ref`, `{"equals": [a, b]}` or `{"one_of": [a, [...]]}`;
    what refers to a skipped step sees null. `approval` has a person decide first.

    A step without a tool waits: for a signal, which `expires` after a time (`on_expiry`: it then
    fails, or is skipped), or it sleeps, for a time ("90s", "2h", "3d", or seconds) or until one.
    """

    id: str
    tool: Tool | None = None
    input: Mapping[str, Json] = field(default_factory=dict)
    after: Sequence[str] = ()
    for_each: Json = None
    optional: bool = False
    timeout: int | None = None
    when: Json = None
    approval: Approval | None = None
    wait_for: Signal | None = None
    expires: float | str | None = None
    on_expiry: Literal["fail", "skip"] = "fail"
    sleep: float | str | None = None
    sleep_until: Json = None

    def document(self) -> dict[str, Json]:
        """Return the step as `POST /runs` would take it in a plan."""
        step: dict[str, Json] = {"id": self.id, **self._work()}
        if self.after:
            step["after"] = list(self.after)
        if self.for_each is not None:
            step["for_each"] = self.for_each
        if self.optional:
            step["optional"] = True
        if self.timeout is not None:
            step["timeout"] = self.timeout
        if self.when is not None:
            step["when"] = self.when
        if self.approval is not None:
            step["approval"] = self.approval.document()
        return step

    def _work(self) -> dict[str, Json]:
        """Return what the step calls, or waits for. What contradicts itself is refused later."""
        work: dict[str, Json] = {}
        if self.tool is not None:
            work |= {"tool": self.tool.name, "input": dict(self.input)}
        if self.wait_for is not None:
            wait = self.wait_for.document()
            if self.expires is not None:
                wait |= {"expires": self.expires, "on_expiry": self.on_expiry}
            work["wait_for"] = wait
        if self.sleep is not None:
            work["sleep"] = self.sleep
        if self.sleep_until is not None:
            work["sleep_until"] = self.sleep_until
        return work


@dataclass(frozen=True, slots=True)
class Workflow:
    """A named plan with a typed input. A run's result is the output of the last step.

    Raises ToolRefused for an input with a field that JSON cannot carry, as a secret.
    """

    name: str
    version: int
    input: type[BaseModel]
    steps: Sequence[Step]

    def __post_init__(self) -> None:
        """Check the input as a tool's output is: it is kept with the run."""
        for why in unwritable(self.input, self.input.__name__):
            raise ToolRefused(f"workflow {self.name}: {why}")

    def document(self) -> dict[str, Json]:
        """Return the plan document."""
        return {"steps": [step.document() for step in self.steps]}

    def check_input(self, value: Json) -> Json:
        """Return the input with defaults filled in; raises InvalidRequest naming each fault."""
        return checked(TypeAdapter(self.input), value, "/input")


def plan_faults(
    steps: Sequence[Json], offered: Iterable[Tool], *, ended: Iterable[str] = ()
) -> list[str]:
    """Return what is wrong with steps that a tool is about to add to its run; none is fine.

    For a planner that lets a model repair its plan. Only the `offered` tools exist for it; the
    steps in `ended` may be referred to besides each other. What is returned is checked again.
    """
    tools = {tool.name: tool.spec for tool in offered}
    extending = Extending(taken=frozenset(), ended=frozenset(ended), room=MAX_STEPS)
    try:
        if steps:
            compile_plan({"steps": list(steps)}, tools, pointer="", extending=extending)
    except InvalidPlan as error:
        return [f"{fault.pointer}: {fault.message}" for fault in error.faults]
    return []


def checked(kind: TypeAdapter[Any], value: Json, pointer: str) -> Json:
    """Validate JSON against a type; raises InvalidRequest with a pointer for each fault."""
    try:
        return kept(kind, readable(kind, value))
    except ValidationError as error:
        faults = tuple(
            Fault("/".join([pointer, *map(escaped, map(str, item["loc"]))]), item["msg"])
            for item in error.errors(include_url=False)
        )
    except InvalidOutput as error:
        faults = (Fault(pointer, str(error)),)
    raise InvalidRequest("; ".join(f"{f.pointer}: {f.message}" for f in faults), faults)
