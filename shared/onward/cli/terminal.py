"""The one way to a terminal: what people's data holds is shown as text, never obeyed.

Control characters could clear the screen, set its title or repeat a line as another; bidirectional
overrides turn text around; invisible characters hide it. They are shown as escapes.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

_TEXT: Final = "\n\t\u200c\u200d"
"""Line ends and tabs, which rich lays out, and the joiners that scripts and emoji need."""

_UNSHOWN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_BYTE: Final = 0xFF
_PLANE: Final = 0xFFFF


class Terminal(Console):
    """A console on which no text of others can be more than text; the commands have no other."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render, and show in every piece of text what a terminal would obey."""
        for segment in super().render(renderable, options):
            if segment.control or (segment.text.isascii() and segment.text.isprintable()):
                yield segment
            else:
                yield Segment(shown(segment.text), segment.style)


def shown(text: str) -> str:
    """Return text with everything that is no character to look at as an escape."""
    if text.isprintable():
        return text
    return "".join(_escape(each) if _is_unshown(each) else each for each in text)


def one_line(text: str) -> str:
    """Return text for a line of its own: a line end in it would look like another one's."""
    return shown(text.replace("\n", "\\n"))


def json_line(document: Any) -> str:
    """Return JSON on one line, the same value, with escapes for what a terminal would obey."""
    text = json.dumps(document, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(_json_escape(each) if _is_unshown(each) else each for each in text)


def _is_unshown(each: str) -> bool:
    return each not in _TEXT and unicodedata.category(each) in _UNSHOWN


def _escape(each: str) -> str:
    code = ord(each)
    if code <= _BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _PLANE else f"\\U{code:08x}"


def _json_escape(each: str) -> str:
    return json.dumps(each)[1:-1] if ord(each) > _BYTE else f"\\u{ord(each):04x}"
