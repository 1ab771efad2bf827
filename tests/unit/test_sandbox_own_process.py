"""What the process that starts children hides of itself before the first of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from onward.domain.errors import SandboxUnavailable
from onward.sandbox.job import Job
from onward.sandbox.own_process import CREDENTIALS
from onward.sandbox.run import Cell, Locks
from onward.sandbox.syscalls import program

LOOK = """
import ctypes, os
from pathlib import Path
from onward.compose import cell
from onward.sandbox.job import Job
before = Path("/proc/self/environ").read_bytes()
made = cell()
print("secret" in str(before), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
print([name for name in os.environ if name.startswith("AWS_")])
print(b"secret" in Path("/proc/self/environ").read_bytes(), os.environ["OTHER"])
print(made.run(Job("def run(d):\\n    return d", 7)).value)
"""


def test_credentials_are_gone_before_the_first_job() -> None:
    """From the mapping, from the memory that /proc shows, and for ptrace (PR_GET_DUMPABLE)."""
    environment = dict.fromkeys(CREDENTIALS, "secret") | {
        "OTHER": "stays",
        "PYTHONPATH": str(Path("shared").resolve()),
        "ONWARD_SANDBOX_WITHOUT_FILTER": "refuse",
    }
    done = subprocess.run(
        [sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True, check=True
    )
    assert ["True 0", "[]", "False stays", "7"] == done.stdout.splitlines()


@pytest.mark.parametrize(
    "locks",
    [Locks(program=program("riscv64")), Locks(program=bytes(8))],
    ids=["an unknown machine", "a kernel that refuses"],
)
def test_nothing_is_run_without_the_filter_where_it_is_wanted(locks: Locks) -> None:
    """Neither at first nor later, and it says so; elsewhere the job runs and says that too."""
    job = Job("def run(d):\n    return 1")
    strict, lenient = Cell(locks, filtered_only=True), Cell(locks)
    for _ in range(2):
        with pytest.raises(SandboxUnavailable, match="takes no filter"):
            strict.run(job)
    assert (1, False) == (lenient.run(job).value, lenient.filtered)
    assert Cell(filtered_only=True).run(job).value == 1
