"""A request of API Gateway's HTTP API (payload 2.0), read with nothing taken on trust."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NoReturn

from onward.domain.errors import BodyTooLarge, Fault, InvalidRequest, RequestError
from onward.domain.limits import MAX_BODY_BYTES
from onward.domain.trace import Trace, read_trace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.domain.model import Json

MAX_DEPTH: Final = 64
"""Levels of nesting; the code that walks plans and inputs is recursive."""

_LONGEST_NUMBER: Final = 10
_NUMBER: Final = re.compile(r"[0-9]{1,20}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Request:
    """One call. Header names are lower case; a parameter given twice is joined by commas."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    text: str = ""
    base64: bool = False

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Request:
        """Read the gateway's event."""
        headers = event.get("headers") or {}
        return cls(
            headers={str(name).lower(): str(value) for name, value in headers.items()},
            query=event.get("queryStringParameters") or {},
            text=event.get("body") or "",
            base64=bool(event.get("isBase64Encoded")),
        )

    def body(self) -> Json:
        """Return the JSON body; raises BodyTooLarge, or RequestError saying where it is wrong."""
        raw = self._bytes()
        if len(raw) > MAX_BODY_BYTES:
            raise BodyTooLarge(f"the body has {len(raw)} bytes, at most {MAX_BODY_BYTES} are taken")
        try:
            value: Json = json.loads(
                raw.decode("utf-8-sig"), parse_constant=_no_number, object_pairs_hook=_members
            )
            _check(value)
        except UnicodeDecodeError as error:
            raise RequestError(f"the body is not UTF-8 at byte {error.start}") from error
        except UnicodeEncodeError as error:
            raise RequestError("the body has a lone surrogate, which is not UTF-8") from error
        except RecursionError as error:
            raise RequestError(f"the body is nested deeper than {MAX_DEPTH} levels") from error
        except json.JSONDecodeError as error:
            where = f"line {error.lineno} column {error.colno}"
            raise RequestError(f"the body is not JSON at {where}: {error.msg}") from error
        except ValueError as error:
            raise RequestError(f"the body is not JSON: {error}") from error
        return value

    def trace(self) -> Trace | None:
        """Return the caller's trace; None without one, also where its header is malformed."""
        return read_trace(self.headers.get("traceparent"), self.headers.get("tracestate"))

    def said(self) -> Json:
        """Return the JSON body of a call that needs none, an empty object without one."""
        return self.body() if self.text else {}

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        """Return a query parameter that is a whole number; raises InvalidRequest."""
        return whole(self.query.get(name, str(default)), name, least, most)

    def number(self, name: str, default: float, most: float) -> float:
        """Return a query parameter that is a number from 0; raises InvalidRequest."""
        text = self.query.get(name, f"{default:g}")
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not 0 <= value <= most:
            _wrong(name, f"{name} is a number from 0 to {most:g}")
        return value

    def flag(self, name: str) -> bool:
        """Return a query parameter that is true or false, its default; raises InvalidRequest."""
        text = self.query.get(name, "false")
        if text not in {"true", "false"}:
            _wrong(name, f"{name} is true or false")
        return text == "true"

    def _bytes(self) -> bytes:
        if not self.base64:
            return self.text.encode("utf-8", "surrogatepass")
        try:
            return base64.b64decode(self.text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise RequestError("the body is marked as base64 and is not") from error


def whole(text: str, name: str, least: int, most: int) -> int:
    """Return a whole number in plain digits; raises InvalidRequest naming the parameter."""
    plain = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    if not plain or not least <= int(text) <= most:
        _wrong(name, f"{name} is a whole number from {least} to {most}")
    return int(text)


def _wrong(name: str, message: str) -> NoReturn:
    raise InvalidRequest(message, (Fault(f"/{name}", message),))


def _check(value: Json) -> None:
    """Refuse what JSON's grammar takes and our stores do not.

    Python reads 1e999 as infinity and a lone surrogate as text that no UTF-8 can carry.
    """
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Json] = []
        for node in level:
            if isinstance(node, dict):
                inner += [*node.keys(), *node.values()]
            elif isinstance(node, list):
                inner += node
            elif isinstance(node, str):
                node.encode()
            elif isinstance(node, float) and not math.isfinite(node):
                raise ValueError("a number is too large")
        level = inner
        if not level:
            return
    raise RecursionError


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Refuse a member that is there twice: whoever signs, logs or filters may read the other."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = sorted(name for name, _ in pairs)
        twice = next(one for one, other in pairwise(names) if one == other)
        raise ValueError(f"the member {twice!r} is there twice")
    return members


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
