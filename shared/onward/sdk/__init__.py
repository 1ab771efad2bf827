"""What a step author imports.

Names are imported when they are first used: `execute_step` needs only the context on its cold
path, and Pydantic costs it 120 ms there.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.domain.errors import (
        CodeFailed,
        Fatal,
        InvalidInput,
        OutcomeUnknown,
        PermissionDenied,
        RateLimited,
        SandboxUnavailable,
        StepError,
        Transient,
    )
    from onward.domain.pages import PAGE_HEAD
    from onward.sandbox.modules import SANDBOX_MODULES
    from onward.sdk.artifact import Artifact
    from onward.sdk.context import StepContext
    from onward.sdk.conversation import Model, converse
    from onward.sdk.probe import Applied, NotApplied, Unsure
    from onward.sdk.tools import Retry, Tool, ToolRefused, tool
    from onward.sdk.waits import Approval, Signal
    from onward.sdk.workflow import Step, Workflow, literal, plan_faults, ref

_HOME = {
    "Applied": "onward.sdk.probe",
    "Approval": "onward.sdk.waits",
    "NotApplied": "onward.sdk.probe",
    "Unsure": "onward.sdk.probe",
    "Artifact": "onward.sdk.artifact",
    "CodeFailed": "onward.domain.errors",
    "Fatal": "onward.domain.errors",
    "InvalidInput": "onward.domain.errors",
    "Model": "onward.sdk.conversation",
    "PAGE_HEAD": "onward.domain.pages",
    "OutcomeUnknown": "onward.domain.errors",
    "PermissionDenied": "onward.domain.errors",
    "RateLimited": "onward.domain.errors",
    "Retry": "onward.sdk.tools",
    "SANDBOX_MODULES": "onward.sandbox.modules",
    "SandboxUnavailable": "onward.domain.errors",
    "Signal": "onward.sdk.waits",
    "Step": "onward.sdk.workflow",
    "StepContext": "onward.sdk.context",
    "StepError": "onward.domain.errors",
    "Tool": "onward.sdk.tools",
    "ToolRefused": "onward.sdk.tools",
    "Transient": "onward.domain.errors",
    "Workflow": "onward.sdk.workflow",
    "converse": "onward.sdk.conversation",
    "literal": "onward.sdk.workflow",
    "plan_faults": "onward.sdk.workflow",
    "ref": "onward.sdk.workflow",
    "tool": "onward.sdk.tools",
}

__all__ = [
    "PAGE_HEAD",
    "SANDBOX_MODULES",
    "Applied",
    "Approval",
    "Artifact",
    "CodeFailed",
    "Fatal",
    "InvalidInput",
    "Model",
    "NotApplied",
    "OutcomeUnknown",
    "PermissionDenied",
    "RateLimited",
    "Retry",
    "SandboxUnavailable",
    "Signal",
    "Step",
    "StepContext",
    "StepError",
    "Tool",
    "ToolRefused",
    "Transient",
    "Unsure",
    "Workflow",
    "converse",
    "literal",
    "plan_faults",
    "ref",
    "tool",
]


def __getattr__(name: str) -> object:
    """Import a public name from its module and keep it (PEP 562)."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found
