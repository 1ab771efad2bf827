"""Capacity that is not there for a while: busy tables, and functions that nobody may start.

A file in the state directory says until when; whoever rehearses writes it, and the emulator's own
process looks at it at each call. As released the emulator has room for everything, so that what
AWS refuses for a minute would never be met here.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

TABLES: Final = "tables"
STARTS: Final = "starts"

_FILE: Final = "outages.json"
_THROTTLED: Final = "com.amazonaws.dynamodb.v20120810#ThrottlingException"
_REFUSED: Final = "Lambda.TooManyRequestsException"
_DYNAMODB: Final = b"DynamoDB_20120810."


def announce(state: Path, **seconds: float) -> None:
    """Let `tables` or `starts` be refused for so many seconds from now on; none ends it."""
    until = {what: time.time() + length for what, length in seconds.items()}
    draft = state / f"{_FILE}.new"
    draft.write_text(json.dumps(until))
    draft.replace(state / _FILE)


@dataclass(slots=True)
class Outages:
    """What the file says, read again whenever it has changed."""

    path: Path
    _seen: int = 0
    _until: dict[str, float] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Outages:
        """Return those of the state directory that this emulator was started on."""
        return cls(Path(os.environ["STATE_DIR"]).parent / _FILE)

    def has_no(self, what: str) -> bool:
        """Whether there is an outage of something at this moment."""
        with suppress(OSError, ValueError):
            changed = self.path.stat().st_mtime_ns
            if changed != self._seen:
                self._until, self._seen = json.loads(self.path.read_text()), changed
        return self._until.get(what, 0.0) > time.time()

    def refuses(self, headers: list[tuple[bytes, bytes]]) -> bytes | None:
        """Return DynamoDB's refusal of a request to a busy table; None for every other."""
        targets = [value for name, value in headers if name.lower() == b"x-amz-target"]
        if not targets or not targets[0].startswith(_DYNAMODB) or not self.has_no(TABLES):
            return None
        return json.dumps(
            {"__type": _THROTTLED, "message": "rehearsed: the table is busy"}
        ).encode()

    def refuse_starts(self, machines: Any) -> None:
        """Let the driver's invocations be refused, before anything of them began."""
        call: Callable[..., Any] = machines._call_lambda  # noqa: SLF001 - as the other patches

        def call_if_allowed(function: str, event: Any) -> Any:
            if self.has_no(STARTS):
                raise machines._ExecutionError(_REFUSED, "Rate Exceeded.")  # noqa: SLF001
            return call(function, event)

        machines._call_lambda = call_if_allowed  # noqa: SLF001
