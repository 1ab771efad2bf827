"""Start a child, watch it, and end it whatever it does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import TYPE_CHECKING, Final

from onward.domain.errors import SandboxUnavailable
from onward.sandbox import syscalls
from onward.sandbox.modules import SANDBOX_MODULES, named_in
from onward.sandbox.verdict import MAX_RESULT, Fault, Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.sandbox.job import Job

KEPT_OUTPUT: Final = 16 * 1024
"""Bytes of what is printed that are kept."""

MAX_OUTPUT: Final = 1024 * 1024
"""Bytes after which whoever prints is stopped."""

START_SECONDS: Final = 15.0
"""How long a child may take to shut its doors; the job's own time starts then."""

_CHILD: Final = Path(__file__).with_name("child.py")
_CHUNK: Final = 64 * 1024
_SEALED: Final = b"sealed\n"
_REFUSED: Final = b"refused\n"


@dataclass(frozen=True, slots=True)
class Locks:
    """Which locks to use beside the limits, which are always there, and what may be imported.

    `program` is the kernel's filter. Tests take a lock away to see that the others hold.
    """

    program: bytes | None = field(default_factory=syscalls.program)
    refusals: bool = True
    modules: frozenset[str] = SANDBOX_MODULES


@dataclass(slots=True)
class _Child:
    """A running child and what it has said so far."""

    process: subprocess.Popen[bytes]
    pipe: int
    document: bytes
    answer: bytes = b""
    printed: bytes = b""
    flood: int = 0
    started: float = 0.0
    deadline: float = 0.0
    stopped: Fault | None = None


class Cell:
    """Runs jobs, one at a time; keeps whether this kernel takes filters.

    With `filtered_only` nothing is run where it does not. Without, what holds then is the limits
    and the audit hook.
    """

    def __init__(self, locks: Locks | None = None, *, filtered_only: bool = False) -> None:
        """Use all locks unless told otherwise."""
        self.locks: Locks = locks or Locks()
        self._filtered_only = filtered_only

    @property
    def filtered(self) -> bool:
        """Whether jobs run under the kernel's filter, for all that is known by now."""
        return self.locks.program is not None

    def run(self, job: Job) -> Verdict:
        """Run a job and return what came of it, within its time-out and 15 s to start.

        Nothing is left of it: no process, no file. Raises SandboxUnavailable when it could not
        be started; the code has not run then.
        """
        if self._filtered_only and not self.filtered:
            raise SandboxUnavailable("this kernel takes no filter, and nothing is run without one")
        with _started(job, self.locks) as child:
            _attend(child, job)
            said = child.answer
        if said == _REFUSED:
            self.locks = replace(self.locks, program=None)
            return self.run(job)
        if not said.startswith(_SEALED):
            tail = child.printed.decode(errors="replace").strip()[-200:]
            raise SandboxUnavailable(f"the sandbox did not start: {tail or 'no answer'}")
        return _verdict(child, job)


@contextmanager
def _started(job: Job, locks: Locks) -> Iterator[_Child]:
    """Start a child, and end it and whatever it started in the end."""
    ours, theirs = os.pipe()
    options = ("-I", "-S", "-B", "-u", "-X", "utf8", str(_CHILD), str(theirs))
    try:
        process = subprocess.Popen(  # noqa: S603 - a fixed command line
            [sys.executable, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Nothing but what the loader needs, and the child forgets that too.
            env={n: os.environ[n] for n in ("LD_LIBRARY_PATH",) if n in os.environ},
            cwd="/",
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except OSError as error:
        os.close(ours)
        raise SandboxUnavailable(f"the sandbox did not start: {error}") from error
    finally:
        os.close(theirs)
    try:
        yield _Child(process, ours, _document(job, locks))
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(ours)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def _document(job: Job, locks: Locks) -> bytes:
    """Return what the child reads: ours, the code and the data, a line each."""
    header = {
        "modules": named_in(job.code, locks.modules),
        "memory": job.memory,
        "cpu": ceil(job.timeout) + 1,
        "filter": locks.program.hex() if locks.program else None,
        "refusals": locks.refusals,
    }
    return json.dumps(header).encode() + b"\n" + job.lines()


def _attend(child: _Child, job: Job) -> None:
    """Hand over the document and listen until the child has ended or has to be ended."""
    process = child.process
    child.started = time.monotonic()
    child.deadline = child.started + START_SECONDS
    stdin, stdout = process.stdin, process.stdout
    with DefaultSelector() as selector:
        for stream in (child.pipe, stdout):
            selector.register(stream, EVENT_READ)  # type: ignore[arg-type]
        os.set_blocking(stdin.fileno(), False)  # type: ignore[union-attr]
        selector.register(stdin, EVENT_WRITE)  # type: ignore[arg-type]
        while selector.get_map() and child.stopped is None:
            ready = selector.select(max(0.0, child.deadline - time.monotonic()))
            if not ready:
                child.stopped = _overtime(job)
            for key, _ in ready:
                if not _exchange(child, key.fd, job):
                    selector.unregister(key.fileobj)
                    if key.fileobj is stdin:
                        _close(child)
    if child.stopped is None:
        try:
            process.wait(max(0.0, child.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.stopped = _overtime(job)


def _close(child: _Child) -> None:
    with suppress(BrokenPipeError):
        if child.process.stdin is not None:
            child.process.stdin.close()


def _exchange(child: _Child, descriptor: int, job: Job) -> bool:
    """Write or read what is possible on a descriptor; False when it has come to its end."""
    if descriptor == child.pipe:
        return _hear(child, job)
    stdout = child.process.stdout
    if stdout is not None and descriptor == stdout.fileno():
        return _listen(child, descriptor)
    try:
        child.document = child.document[os.write(descriptor, child.document[:_CHUNK]) :]
    except BrokenPipeError:
        return False
    return bool(child.document)


def _hear(child: _Child, job: Job) -> bool:
    """Take in a part of the answer; the job's time starts with the first."""
    part = os.read(child.pipe, _CHUNK)
    if part and not child.answer:
        child.started = time.monotonic()
        child.deadline = child.started + job.timeout
    child.answer += part
    if len(child.answer) > MAX_RESULT + len(_SEALED):
        limit = f"the result is larger than {MAX_RESULT // 1024} KB of JSON"
        child.stopped = Fault("output_too_large", limit)
    return bool(part)


def _listen(child: _Child, descriptor: int) -> bool:
    """Take in a part of what is printed, and keep the beginning."""
    part = os.read(descriptor, _CHUNK)
    child.flood += len(part)
    child.printed += part[: KEPT_OUTPUT - len(child.printed)]
    if child.flood > MAX_OUTPUT:
        limit = f"the code printed more than {MAX_OUTPUT // 1024**2} MB"
        child.stopped = Fault("output_too_large", limit)
    return bool(part)


def _overtime(job: Job) -> Fault:
    return Fault("timeout", f"the code did not end within {job.timeout:g} s")


def _verdict(child: _Child, job: Job) -> Verdict:
    """Return what a child that ended, or was ended, has come to."""
    stdout = child.printed.decode(errors="replace")
    seconds = round(time.monotonic() - child.started, 3)
    fault = child.stopped
    if fault is None:
        heard = judge(child.answer.removeprefix(_SEALED), stdout, seconds)
        if heard is not None and heard.fault is not None and heard.fault.kind == "memory":
            text = f"the code needed more than its {job.memory} MB"
            fault = Fault("memory", text, heard.fault.line)
        elif heard is not None:
            return heard
    return Verdict(fault=fault or _death(child.process, job), stdout=stdout, seconds=seconds)


def _death(process: subprocess.Popen[bytes], job: Job) -> Fault:
    """Say how a process ended that gave no answer."""
    code = process.returncode
    if code == -signal.SIGXCPU:
        return _overtime(job)
    if code < 0:
        how = signal.strsignal(-code) or f"signal {-code}"
        return Fault("killed", f"the code's process was ended: {how}")
    return Fault("killed", f"the code ended its process itself (exit code {code})")
