"""What `onward run` is given: JSON on the command line or in a file, and files to upload."""

from __future__ import annotations

import codecs
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NoReturn

from onward.cli.exits import WrongUse
from onward.client import Unsendable
from onward.client.sending import to_json

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_DIGITS: Final = "4300 digits"


def read_json(text: str, what: str) -> Any:
    """Parse JSON, or the file that `@path` names, in UTF-8 with or without its mark.

    Raises:
        WrongUse: the file cannot be read, or it is not JSON that can be sent.
    """
    source = what
    if text.startswith("@"):
        source = f"{what} {_shown(text[1:])}"
        text = _text(read_file(Path(text[1:])), source)
    return _parsed(text, source)


def read_object(text: str, what: str) -> dict[str, Any]:
    """Parse a JSON object, or the file that `@path` names.

    Raises:
        WrongUse: it cannot be read, or it is something else.
    """
    value = read_json(text, what)
    if not isinstance(value, dict):
        raise WrongUse(f"{what} must be a JSON object")
    return value


def read_files(pairs: list[str]) -> dict[str, tuple[str, bytes]]:
    """Read `field=path` pairs into field → file name and content, before anything is sent.

    A file name that is no UTF-8 gets replacement signs.

    Raises:
        WrongUse: a pair has no `=`, or a file cannot be read.
    """
    files = {}
    for pair in pairs:
        field, equals, path = pair.partition("=")
        if not (field and equals and path):
            raise WrongUse(f"--file {_shown(pair)}: write it as field=path")
        if field != _shown(field):
            raise WrongUse(f"--file {_shown(pair)}: the field is not UTF-8")
        files[field] = (_shown(Path(path).name), read_file(Path(path)))
    return files


def read_file(path: Path) -> bytes:
    """Return a file's content.

    Raises:
        WrongUse: there is no such file, or it may not be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongUse(f"cannot read {_shown(str(path))}: {error.strerror or error}") from error
    except ValueError as error:  # a name with a NUL in it
        raise WrongUse(f"cannot read {_shown(str(path))!r}: {error}") from error


def _shown(text: str) -> str:
    """Return a name as text: the system's bytes that are no UTF-8 become replacement signs."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _text(body: bytes, source: str) -> str:
    for mark, name in _MARKS:
        if body.startswith(mark):
            raise WrongUse(f"{source} is {name}; save it as UTF-8")
    if b"\0" in body[:4]:
        raise WrongUse(f"{source} is not UTF-8 (UTF-16 without a mark?); save it as UTF-8")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        column = error.start - body.rfind(b"\n", 0, error.start)
        where = f"byte {error.start}, line {line}, column {column}"
        raise WrongUse(f"{source} is not UTF-8 at {where}; save it as UTF-8") from error


def _parsed(text: str, source: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_number, object_pairs_hook=_members)
        to_json(value)
    except RecursionError as error:
        raise WrongUse(f"{source} is nested too deeply") from error
    except (Unsendable, ValueError) as error:
        why = "a number is too large" if _DIGITS in str(error) else str(error)
        raise WrongUse(f"{source} is not JSON: {_one_line(why)}") from error
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a member that is there twice: readers do not agree on which of them counts."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = sorted(name for name, _ in pairs)
        twice = next(one for one, other in pairwise(names) if one == other)
        raise ValueError(f"the member {twice!r} is there twice")
    return members


def _one_line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())
