"""Cold starts in turn: a burst of invocations must not start a process each, all at once.

As released the emulator answers twenty concurrent requests by starting twenty interpreters. On
a machine with two cores each then needs twenty times as long, and every request outlives the
gateway's time-out. Here an invocation that finds no idle worker waits for one, or for its turn
to start another, whichever comes first. Starting is what is bounded, not running: a function
that waits for another one is never in its way.

A worker that has died is left out of the pool. As released it would be leased before those that
are idle, and started again, so that every death would cost a cold start.
"""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Starts:
    """Leases workers like the emulator's own pool, with few starts under way at a time."""

    def __init__(self, lambda_service: Any, runtime: Any, most: int | None = None) -> None:
        self._service = lambda_service
        self._runtime = runtime
        self._free = most or os.cpu_count() or 1
        self._changed = threading.Condition()
        self._starting: set[int] = set()
        self._queue: list[object] = []

    def apply(self) -> None:
        """Put the pool's lease, release and start under this rule."""
        service, worker = self._service, self._runtime.Worker
        service.acquire_worker = self._acquiring(service.acquire_worker)
        service.release_worker = self._releasing(service.release_worker)
        worker._spawn = self._spawning(worker._spawn)

    def _acquiring(self, acquire: Callable[..., Any]) -> Callable[..., Any]:
        def acquire_in_turn(
            name: str, config: Any, code: bytes, qualifier: str = "$LATEST", **options: Any
        ) -> Any:
            key = self._runtime._worker_key(name, config, qualifier)
            with self._changed:
                self._await_turn(key)
                self._leave_out_dead(key)
                worker, how = acquire(name, config, code, qualifier=qualifier, **options)
                if how == "spawn":
                    self._free -= 1
                    self._starting.add(id(worker))
                return worker, how

        return acquire_in_turn

    def _await_turn(self, key: str) -> None:
        """Wait for an idle worker, or for a start that is due to nobody who came before.

        Without an order a function that is called once, such as the patrol, would be passed over
        for as long as others keep calling.
        """
        ticket = object()
        self._queue.append(ticket)
        try:
            self._changed.wait_for(
                lambda: self._has_idle(key) or (self._free > 0 and self._queue[0] is ticket)
            )
        finally:
            self._queue.remove(ticket)
            self._changed.notify_all()

    def _releasing(self, release: Callable[..., Any]) -> Callable[..., Any]:
        def release_and_tell(worker: Any) -> None:
            release(worker)
            self._started(worker)

        return release_and_tell

    def _spawning(self, spawn: Callable[..., Any]) -> Callable[..., Any]:
        def spawn_and_tell(worker: Any) -> None:
            try:
                spawn(worker)
            finally:
                self._started(worker)

        return spawn_and_tell

    def _started(self, worker: Any) -> None:
        """A worker is up, or back in the pool: whoever waits looks again."""
        with self._changed:
            if id(worker) in self._starting:
                self._starting.remove(id(worker))
                self._free += 1
            self._changed.notify_all()

    def _has_idle(self, key: str) -> bool:
        pool = self._runtime._workers.get(key, ())
        return any(not worker.in_use and not _is_dead(worker) for worker in pool)

    def _leave_out_dead(self, key: str) -> None:
        with self._runtime._lock:
            pool = self._runtime._workers.get(key, [])
            dead = [worker for worker in pool if not worker.in_use and _is_dead(worker)]
            pool[:] = [worker for worker in pool if worker not in dead]
        for worker in dead:
            worker._discard_tmpdir()


def _is_dead(worker: Any) -> bool:
    return worker._proc is None or worker._proc.poll() is not None
