"""Run the emulator, patched, behind its door and with the queue pump.

    python -m infra.local.launch

It is a process of its own, whose environment must be complete before this module is imported:
the emulator reads it then.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from infra.local.fidelity import apply
from infra.local.queue_pump import QueuePump

if TYPE_CHECKING:
    from collections.abc import Callable

_SAVE_ATTEMPTS: Final = 20


def main() -> None:
    """Serve until SIGTERM, upon which the emulator writes its state and ends."""
    apply()
    QueuePump.started()
    # Imported late: a version mismatch must be told before a server starts.
    from ministack import app

    from infra.local.door import Door

    server: Any = app
    server.app = Door.before(server.app)
    server.save_all = partial(_save_and_end, server.save_all)
    server.main()


def _save_and_end(save_all: Callable[..., None], services: dict[str, Callable[[], Any]]) -> None:
    """Write every service's state, then end at once.

    The server is closed by now. Threads that wait for a handler would hold the process for as
    long as a step takes, and nothing they could still hear would be kept.
    """
    save_all({name: partial(_read_whole, state) for name, state in services.items()})
    os._exit(0)


def _read_whole(state: Callable[[], Any]) -> Any:
    """Read a service's state again if an execution that is still running changed it meanwhile.

    As released the service would be skipped, and what it held since the last start be lost.
    """
    for _ in range(_SAVE_ATTEMPTS):
        try:
            return state()
        except RuntimeError:
            continue
    return state()


if __name__ == "__main__":
    main()
