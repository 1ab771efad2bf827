"""Every drill, its repetitions left out, on a stack of its own."""

from __future__ import annotations

import pytest

from infra.local.drills.runner import DRILLS, run
from infra.local.stack import Stack


@pytest.mark.parametrize("name", DRILLS)
def test_a_drill_holds(stack: Stack, name: str) -> None:
    """Each case ends with one effect an action, and a log that says what happened."""
    findings = list(run(stack, [name], quick=True))

    assert findings
    assert [] == [finding for finding in findings if finding.verdict != "held"]
