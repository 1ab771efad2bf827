"""The index `open`: what waits for a person, over all runs of a tenant.

Sparse: a row has these keys only while its question is open, so that listing what is open reads
nothing else. A partition is a tenant's rows of one kind. It is written to less often than
`by_tenant`, which has every run of the tenant in one partition.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from onward.aws import codec
from onward.domain.questions import needs_a_person

if TYPE_CHECKING:
    from onward.domain.model import Run

OPEN: Final = "open"


class Kind(StrEnum):
    """What is asked."""

    RECONCILIATION = "RECONCILE"
    APPROVAL = "APPROVAL"


def open_pk(kind: Kind, tenant: str) -> str:
    """Return the partition of what a tenant's people are asked."""
    return f"{kind.value}#{tenant}"


def open_keys(run: Run) -> dict[str, object]:
    """Return a run's keys in the index: in the order of submission, as all runs are listed.

    None for one that asks nothing. A run that failed asks as long as nobody has answered.
    """
    if not needs_a_person(run):
        return {}
    return {
        "open_pk": open_pk(Kind.RECONCILIATION, run.tenant),
        "open_sk": codec.iso(run.created_at),
    }
