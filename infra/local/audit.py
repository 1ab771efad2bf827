"""Look what the locks install up in a database of known vulnerabilities, and write its bill.

python -m infra.local.audit scan      exit 1 on findings, and on nothing else
python -m infra.local.audit sbom      sbom/<lock>.cdx.json, CycloneDX 1.6
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
BIN: Final = ROOT / ".venv-audit" / "bin"
SBOM: Final = ROOT / "sbom"
LOCKS: Final = (
    "requirements.lock",
    "requirements-dev.lock",
    "requirements-uv.lock",
    "requirements-audit.lock",
    "infra/layer.lock",
)
SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan found among the packages looked up; `unscanned` says why others were not."""

    findings: tuple[str, ...] = ()
    looked_up: int = 0
    unscanned: str = ""


def judge(stdout: str, stderr: str) -> Scan:
    """Read pip-audit's answer: its exit code is 1 for findings and for a database that is away."""
    try:
        packages = json.loads(stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (stderr.strip().splitlines() or ["it said nothing"])[-1]
        return Scan(unscanned=last[:300])
    skipped = [package for package in packages if "skip_reason" in package]
    why = f"{len(skipped)} of {len(packages)}, {skipped[0]['skip_reason']}" if skipped else ""
    found = [_told(package, flaw) for package in packages for flaw in package.get("vulns", [])]
    return Scan(tuple(found), len(packages) - len(skipped), why[:300])


def _told(package: dict[str, Any], flaw: dict[str, Any]) -> str:
    fixed = ", ".join(flaw.get("fix_versions", [])) or "no release"
    return f"{package['name']} {package['version']}: {flaw['id']} (mended in {fixed})"


def scan() -> int:
    """Look every lock up; return 1 if something is known to be vulnerable."""
    findings: set[str] = set()
    for lock in LOCKS:
        found = judge(*_output([*_tool("pip-audit"), "--requirement", str(ROOT / lock)]))
        findings |= {*found.findings}
        if found.looked_up:
            print(f"{lock}: {found.looked_up} packages, {len(found.findings)} findings")
        else:
            print(f"{lock}: NOT SCANNED, no database of vulnerabilities answered")
        if found.unscanned:
            print(f"    not looked up: {found.unscanned}")
    for finding in sorted(findings):
        print(f"    {finding}")
    return 1 if findings else 0


def sbom() -> int:
    """Write a bill of materials of each lock; needs no network."""
    SBOM.mkdir(exist_ok=True)
    for lock in LOCKS:
        target = SBOM / f"{Path(lock).stem}.cdx.json"
        options = ["--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON"]
        command = [str(BIN / "cyclonedx-py"), "requirements", *options]
        subprocess.run([*command, "-o", str(target), str(ROOT / lock)], check=True, timeout=SECONDS)
        components = json.loads(target.read_text())["components"]
        print(f"{target.relative_to(ROOT)}: {len(components)} components")
    return 0


def _tool(name: str) -> list[str]:
    quiet = ["--progress-spinner", "off", "--format", "json", "--disable-pip", "--require-hashes"]
    return [str(BIN / name), *quiet, "--timeout", "15"]


def _output(command: list[str]) -> tuple[str, str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "", f"no answer within {SECONDS} s"
    return done.stdout, done.stderr


if __name__ == "__main__":
    sys.exit({"scan": scan, "sbom": sbom}[sys.argv[1]]())
