"""The modules that code in the sandbox may import; a planner can be told of them.

They are imported before the doors are shut, those of them that the code names: afterwards no
file can be opened, not even to import. Everything here computes and does nothing else at import.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    # What a module imports when it is first used, and could not any more.
    "collections": ("copy", "heapq"),
    "datetime": ("_strptime", "time"),
    "difflib": ("re", "unicodedata", "warnings"),
    "enum": ("warnings",),
    "fractions": ("decimal",),
    "functools": ("types", "typing", "weakref"),
    "io": ("warnings",),
    "operator": ("functools",),
    "pprint": ("time",),
    "random": ("statistics", "time"),
    "re": ("unicodedata", "warnings"),
    "types": ("functools",),
    "time": ("_strptime",),
    "urllib": ("urllib.parse", "unicodedata"),
    "uuid": ("hashlib", "random", "time"),
}

SANDBOX_MODULES: Final = frozenset(
    {
        "abc",
        "array",
        "base64",
        "binascii",
        "bisect",
        "calendar",
        "cmath",
        "collections",
        "colorsys",
        "contextlib",
        "copy",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fractions",
        "functools",
        "graphlib",
        "hashlib",
        "heapq",
        "html",
        "io",
        "itertools",
        "json",
        "math",
        "numbers",
        "operator",
        "pprint",
        "random",
        "re",
        "statistics",
        "string",
        "struct",
        "textwrap",
        "time",
        "types",
        "typing",
        "unicodedata",
        "urllib",
        "uuid",
        "zlib",
    }
)


def named_in(code: str, modules: frozenset[str] = SANDBOX_MODULES) -> list[str]:
    """Return the modules to import for a piece of code: those whose names are words in it."""
    words = sorted(modules & set(re.findall(r"\w+", code)))
    return [name for word in words for name in (word, *_WITH.get(word, ()))]
