"""One alarm: the entry that a subject's list is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

if TYPE_CHECKING:
    from onward.metrics import Metric

RUNBOOK: Final = "docs/operations.md"

MINUTE: Final = Duration.minutes(1)
FIVE_MINUTES: Final = Duration.minutes(5)

NO_ALARM: Final = cloudwatch.TreatMissingData.NOT_BREACHING
"""What a metric without data means mostly: queues and functions nobody uses report nothing."""

BREACHING: Final = cloudwatch.TreatMissingData.BREACHING
"""What it means for a heartbeat: that nothing reports is the fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A metric that rings when it reaches a threshold in `of[0]` of `of[1]` periods.

    With `below` it rings as long as it stays below the threshold.

    `says` is one sentence for whoever is woken: what is wrong. `runbook` is the anchor of the
    paragraph in the runbook that tells what to do. The metric is a single one, so that an alarm
    names its culprit; a sum costs as much as its parts.
    """

    name: str
    metric: cloudwatch.Metric
    says: str
    runbook: str
    threshold: float = 1
    of: tuple[int, int] = (1, 1)
    missing: cloudwatch.TreatMissingData = NO_ALARM
    below: bool = False

    @property
    def description(self) -> str:
        """What the alarm's message says, with the place of its paragraph in the runbook."""
        return f"{self.says} Runbook: {RUNBOOK}#{self.runbook}"

    @property
    def comparison(self) -> cloudwatch.ComparisonOperator:
        """How a value is compared with the threshold."""
        operators = cloudwatch.ComparisonOperator
        if self.below:
            return operators.LESS_THAN_THRESHOLD
        return operators.GREATER_THAN_OR_EQUAL_TO_THRESHOLD


@dataclass(frozen=True, slots=True)
class Counted:
    """An alarm on what the functions count themselves: a row of the table in `runs`."""

    metric: Metric
    runbook: str
    says: str
    threshold: float = 1
    statistic: str = "sum"
    missing: cloudwatch.TreatMissingData = NO_ALARM
    of: tuple[int, int] = (1, 1)
    below: bool = False
