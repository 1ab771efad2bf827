"""What a step author imports."""

from onward.domain.errors import (
    Fatal,
    InvalidInput,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    StepError,
    Transient,
)
from onward.sdk.artifact import Artifact
from onward.sdk.context import StepContext
from onward.sdk.tool import Retry, Tool, ToolRefused, tool
from onward.sdk.workflow import Step, Workflow, ref

__all__ = [
    "Artifact",
    "Fatal",
    "InvalidInput",
    "OutcomeUnknown",
    "PermissionDenied",
    "RateLimited",
    "Retry",
    "Step",
    "StepContext",
    "StepError",
    "Tool",
    "ToolRefused",
    "Transient",
    "Workflow",
    "ref",
    "tool",
]
