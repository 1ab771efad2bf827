"""What the input of a step that waits says, once it is filled in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onward.domain.duration import moment_of

if TYPE_CHECKING:
    from onward.domain.model import Json
    from onward.domain.protocol import Resolved

MAX_KEY: Final = 256
"""Characters of a signal's key."""


def resolved_wait(made: Resolved, value: Json) -> Resolved:
    """Read the key of a signal or the time of a sleep out of a wait's input, or say what is wrong.

    Numbers are keys too, written as JSON writes them: a model says 7 where another says "7".
    """
    members = value if isinstance(value, dict) else {}
    if "key" in members:
        key = members["key"]
        if isinstance(key, int) and not isinstance(key, bool):
            key = str(key)
        if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY:
            return replace(made, fault=f"key is a text of 1 to {MAX_KEY} characters")
        return replace(made, key=key)
    if "until" in members:
        until = moment_of(members["until"])
        if until is None:
            return replace(made, fault="sleep_until: not a time (RFC 3339, or epoch seconds)")
        return replace(made, until=until)
    return made
