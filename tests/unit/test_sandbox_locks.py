"""What code in the sandbox cannot do, with every lock and with any one of them alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from onward.sandbox.job import Job
from onward.sandbox.run import Cell, Locks
from onward.sandbox.syscalls import program
from onward.sandbox.verdict import Verdict

from tests.unit.attacks import (
    FILES,
    INTERPRETER,
    NAMES,
    NETWORK,
    OTHERS,
    PROCESSES,
    allowed,
    children,
    source,
)

SHUT = FILES | NETWORK | PROCESSES
EVERYTHING = SHUT | NAMES | OTHERS | INTERPRETER

ALL = Locks()
ALL = replace(ALL, modules=ALL.modules | allowed())
LAMBDA = replace(ALL, program=None)
KERNEL = replace(ALL, refusals=False)
LIMITS = replace(ALL, program=None, refusals=False)

WORKS = Job("def run(d):\n    return d + 1", 1)


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory where all may write; those that pytest makes are their owner's only."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture
def target(everybodys: Path) -> Iterator[dict[str, Any]]:
    """Something to do harm to: a directory, a file in it, a port, this process."""
    kept = everybodys / "kept"
    kept.write_text("kept")
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield {
            "path": str(everybodys / "new"),
            "kept": str(kept),
            "parent": os.getpid(),
            "port": server.getsockname()[1],
        }
    assert ["kept"] == [entry.name for entry in everybodys.iterdir()]
    assert [] == children(os.getpid())


def attacked(locks: Locks, name: str, data: Any) -> Verdict:
    cell = Cell(locks)
    verdict = cell.run(Job(source(EVERYTHING[name]), data, timeout=5))
    assert Verdict(2, seconds=0) == replace(cell.run(WORKS), seconds=0)
    return verdict


@pytest.mark.parametrize("name", EVERYTHING)
@pytest.mark.parametrize("locks", [Locks(), ALL, LAMBDA], ids=["shipped", "all", "on Lambda"])
def test_harm_is_refused(locks: Locks, name: str, target: dict[str, Any]) -> None:
    """As shipped; with more modules at hand; and where the kernel takes no filter."""
    fault = attacked(locks, name, target).fault

    assert fault is not None
    assert ("raised", True) == (fault.kind, fault.line in {1, 3}), fault


@pytest.mark.parametrize("name", SHUT)
def test_the_limits_alone_leave_nothing_to_open_or_to_start(
    name: str, target: dict[str, Any]
) -> None:
    """Neither a file nor a socket nor a process, were everything else broken."""
    fault = attacked(LIMITS, name, target).fault

    assert fault is not None
    assert any(word in fault.message for word in ("Errno 24", "Errno 11", "new thread")), fault


def test_an_attack_that_no_lock_stops_is_noticed(target: dict[str, Any]) -> None:
    """What these tests would look like if the locks were open: a name needs no descriptor."""
    verdict = attacked(LIMITS, "make a directory", target)

    assert "harm done" == verdict.value
    Path(target["path"]).rmdir()


@pytest.mark.parametrize("name", SHUT | NAMES | OTHERS)
def test_the_kernels_filter_alone_refuses_every_call(name: str, target: dict[str, Any]) -> None:
    """Also what needs no descriptor, and for whoever owns the file or the process."""
    fault = attacked(KERNEL, name, target).fault

    assert fault is not None
    assert any(word in fault.message for word in ("Errno 1]", "new thread", "not available")), fault


def test_a_kernel_that_takes_no_filter_is_told_once(target: dict[str, Any]) -> None:
    """The code has not run when that is found out; the other locks are used from then on."""
    cell = Cell(replace(ALL, program=bytes(8)))

    assert 2 == cell.run(WORKS).value
    assert cell.locks.program is None
    assert cell.run(Job(source("open('/proc/1/environ')"))).fault is not None


def test_the_filter_is_for_machines_whose_numbers_are_known() -> None:
    """Eight bytes an instruction; another machine has the other locks."""
    for machine in ("x86_64", "aarch64"):
        made = program(machine)
        assert made is not None
        assert 0 == len(made) % 8
    assert program("riscv64") is None


def test_the_environment_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials are not even inherited."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")

    assert {} == Cell().run(Job("import os\ndef run(d):\n    return dict(os.environ)")).value


@pytest.mark.parametrize("module", ["onward", "onward.settings", "boto3", "workflows", "infra"])
@pytest.mark.parametrize("locks", [Locks(), LIMITS], ids=["all", "limits"])
def test_nothing_of_ours_can_be_imported(locks: Locks, module: str) -> None:
    """Nor what is installed beside it: there is no path, and nothing to open on one."""
    code = f"def run(d):\n    sys = __import__('sys')\n    sys.path[:] = d\n    import {module}"
    fault = Cell(locks).run(Job(code, [str(Path.cwd()), *map(str, Path.cwd().glob("*"))])).fault

    assert fault is not None
    assert f"ModuleNotFoundError: {module.split('.', maxsplit=1)[0]}" in fault.message
    assert 4 == fault.line
