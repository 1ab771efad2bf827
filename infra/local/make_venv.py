"""Bring `.venv` to the state that a lock file describes, with nothing but the standard library.

    python3 infra/local/make_venv.py requirements.lock

Run by the Makefile before every target. When the lock is installed already it prints nothing and
takes milliseconds. Whatever interrupts it, the next run repairs what was left: the stamp names a
lock only after the last package of it is in place.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "onward.json"
RUNTIME, DEVELOPMENT, UV = "requirements.lock", "requirements-dev.lock", "requirements-uv.lock"
OLDEST = (3, 11)


class SetupFailed(Exception):
    """Set-up cannot go on; the message says what the person at the terminal can do."""


def digest(lock: str) -> str:
    """Fingerprint of one lock and of what the editable install is made from."""
    import tomllib  # older Pythons get as far as being told that they are

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    built_from = [project["project"], project["build-system"], project["tool"]["hatch"]]
    content = (ROOT / lock).read_bytes() + json.dumps(built_from).encode()
    return hashlib.sha256(content).hexdigest()


def read_stamp() -> dict[str, str]:
    """What the last run left; empty when there was none or it is not readable."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(installed: str) -> None:
    """Replace the stamp in one step, so that an interruption leaves the old one or the new."""
    fresh = STAMP.with_suffix(".new")
    fresh.write_text(json.dumps({**home(), "installed": installed}))
    fresh.replace(STAMP)


def home() -> dict[str, str]:
    """What an environment is tied to: its scripts hold the path, its packages the version."""
    return {"path": str(VENV), "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}


def run(*command: str | Path) -> None:
    """Run one command quietly.

    Raises:
        SetupFailed: with the command's last words.
    """
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError as error:
        raise SetupFailed(str(error)) from error
    if done.returncode:
        words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise SetupFailed("\n".join(words[-3:]))


def create_venv() -> None:
    """Make an empty `.venv` with this interpreter, over whatever lies there."""
    try:
        import ensurepip  # noqa: F401 - Debian ships it apart from Python itself
    except ImportError:
        message = (
            "this Python cannot make virtual environments. On Debian and Ubuntu install it with\n"
            f"    apt-get install python3-venv     (or python{home()['python']}-venv)\n"
            "then run the same make command again."
        )
        raise SetupFailed(message) from None
    print(f"Making .venv with Python {sys.version.split()[0]} ...", flush=True)
    # The real interpreter, not a version manager's shim, so that .venv works without the manager.
    real = getattr(sys, "_base_executable", None) or sys.executable
    run(real, "-m", "venv", "--clear", VENV)
    write_stamp("")


def install(lock: str) -> None:
    """Install exactly what `lock` names, every file checked against its hash.

    Raises:
        SetupFailed: neither uv nor pip could, most likely for want of a registry.
    """
    pip = (PYTHON, "-Im", "pip", "--disable-pip-version-check", "install", "--no-compile")
    uv = VENV / "bin" / "uv"
    print(f"Installing {lock} ...", flush=True)
    try:
        run(*pip, "--require-hashes", "--only-binary", ":all:", "-r", UV)
        run(uv, "pip", "sync", "--python", PYTHON, "--require-hashes", lock)
    except SetupFailed:
        print("uv could not do it; trying pip, which takes longer ...", flush=True)
        try:
            run(*pip, "--require-hashes", "-r", lock)
        except SetupFailed as failure:
            message = (
                f"the packages of {lock} could not be installed. Is the package registry\n"
                "reachable from here (behind a proxy or mirror: configure pip for it)? pip said:\n"
                f"{failure}"
            )
            raise SetupFailed(message) from failure
    run(*pip, "--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT)


def ensure(lock: str) -> None:
    """Guarantee that `.venv` satisfies `lock`; the development lock satisfies the other as well."""
    stamp = read_stamp()
    current = PYTHON.exists() and all(stamp.get(key) == value for key, value in home().items())
    enough = {digest(lock), digest(DEVELOPMENT)}
    if current and stamp.get("installed") in enough:
        return
    started = time.monotonic()
    if not current:
        create_venv()
    install(lock)
    write_stamp(digest(lock))
    print(f"Ready after {time.monotonic() - started:.1f} s.", flush=True)


def main() -> int:
    """Return 0 when the environment is ready, 1 after saying what to do about it."""
    lock = sys.argv[1] if len(sys.argv) > 1 else RUNTIME
    if sys.version_info < OLDEST:
        print("Onward needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ...")
        return 1
    # Two makes at once would install over each other: the second waits here for the first.
    directory = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        ensure(lock)
    except SetupFailed as failure:
        print(f"Set-up stopped: {failure}", file=sys.stderr)
        return 1
    finally:
        os.close(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
