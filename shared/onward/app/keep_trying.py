"""Wait for a busy store where doing it all over costs more, or is not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from onward.aws.failures import may_pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.carry_out import Drive

_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 2.0

T = TypeVar("T")


def keep_trying(drive: Drive, until: float, call: Callable[[], T]) -> T:
    """Return what a call to our own stores does, made again until `until` (epoch seconds).

    Only for what may be carried out twice. Raises what does not pass by itself at once, and what
    was in the way last when the time is up.
    """
    pause = _PAUSE
    while True:
        try:
            return call()
        except Exception as error:
            if not may_pass(error) or drive.clock() + pause >= until:
                raise
        drive.sleep(pause)
        pause = min(_LONGEST_PAUSE, pause * 2)
