"""Find the tools and workflows that a deployment ships."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from onward.domain.limits import FUNCTION_MARGIN, LEAST_FUNCTION_SECONDS
from onward.sdk.tools import Tool, ToolRefused
from onward.sdk.workflow import Workflow

if TYPE_CHECKING:
    from types import ModuleType

    from onward.domain.plan import ToolSpec

DRILLS = "drills"

_PARTS = ("tools", "plan")

T = TypeVar("T")


@dataclass(slots=True)
class Catalogue:
    """Every tool and workflow by name; names are unique."""

    tools: dict[str, Tool] = field(default_factory=dict)
    workflows: dict[str, Workflow] = field(default_factory=dict)

    @property
    def specs(self) -> dict[str, ToolSpec]:
        """What plans are validated against, and how long the function that runs them lives."""
        seconds = self.function_seconds
        return {name: _living(tool.spec, seconds) for name, tool in self.tools.items()}

    @property
    def function_seconds(self) -> int:
        """The time-out of the function that runs the tools: it outlives their longest attempt.

        The template gives it to the function and each run is told at its submission, so that
        nobody waits longer for a worker that is perhaps alive.
        """
        seconds = [tool.policy.timeout for tool in self.tools.values()]
        for workflow in self.workflows.values():
            seconds += [step.timeout or 0 for step in workflow.steps]
        return max(LEAST_FUNCTION_SECONDS, max(seconds, default=0) + FUNCTION_MARGIN)

    def collect(self, module: ModuleType) -> None:
        """Add what a module defines; raises ToolRefused when two share a name."""
        for value in vars(module).values():
            if isinstance(value, Tool) and value.function.__module__ == module.__name__:
                _add(self.tools, value.name, value)
            elif isinstance(value, Workflow):
                _add(self.workflows, value.name, value)


def _living(spec: ToolSpec, seconds: int) -> ToolSpec:
    return replace(spec, policy=replace(spec.policy, function_seconds=seconds))


def _add(named: dict[str, T], name: str, value: T) -> None:
    if named.setdefault(name, value) is not value:
        raise ToolRefused(f"two {type(value).__name__.lower()}s are called {name!r}")


def load_catalogue(package: str = "workflows", *, drills: bool = False) -> Catalogue:
    """Import `<package>.*.tools` and `.plan`; tools that inject faults only where allowed."""
    catalogue = Catalogue()
    for folder in _folders(package):
        if folder == DRILLS and not drills:
            continue
        for part in _PARTS:
            name = f"{package}.{folder}.{part}"
            if find_spec(name) is not None:
                catalogue.collect(import_module(name))
    return catalogue


def _folders(package: str) -> list[str]:
    """Return the folders that hold a part of the catalogue, with or without an `__init__.py`."""
    homes = [Path(home) for home in import_module(package).__path__]
    found = {path.parent.name for home in homes for p in _PARTS for path in home.glob(f"*/{p}.py")}
    return sorted(name for name in found if name.isidentifier())


def load_tool(entry: str) -> Tool:
    """Import one tool by its entry `module:function`, and nothing else of the catalogue."""
    module, _, name = entry.partition(":")
    found = getattr(import_module(module), name)
    if not isinstance(found, Tool):
        raise ToolRefused(f"{entry} is not a tool")
    return found
