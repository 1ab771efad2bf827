"""The emulator process: on loopback only, in its own process group, data in its state directory.

Whether it runs is told by a lock that the process holds for its whole life, never by a process
number: those are reused. Its data is written when it is asked to end (SIGTERM), not before.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LOOPBACK: Final = "127.0.0.1"
ROOT: Final = Path(__file__).resolve().parents[2]

_LOCK: Final = "emulator.lock"
_SIGNED_WITH: Final = "emulator.secret"
_OWNER_ONLY: Final = 0o600
_START_SECONDS: Final = 30
_STOP_SECONDS: Final = 60
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "TZ")

_children: Final[dict[int, subprocess.Popen[bytes]]] = {}
"""Emulators that this very process started: they must be reaped when they end."""


class LocalStackError(RuntimeError):
    """The local stack cannot do what was asked; the text says what to do."""


class PortTaken(LocalStackError):
    """Something else already answers on the port."""


class EmulatorFailed(LocalStackError):
    """The emulator ended or did not answer in time."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator. Its process number is also that of its process group.

    `secret_access_key` is what every client and worker of this stack signs with; the emulator
    refuses what is signed with another, or not at all.
    """

    pid: int
    port: int
    secret_access_key: str = field(default="", repr=False)

    @property
    def endpoint_url(self) -> str:
        """The URL every AWS client and worker of this stack uses."""
        return f"http://{LOOPBACK}:{self.port}"


@contextmanager
def exclusive(state: Path) -> Iterator[None]:
    """Let one `up` or `down` at a time work on a state directory; others wait."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "command.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def running(state: Path) -> Emulator | None:
    """Return the emulator that holds this state directory."""
    path = state / _LOCK
    if not path.exists():
        return None
    with path.open("r+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return Emulator(**json.load(lock))
    return None


def free_port() -> int:
    """Return a port of the loopback that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def require_free(port: int) -> None:
    """Raise PortTaken if something answers on a port of the loopback."""
    with socket.socket() as probe:
        if probe.connect_ex((LOOPBACK, port)) == 0:
            raise PortTaken(
                f"port {port} of {LOOPBACK} is already in use; choose another with --port,"
                " or stop what listens there"
            )


def start(state: Path, port: int) -> Emulator:
    """Start the emulator on a state directory and wait until it answers.

    Raises PortTaken before anything is started, EmulatorFailed with the end of its log.
    """
    require_free(port)
    log = state / "emulator.log"
    # Workers that were killed left their unpacked code here.
    shutil.rmtree(state / "tmp", ignore_errors=True)
    (state / "tmp").mkdir()
    secret = _secret(state)
    with _private(state / _LOCK) as lock, log.open("w") as output:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.local.launch"],
            cwd=ROOT,
            env=_environment(state, port, secret),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=[lock.fileno()],
            start_new_session=True,
        )
        emulator = Emulator(process.pid, port, secret)
        json.dump(asdict(emulator), lock)
    _children[process.pid] = process
    try:
        _await_health(emulator, process, log)
    except BaseException:
        # Interrupted too: the next command must not find one that does not answer yet.
        _end_group(emulator.pid)
        raise
    return emulator


def _await_health(emulator: Emulator, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not _is_healthy(emulator):
        if process.poll() is not None or time.monotonic() > deadline:
            raise EmulatorFailed(f"the emulator did not start; {log} ends with:\n{_tail(log)}")
        time.sleep(0.02)


def stop(state: Path) -> bool:
    """End the emulator of a state directory and all its workers; return whether there was one.

    It is asked first, so that it writes its data, and its workers with it, since it waits for
    them; what is left of its group then is killed.
    """
    emulator = running(state)
    if emulator is None:
        return False
    with suppress(ProcessLookupError):
        os.killpg(emulator.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_SECONDS
    while running(state) and time.monotonic() < deadline:
        time.sleep(0.02)
    _end_group(emulator.pid)
    return True


def _secret(state: Path) -> str:
    """Return the state directory's secret access key; it outlives restarts, as signed links do."""
    path = state / _SIGNED_WITH
    with suppress(FileNotFoundError):
        return path.read_text()
    secret = secrets.token_urlsafe(30)
    with _private(path) as file:
        file.write(secret)
    return secret


def _private(path: Path) -> IO[str]:
    """Open a file for writing that nobody but its owner can read, also if it was there before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, _OWNER_ONLY)
    os.fchmod(descriptor, _OWNER_ONLY)
    os.ftruncate(descriptor, 0)
    return os.fdopen(descriptor, "w")


def _environment(state: Path, port: int, secret: str) -> dict[str, str]:
    """Return all the emulator sees: nothing of the caller's AWS accounts, proxies or settings."""
    scratch = str(state / "tmp")
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return kept | {
        "HOME": scratch,
        "TMPDIR": scratch,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SECRET_ACCESS_KEY": secret,
        "BIND_HOST": LOOPBACK,
        "MINISTACK_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "PERSIST_STATE": "1",
        "STATE_DIR": str(state / "services"),
        "S3_PERSIST": "1",
        "S3_DATA_DIR": str(state / "objects"),
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "INFO",
    }


def _is_healthy(emulator: Emulator) -> bool:
    connection = HTTPConnection(LOOPBACK, emulator.port, timeout=1)
    try:
        connection.request("GET", "/_ministack/health")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _end_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    child = _children.pop(pid, None)
    if child is not None:
        child.wait()


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
