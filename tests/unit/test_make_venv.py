"""Set-up on machines that lack something: it says what to do and leaves nothing half done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local import make_venv

ROOT = Path(__file__).resolve().parents[2]
NO_ENSUREPIP = "import sys, runpy; sys.modules['ensurepip'] = None; runpy.run_path(sys.argv[1])"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of a fresh clone as set-up reads."""
    for name in ["infra/local/make_venv.py", "pyproject.toml", *tmp_locks()]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def tmp_locks() -> list[str]:
    return [make_venv.RUNTIME, make_venv.DEVELOPMENT, make_venv.UV]


def set_up(
    clone: Path, lock: str = make_venv.RUNTIME, *before: str
) -> subprocess.CompletedProcess[str]:
    """Run the script as the Makefile does, on a machine that reaches no registry."""
    nowhere = "http://127.0.0.1:9/simple"
    environment = {"PATH": os.environ["PATH"], "PIP_INDEX_URL": nowhere, "PIP_RETRIES": "0"}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "UV_INDEX_URL": nowhere}
    script = clone / "infra" / "local" / "make_venv.py"
    return subprocess.run(
        [sys.executable, *before, str(script), lock],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_python_without_venv_names_the_package_to_install(clone: Path) -> None:
    """Debian's Python without python3-venv: the command to run is named, and no .venv is left."""
    script = f"{NO_ENSUREPIP[:-1]}, run_name='__main__')"

    done = set_up(clone, make_venv.RUNTIME, "-c", script)

    assert done.returncode == 1
    assert "apt-get install python3-venv" in done.stderr
    assert not (clone / ".venv").exists()


def test_without_a_registry_it_says_so_and_can_be_run_again(clone: Path) -> None:
    """The reason is named, and the stamp does not claim packages that never came."""
    done = set_up(clone)

    assert done.returncode == 1
    assert "registry" in done.stderr
    assert "Traceback" not in done.stderr
    stamp = json.loads((clone / ".venv" / "onward.json").read_text())
    assert stamp["installed"] == ""


def test_what_is_installed_is_left_alone(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The development lock satisfies both targets; a changed lock satisfies neither."""
    monkeypatch.setattr(make_venv, "ROOT", clone)
    python = clone / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    stamp = {"path": str(clone / ".venv"), "python": version}
    stamp["installed"] = make_venv.digest(make_venv.DEVELOPMENT)
    (clone / ".venv" / "onward.json").write_text(json.dumps(stamp))

    for lock in (make_venv.RUNTIME, make_venv.DEVELOPMENT):
        done = set_up(clone, lock)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    with (clone / make_venv.DEVELOPMENT).open("a") as lock_file:
        lock_file.write("# changed\n")
    done = set_up(clone, make_venv.DEVELOPMENT)
    assert done.stdout.startswith("Installing")
    assert "Traceback" not in done.stderr
