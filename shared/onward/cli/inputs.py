"""What `onward run` is given: JSON on the command line or in a file, and files to upload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from onward.cli.exits import WrongUse


def read_json(text: str, what: str) -> Any:
    """Parse JSON, or the file that `@path` names.

    Raises:
        WrongUse: the file cannot be read, or it is not JSON.
    """
    source = what
    if text.startswith("@"):
        source = text[1:]
        text = read_file(Path(source)).decode("utf-8", errors="replace")
    try:
        return json.loads(text)
    except ValueError as error:
        raise WrongUse(f"{source} is not JSON: {error}") from error


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

    Raises:
        WrongUse: a pair has no `=`, or a file cannot be read.
    """
    files = {}
    for pair in pairs:
        field, equals, path = pair.partition("=")
        if not (field and equals and path):
            raise WrongUse(f"--file {pair}: write it as field=path")
        files[field] = (Path(path).name, read_file(Path(path)))
    return files


def read_file(path: Path) -> bytes:
    """Return a file's content.

    Raises:
        WrongUse: there is no such file, or it may not be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise WrongUse(f"cannot read {path}: {error.strerror or error}") from error
