"""The local stack as one thing: bring it up, look at it, take it down.

Everything lives in the state directory; two stacks with their own port and directory never meet.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from onward.app.access.keys import lasting_key
from onward.aws.api_keys import ApiKeys

from infra.local import assembly, emulator
from infra.local.deploy import DeploymentCutOff, client, deploy
from infra.local.emulator import Emulator, LocalStackError

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_PORT: Final = 8787
TENANT: Final = "dev"
SUBJECT: Final = "developer"
ROLES: Final = ("submitter", "operator")

_FILE: Final = "stack.json"


class OtherPort(LocalStackError):
    """The state directory is served already, on another port than the one asked for."""


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack that is up, as `stack.json` records it."""

    api_url: str
    ws_url: str
    endpoint_url: str
    api_key: str
    state_dir: str
    pid: int
    port: int
    secret_access_key: str = field(default="", repr=False)
    outputs: dict[str, str] = field(default_factory=dict)
    drills: bool = False
    local_endpoints: bool = True


def up(
    port: int | None,
    state: Path,
    *,
    drills: bool | None = None,
    local_endpoints: bool | None = None,
) -> Stack:
    """Start the emulator unless it runs, deploy what changed, and return where everything is.

    Without a port the one of last time is taken, else 8787. Unless told whether drills, and
    webhooks to addresses of this machine, are allowed, it stays as it was: at first drills are
    not, and webhooks are. Raises PortTaken, OtherPort, SynthesisFailed,
    EmulatorFailed or DeploymentFailed, each a LocalStackError.
    """
    state = state.resolve()
    with emulator.exclusive(state):
        _keep_out_of_version_control(state)
        known = _read(state)
        running = _serving(state, port)
        chosen = port or (known.port if known else DEFAULT_PORT)
        began = running is None
        if running is None:
            emulator.require_free(chosen)
        if drills is None:
            drills = known is not None and known.drills
        if local_endpoints is None:
            local_endpoints = known is None or known.local_endpoints
        built = assembly.synthesise(drills=drills, local_endpoints=local_endpoints)
        running = running or emulator.start(state, chosen)
        outputs = _deployed(built, running, state)
        key = _granted(running, outputs["AccessTable"], known.api_key if known else None)
        stack = replace(
            _at(running, outputs, key, state), drills=drills, local_endpoints=local_endpoints
        )
        _write(state, stack)
        if began:
            _carry_on(running, outputs["PatrolFunction"])
    return stack


def down(state: Path) -> bool:
    """Stop the stack of a state directory, keeping its data; return whether it ran."""
    state = state.resolve()
    if not state.exists():
        return False
    with emulator.exclusive(state):
        return emulator.stop(state)


def status(state: Path) -> Stack | None:
    """Return the stack of a state directory if it is up."""
    state = state.resolve()
    return _read(state) if emulator.running(state) else None


def _serving(state: Path, port: int | None) -> Emulator | None:
    found = emulator.running(state)
    if found is not None and port not in {None, found.port}:
        raise OtherPort(
            f"{state} is already served on port {found.port}; stop it first with"
            f" onward down --state {state}, or give another --state"
        )
    return found


def _at(running: Emulator, outputs: dict[str, str], key: str, state: Path) -> Stack:
    """Return where everything is; the emulator serves all APIs at its own address."""
    stage = urlsplit(outputs["SocketUrl"]).path
    here = f"{running.endpoint_url}/_aws/execute-api"
    return Stack(
        api_url=f"{here}/{outputs['ApiId']}",
        ws_url=f"{here.replace('http', 'ws', 1)}/{outputs['SocketApiId']}{stage}",
        endpoint_url=running.endpoint_url,
        secret_access_key=running.secret_access_key,
        api_key=key,
        state_dir=str(state),
        pid=running.pid,
        port=running.port,
        outputs=outputs,
    )


def _deployed(built: Path, running: Emulator, state: Path) -> dict[str, str]:
    try:
        return deploy(built, running)
    except DeploymentCutOff as error:
        way_out = f"onward down --state {state} && rm -r {state}"
        raise DeploymentCutOff(f"{error}; to begin anew, without its data: {way_out}") from error


def _granted(running: Emulator, table: str, known: str | None) -> str:
    """Return a key that opens the stack: the one of last time, unless it was revoked.

    Its row holds a hash; the key itself is nowhere but in the state file.
    """
    keys = ApiKeys(client("dynamodb", running), table)
    return lasting_key(keys, known, TENANT, SUBJECT, ROLES, os.urandom, time.time())


def _carry_on(running: Emulator, patrol: str) -> None:
    """Let the patrol look after every run: no execution outlives the emulator's process."""
    client("lambda", running).invoke(
        FunctionName=patrol, InvocationType="Event", Payload=b'{"everything": true}'
    )


def _keep_out_of_version_control(state: Path) -> None:
    (state / ".gitignore").write_text("*\n")


def _read(state: Path) -> Stack | None:
    try:
        return Stack(**json.loads((state / _FILE).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _write(state: Path, stack: Stack) -> None:
    """Replace the state file in one move; only its owner may read it, for it holds the key."""
    draft = state / f"{_FILE}.new"
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(stack), file, indent=2)
    draft.replace(state / _FILE)
