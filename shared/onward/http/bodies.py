"""The bodies that the API takes, as its description shows them.

They describe; `run_request`, `uploads` and `run_tickets` check, for they name every fault of a body
by its pointer. The contract tests hold the two together.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from onward.app.submitting.run_request import (
    MAX_DEADLINE,
    MAX_LABEL,
    MAX_LABELS,
    MAX_RETRIES,
    MAX_TOKENS,
)
from onward.app.submitting.uploads import MAX_SIZE
from onward.aws.audit import MAX_COMMENT
from onward.domain.limits import MAX_STEP_TIMEOUT, MAX_STEPS
from onward.domain.protocol import Verdict

Label = Annotated[str, Field(max_length=MAX_LABEL)]
LabelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$")]


class Body(BaseModel):
    """An object without unknown members."""

    model_config = ConfigDict(extra="forbid")


class Budget(Body):
    """What all steps of a run may use together."""

    tokens: int | None = Field(default=None, ge=0, le=MAX_TOKENS)
    retries: int | None = Field(default=None, ge=0, le=MAX_RETRIES)


class Reference(Body):
    """A value of the run, by its path."""

    ref: str = Field(alias="$ref", examples=["input.file", "steps.plan.jobs"])


class PlanStep(Body):
    """One step; what its references name comes first, `after` adds to that."""

    id: str = Field(pattern=r"^[a-z0-9_-]{1,64}$")
    tool: str
    input: dict[str, Any] = Field(
        default={},
        description='Values, and {"$ref": "input.x"} in place of some; {"$literal": value} is the '
        "value as it is, where it holds such members itself.",
    )
    after: list[str] = []
    for_each: Reference | None = Field(default=None, description="Once for each item of a list.")
    optional: bool = False
    timeout: int = Field(default=60, ge=1, le=MAX_STEP_TIMEOUT, description="Seconds.")


class Plan(Body):
    """Steps and their order, as data."""

    steps: list[PlanStep] = Field(min_length=1, max_length=MAX_STEPS)


class _Run(Body):
    input: Any = {}
    deadline_seconds: float | None = Field(default=None, gt=0, le=MAX_DEADLINE)
    labels: dict[LabelName, Label] | None = Field(
        default=None, json_schema_extra={"maxProperties": MAX_LABELS}
    )
    budget: Budget | None = None


class WorkflowRun(_Run):
    """A run of a workflow that is deployed."""

    workflow: str = Field(examples=["excel-report"])
    plan: None = None


class PlanRun(_Run):
    """A run of a plan that comes with it."""

    workflow: None = None
    plan: Plan


class Upload(Body):
    """A file to come. With `sha256`, the same file has the same reference each time."""

    name: str = Field(min_length=1, description="A file name of at most 255 bytes.")
    size: int = Field(ge=0, le=MAX_SIZE, description="Bytes.")
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")


_COMMENT: Any = Field(default="", max_length=MAX_COMMENT, description="For the audit log.")


class Resolution(Body):
    """What became of a write in doubt."""

    outcome: Verdict
    result: Any = Field(
        default=None,
        description="Its tool's output where it was applied; without it, the receipt, if there.",
    )
    comment: str = _COMMENT


class Remark(Body):
    """What an operator says to what they do; it is kept in the audit log."""

    comment: str = _COMMENT


class SocketTicketWish(Body):
    """A ticket that opens one socket."""

    use: Literal["ws"]


class TicketWish(Body):
    """A ticket for one run's events."""

    use: Literal["sse"]
    run_id: str
