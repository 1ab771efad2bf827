"""A request of API Gateway's HTTP API (payload 2.0), read with nothing taken on trust."""

from __future__ import annotations

import base64
import binascii
import json
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NoReturn

from onward.domain.errors import BodyTooLarge, RequestError
from onward.domain.limits import MAX_BODY_BYTES
from onward.domain.trace import Trace, read_trace
from onward.http.bodies import Remark
from onward.http.checks import M, checked, checked_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.domain.model import Json

MAX_DEPTH: Final = 64
"""Levels of nesting; the code that walks plans and inputs is recursive."""


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

    def asked(self, model: type[M]) -> M:
        """Return the query string's parameters; raises InvalidRequest naming every fault."""
        return checked_query(model, self.query)

    def remark(self) -> str:
        """Return the comment of a call whose body may have nothing else, or be absent."""
        return checked(Remark, self.body() if self.text else {}).comment

    def _bytes(self) -> bytes:
        if not self.base64:
            return self.text.encode("utf-8", "surrogatepass")
        try:
            return base64.b64decode(self.text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise RequestError("the body is marked as base64 and is not") from error


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
