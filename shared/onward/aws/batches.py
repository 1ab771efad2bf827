"""What a batch call left undone is asked for again: not at once, and not for ever."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from onward.domain.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

CALL_SECONDS: Final = 10.0
"""How long one call waits for a busy table in all, as long as for an answer that does not come."""

_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

LEAST_JITTER: Final = 0.05
"""Of a full jitter: a pause of nothing at all is none."""


@dataclass(slots=True)
class Pauses:
    """The pauses of one call, each up to twice the last one: full jitter.

    DynamoDB hands unprocessed keys and items back when a table is throttled, and asks for
    exponential back-off (Developer Guide, "Error retries and exponential backoff").
    """

    sleep: Callable[[float], None]
    chance: Callable[[], float]
    slept: float = 0.0
    _ceiling: float = field(default=_PAUSE)

    def pause(self, what: str) -> None:
        """Sleep before the rest is asked for; raises Unavailable when the call's time is up."""
        if self.slept >= CALL_SECONDS:
            raise Unavailable(f"{what} left undone what was asked for {self.slept:.0f} s long")
        seconds = self._ceiling * max(LEAST_JITTER, self.chance())
        self.sleep(seconds)
        self.slept += seconds
        self._ceiling = min(_LONGEST_PAUSE, self._ceiling * 2)


def real_pauses() -> Pauses:
    """Return the pauses of a call in a process of its own."""
    return Pauses(time.sleep, random.random)
