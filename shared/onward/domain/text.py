"""Text that everything we hand it to can carry: rows and events in UTF-8, people in a terminal."""

from __future__ import annotations

import re
from typing import Final

REPLACEMENT: Final = "\ufffd"
LONGEST: Final = 100_000
"""Characters that are looked at; what is cut shorter afterwards does not pay for a gigabyte."""

_LONE: Final = re.compile("[\ud800-\udfff]")


def plain(value: object, most: int = LONGEST) -> str:
    """Return what something says, at most so many characters, in UTF-8 whatever it holds.

    Lone surrogates, which Python makes of file names and of a program's output that are no UTF-8,
    become U+FFFD. Something that cannot say anything is named by its type.
    """
    try:
        text = value if isinstance(value, str) else str(value)
        return _LONE.sub(REPLACEMENT, text[:most])
    except BaseException:  # noqa: BLE001 - whatever its author wrote
        return f"<{type(value).__name__} without words>"
