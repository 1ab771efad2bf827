"""The processes in which an emulator runs functions, as the operating system lists them."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def workers(state: Path, function: str) -> list[int]:
    """Return the processes of a function's workers; each runs from the state directory."""
    marks = (str(state.resolve()), function)
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if entry.name.isdecimal() and all(mark in line for mark in marks):
            found.append(int(entry.name))
    return found


def kill(state: Path, function: str) -> int:
    """Kill a function's workers without a warning; return how many there were."""
    found = workers(state, function)
    for process in found:
        os.kill(process, signal.SIGKILL)
    return len(found)
