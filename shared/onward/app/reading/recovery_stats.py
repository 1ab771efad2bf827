"""What interruptions cost, and what recovering from them saved."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from onward.aws.incidents import Incidents, Recovered
    from onward.documents.operating import IncidentCause, RecoveryStats

MAX_DAYS: Final = 90
TYPICAL: Final = 3


def recovery_stats(incidents: Incidents, tenant: str, days: int, now: float) -> RecoveryStats:
    """Return a tenant's incidents of the last days by cause, the most frequent first."""
    by_cause: defaultdict[str, list[Recovered]] = defaultdict(list)
    today = datetime.fromtimestamp(now, UTC).date()
    for back in range(days):
        for incident in incidents.on(tenant, (today - timedelta(days=back)).isoformat()):
            by_cause[incident.cause].append(incident)
    rows = [_row(cause, found) for cause, found in by_cause.items()]
    return {"days": days, "causes": sorted(rows, key=lambda row: -row["count"])}


def _row(cause: str, found: list[Recovered]) -> IncidentCause:
    """Sum a cause up; the parts of an incident whose own row is of another day are not counted."""
    steps = Counter(incident.step_id for incident in found if incident.step_id)
    whole = [incident for incident in found if not incident.part]
    seconds = [incident.seconds for incident in whole] or [0.0]
    return {
        "cause": cause,
        "count": len(whole),
        "typical_steps": [step for step, _ in steps.most_common(TYPICAL)],
        "resume_median_seconds": round(median(seconds), 3),
        "resume_max_seconds": max(seconds),
        "tokens_saved": sum(incident.tokens_saved for incident in found),
        "duplicates_prevented": sum(incident.duplicates_prevented for incident in found),
    }
