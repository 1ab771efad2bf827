"""In which order the emulator's workers are started when more are asked for than may start."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from infra.local.starts import Starts


class Released:
    """What `Starts` patches, as the emulator has it: a pool a function, each worker a start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workers: dict[str, list[Any]] = {}
        self.Worker = SimpleNamespace(_spawn=lambda _: None)

    def _worker_key(self, name: str, *_: Any) -> str:
        return name

    def acquire_worker(self, name: str, *_: Any, **__: Any) -> tuple[Any, str]:
        pool = self._workers.setdefault(name, [])
        for worker in pool:
            if not worker.in_use:
                worker.in_use = True
                return worker, "reused"
        process = SimpleNamespace(poll=lambda: None)
        pool.append(
            SimpleNamespace(in_use=True, _proc=process, _discard_tmpdir=lambda: None, name=name)
        )
        return pool[-1], "spawn"

    def release_worker(self, worker: Any) -> None:
        worker.in_use = False


def under_rule(most: int) -> tuple[Any, Released]:
    """Return a service whose pool is under the rule, with so many starts at a time."""
    runtime = Released()
    service = SimpleNamespace(
        acquire_worker=runtime.acquire_worker, release_worker=runtime.release_worker
    )
    Starts(service, runtime, most).apply()
    return service, runtime


def lease(service: Any, name: str) -> Any:
    """Lease a worker as an invocation does."""
    return service.acquire_worker(name, {}, b"", "$LATEST")[0]


def test_who_asked_first_is_started_first() -> None:
    """A function that is called once is not passed over while another keeps calling."""
    service, runtime = under_rule(1)
    first = lease(service, "often")
    started: list[str] = []

    def ask(name: str) -> None:
        worker = lease(service, name)
        started.append(name)
        runtime.Worker._spawn(worker)

    callers = []
    for name in ("once", "other", "third"):
        callers.append(threading.Thread(target=ask, args=(name,)))
        callers[-1].start()
        waits_in_line(service, len(callers))
    runtime.Worker._spawn(first)
    for caller in callers:
        caller.join(timeout=5)

    assert ["once", "other", "third"] == started


def test_a_dead_worker_is_left_out() -> None:
    """The idle one is leased though the dead one stands before it."""
    service, runtime = under_rule(2)
    dead, idle = lease(service, "f"), lease(service, "f")
    for worker in (dead, idle):
        runtime.Worker._spawn(worker)
        service.release_worker(worker)
    dead._proc = SimpleNamespace(poll=lambda: -9)

    assert lease(service, "f") is idle


def waits_in_line(service: Any, count: int) -> None:
    """Return when so many wait for their turn."""
    rule = service.acquire_worker.__closure__
    starts = next(cell.cell_contents for cell in rule if isinstance(cell.cell_contents, Starts))
    while len(starts._queue) < count:
        pass
