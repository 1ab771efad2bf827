"""The processes in which an emulator runs functions, as the operating system lists them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
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


def frozen(state: Path, function: str) -> list[int]:
    """Return those of a function's workers that are stopped (SIGSTOP)."""
    return [process for process in workers(state, function) if _state(process) == "T"]


def kill(state: Path, function: str) -> int:
    """Kill a function's workers without a warning; return how many there were."""
    return sum(_signal(process, signal.SIGKILL) for process in workers(state, function))


def end(process: int) -> bool:
    """Kill one worker without a warning; return whether it was there."""
    return _signal(process, signal.SIGKILL)


def freeze(process: int) -> bool:
    """Stop a worker in the middle of whatever it does; return whether it was there."""
    return _signal(process, signal.SIGSTOP)


def wake(process: int) -> bool:
    """Let a stopped worker go on; return whether it was there."""
    return _signal(process, signal.SIGCONT)


def ended(process: int) -> bool:
    """Whether a process is gone, or only waits for its parent to hear of its end."""
    return _state(process) in {"", "Z"}


def idle(process: int) -> bool:
    """Whether a worker has nothing to do: it sleeps until its next invocation comes down a pipe."""
    with suppress(OSError):
        return "pipe_read" in Path(f"/proc/{process}/wchan").read_text()
    return True


def _signal(process: int, number: signal.Signals) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, number)
        return True
    return False


def _state(process: int) -> str:
    """Return the scheduler's letter for a process (proc(5): the field behind its name)."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return ""
