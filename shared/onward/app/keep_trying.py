"""Wait for a busy store where doing it all over costs more, or is not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from onward.aws.batches import LEAST_JITTER
from onward.aws.failures import may_pass
from onward.domain.errors import NotBegun

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.driving.carry_out import Drive

_PAUSE: Final = 0.2
_LONGEST_PAUSE: Final = 2.0

T = TypeVar("T")


def keep_trying(
    drive: Drive,
    until: float,
    call: Callable[[], T],
    passes: Callable[[Exception], bool] = may_pass,
) -> T:
    """Return what a call to our own stores does, made again until `until` (epoch seconds).

    Only for what may be carried out twice. Raises what does not pass by itself at once, and what
    was in the way last when the time is up. Full jitter: many attempts wait for the same table.
    """
    ceiling = _PAUSE
    while True:
        try:
            return call()
        except Exception as error:
            pause = ceiling * max(LEAST_JITTER, drive.chance())
            if not passes(error) or drive.clock() + pause >= until:
                raise
        drive.sleep(pause)
        ceiling = min(_LONGEST_PAUSE, ceiling * 2)


def before_the_tool(drive: Drive, until: float, call: Callable[[], T]) -> T:
    """Return what a call does that an attempt makes before its tool is called.

    A throttled, conflicting or unanswered one is waited out. Raises NotBegun when the attempt's
    time is up first: nothing failed but our store, which takes nothing off the step.
    """
    try:
        return keep_trying(drive, until, call)
    except Exception as error:
        if not may_pass(error):
            raise
        raise NotBegun(f"a store was busy until the deadline: {error}") from error
