"""What came of a job. What the child says of it is believed no further than it can be checked.

The code runs in the child and may write to its pipe itself. So what comes out of it is a claim:
a value that is checked as if `run` had returned it, or an error that the code could as well have
raised. How long it took, what it printed, whether it ran out of time or was ended, is told by the
process that watches it, and by nobody else.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NoReturn, cast, get_args

from onward.domain.errors import CodeFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.domain.model import Json

Kind = Literal["raised", "timeout", "memory", "killed", "output_too_large", "not_json", "syntax"]
Claim = Literal["raised", "memory", "not_json", "syntax"]
"""The kinds that a child may tell; the others are seen from outside."""

MAX_RESULT: Final = 256 * 1024
"""Bytes of JSON that a job may return, in ASCII."""

MAX_DEPTH: Final = 50
"""Levels of nesting in a result; who reads it may walk it recursively."""

MAX_MESSAGE: Final = 1000
_QUOTED: Final = 200


class NotJson(ValueError):
    """The child's answer is not the JSON that it should be."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why there is no value; `line` is the code's own, where it is known."""

    kind: Kind
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A value or a fault, the beginning of what was printed, and how long it took (seconds)."""

    value: Json = None
    fault: Fault | None = None
    stdout: str = ""
    seconds: float = 0.0

    @classmethod
    def of(cls, document: Mapping[str, Json]) -> Verdict:
        """Read a verdict's document."""
        error = cast("dict[str, Json] | None", document.get("error"))
        return cls(
            value=document.get("value"),
            fault=None if error is None else _fault(error),
            stdout=str(document["stdout"]),
            seconds=float(str(document["seconds"])),
        )

    def to_json(self) -> dict[str, Json]:
        """Return the document that `of` reads."""
        ends: dict[str, Json] = {"stdout": self.stdout, "seconds": self.seconds}
        if self.fault is None:
            return {"ok": True, "value": self.value, **ends}
        fault = self.fault
        error: Json = {"kind": fault.kind, "message": fault.message, "line": fault.line}
        return {"ok": False, "error": error, **ends}

    def result(self) -> Json:
        """Return the value; raises CodeFailed naming kind, line, message and the last words."""
        fault = self.fault
        if fault is None:
            return self.value
        where = fault.kind if fault.line is None else f"{fault.kind}, line {fault.line}"
        text = f"the code failed ({where}): {fault.message}"
        if self.stdout.strip():
            text += f"; printed: …{self.stdout.strip()[-_QUOTED:]}"
        raise CodeFailed(text, fault.kind, fault.line, self.stdout)


def judge(answer: bytes, stdout: str, seconds: float) -> Verdict | None:
    """Return the verdict that a child's answer gives; None when it gave none."""
    try:
        document = json.loads(answer, parse_constant=_no_number, parse_float=_finite)
        if not isinstance(document, dict):
            return None
        if "value" not in document:
            return Verdict(fault=_claimed(document), stdout=stdout, seconds=seconds)
        value = document["value"]
        _check(value)
    except NotJson as error:
        return Verdict(fault=Fault("not_json", str(error)), stdout=stdout, seconds=seconds)
    except (ValueError, RecursionError, KeyError):
        return None
    return Verdict(value=value, stdout=stdout, seconds=seconds)


def _claimed(document: Mapping[str, Json]) -> Fault:
    if document["kind"] not in get_args(Claim):
        raise ValueError("not for the child to tell")
    return _fault(document)


def _fault(document: Mapping[str, Json]) -> Fault:
    """Read a fault; raises ValueError for a kind that there is not."""
    kind, line = document["kind"], document.get("line")
    if kind not in get_args(Kind):
        raise ValueError("no such kind")
    message = str(document["message"])[:MAX_MESSAGE].encode(errors="replace").decode()
    return Fault(cast("Kind", kind), message, line if type(line) is int else None)


def _check(value: Json) -> None:
    """Raise NotJson for what `json` reads and others do not: half characters, deep nesting."""
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        if not level:
            break
        level = [inner for outer in level for inner in _inside(outer)]
    else:
        raise NotJson(f"the result is nested deeper than {MAX_DEPTH} levels")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise NotJson("the result has text with half of a surrogate pair") from error


def _inside(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson(f"{text[:_QUOTED]} is too large for a JSON number")
    return number


def _no_number(name: str) -> NoReturn:
    raise NotJson(f"{name} is not a JSON number")
