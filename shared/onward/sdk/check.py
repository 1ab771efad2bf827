"""What can be said of a catalogue before anything of it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.errors import InvalidPlan
from onward.domain.limits import LOW_SETTLES
from onward.domain.plan import compile_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.sdk.catalogue import Catalogue

_ASKED: Final = frozenset({"probe", "none"})
"""Writes that are sent again on somebody's word that they have not happened."""


def faults(catalogue: Catalogue) -> Iterator[str]:
    """Yield what would be refused when a workflow is submitted: its plan, with the place."""
    for name, workflow in sorted(catalogue.workflows.items()):
        try:
            compile_plan(workflow.document(), catalogue.specs, pointer="")
        except InvalidPlan as error:
            for fault in error.faults:
                yield f"workflow {name}{fault.pointer}: {fault.message}"


def warnings(catalogue: Catalogue) -> Iterator[str]:
    """Yield what is allowed, and may do harm: write tools that hardly wait for what was sent."""
    for name, tool in sorted(catalogue.tools.items()):
        policy = tool.policy
        if policy.idempotency in _ASKED and policy.settles_after < LOW_SETTLES:
            yield (
                f"tool {name}: settles_after is {policy.settles_after:g} s; a request that takes "
                f"longer to its receiver is sent twice (below {LOW_SETTLES:g} s is low, 30 s is "
                "the default)"
            )
