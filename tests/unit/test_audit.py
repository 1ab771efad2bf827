"""What a scan of dependencies said: findings, or that there was no scan."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from infra.local.audit import LOCKS, ROOT, Scan, judge

FLAW = {"id": "PYSEC-2026-7", "fix_versions": ["1.1"], "aliases": [], "description": "…"}
FINE = {"name": "fine", "version": "2.0", "vulns": []}
WRONG = {"name": "wrong", "version": "1.0", "vulns": [FLAW]}
AWAY = {"name": "away", "skip_reason": "Dependency not found on PyPI and could not be audited"}
TOLD = "wrong 1.0: PYSEC-2026-7 (mended in 1.1)"
SKIPPED = "Dependency not found on PyPI and could not be audited"


def said(*packages: Any) -> str:
    return json.dumps({"dependencies": list(packages), "fixes": []})


@pytest.mark.parametrize(
    ("stdout", "stderr", "expected"),
    [
        (said(FINE), "No known vulnerabilities found", Scan((), 1)),
        (said(FINE, WRONG), "Found 1 known vulnerability", Scan((TOLD,), 2)),
        (said(AWAY, WRONG), "Found 1", Scan((TOLD,), 1, f"1 of 2, {SKIPPED}")),
        (said(AWAY), "No known vulnerabilities found", Scan((), 0, f"1 of 1, {SKIPPED}")),
        ("", "INFO\nERROR: Failed to connect", Scan((), 0, "ERROR: Failed to connect")),
        ("", "", Scan((), 0, "it said nothing")),
        ("[]", "ERROR: odd", Scan((), 0, "ERROR: odd")),
    ],
    ids=range(7),
)
def test_only_a_finding_is_a_finding(stdout: str, stderr: str, expected: Scan) -> None:
    """A database that is away is said to be, and is no success of a scan."""
    assert expected == judge(stdout, stderr)


def test_a_flaw_that_nobody_has_mended_says_so() -> None:
    """Such a finding needs a decision, not an upgrade."""
    (found,) = judge(said(WRONG | {"vulns": [FLAW | {"fix_versions": []}]}), "").findings
    assert "wrong 1.0: PYSEC-2026-7 (mended in no release)" == found


def test_every_lock_is_looked_up() -> None:
    """What is installed on a laptop, in a test and in the layer, and the scanner itself."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    found = {str(path.relative_to(ROOT)) for path in [*ROOT.glob("*.lock"), ROOT / Path(LOCKS[-1])]}

    assert found == {*LOCKS}
    assert {"audit", "dev", "setup"} == groups.keys()
