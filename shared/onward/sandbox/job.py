"""What is to be run, and within which bounds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from onward.domain.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.domain.model import Json

TIMEOUT: Final = 10.0
MAX_TIMEOUT: Final = 60.0
"""Seconds, from the moment the code starts."""

MEMORY: Final = 256
MIN_MEMORY: Final = 64
MAX_MEMORY: Final = 512
"""MB of address space, about 30 of which the interpreter takes."""

MAX_CODE: Final = 64 * 1024
MAX_DATA: Final = 4 * 1024 * 1024
"""Bytes of JSON; an invocation takes 6 MB."""


@dataclass(frozen=True, slots=True)
class Job:
    """Python source that defines `run(data)`, and its data; `timeout` in seconds, `memory` in MB.

    Raises InvalidInput for a bound out of range, too much of either, or data that is not JSON.
    """

    code: str
    data: Json = None
    timeout: float = TIMEOUT
    memory: int = MEMORY

    def __post_init__(self) -> None:
        """Refuse what could not be run as it stands."""
        if not 0 < self.timeout <= MAX_TIMEOUT:
            raise InvalidInput(f"timeout is more than 0 and at most {MAX_TIMEOUT:.0f} seconds")
        if not MIN_MEMORY <= self.memory <= MAX_MEMORY:
            raise InvalidInput(f"memory is {MIN_MEMORY} to {MAX_MEMORY} MB")
        if len(_line(self.code, "code")) > MAX_CODE:
            raise InvalidInput(f"the code is longer than {MAX_CODE // 1024} KB")
        if len(_line(self.data, "data")) > MAX_DATA:
            raise InvalidInput(f"the data is larger than {MAX_DATA // 1024**2} MB of JSON")

    @classmethod
    def of(cls, document: Mapping[str, Json]) -> Job:
        """Read a job's document."""
        return cls(
            code=str(document["code"]),
            data=document["data"],
            timeout=float(str(document["timeout"])),
            memory=int(str(document["memory"])),
        )

    def to_json(self) -> dict[str, Json]:
        """Return the document that `of` reads."""
        return {
            "code": self.code,
            "data": self.data,
            "timeout": self.timeout,
            "memory": self.memory,
        }

    def lines(self) -> bytes:
        """Return code and data as a line of JSON each."""
        return _line(self.code, "code") + b"\n" + _line(self.data, "data")


def _line(value: Json, what: str) -> bytes:
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the {what} is not JSON: {error}") from error
