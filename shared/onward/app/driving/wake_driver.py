"""Wake a driver that is parked: somebody has committed what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.run_reader import RunReader


def signal(reader: RunReader, run_id: str, wake: Callable[[str], object]) -> bool:
    """Wake a parked driver by the token that is there after the commit it is to hear of.

    answerer  commit ──► read token ──► signal
    park              store token if seq unchanged, else decide again

    A token stored before the commit is found here; one stored later is stored by a park that
    has seen the commit, and answers itself.
    """
    run = reader.run(run_id)
    if run is None or run.park_token is None:
        return False
    return bool(wake(run.park_token))
