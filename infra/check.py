"""Load every workflow and say what is wrong with it, before anything is deployed."""

from __future__ import annotations

from dataclasses import dataclass

from onward.sdk.catalogue import load_catalogue
from onward.sdk.check import faults, warnings


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found: faults are refused when a run is submitted, or earlier; warnings are not."""

    tools: int
    workflows: int
    faults: tuple[str, ...]
    warnings: tuple[str, ...]


def check(*, drills: bool = False) -> Checked:
    """Load the catalogue as a deployment does; `drills`: with the tools that inject faults.

    A workflow that cannot be imported is a fault like another, and hides the others.
    """
    try:
        catalogue = load_catalogue(drills=drills)
    except Exception as error:  # noqa: BLE001 - whatever a user's module raises at its import
        return Checked(0, 0, (f"{type(error).__name__}: {error}",), ())
    counts = len(catalogue.tools), len(catalogue.workflows)
    return Checked(*counts, tuple(faults(catalogue)), tuple(warnings(catalogue)))
