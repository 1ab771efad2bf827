"""What leaves this process as JSON: nothing that JSON, UTF-8 or the API's readers do not take."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

from onward.client.errors import Unsendable

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONE: Final = re.compile("[\ud800-\udfff]")
_LEVELS: Final = 100
_JSON: Final = {"Content-Type": "application/json"}


def encoded(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request's keywords for httpx with `json` made into bytes.

    Raises:
        Unsendable: naming the place of what JSON cannot carry.
    """
    if "json" not in request:
        return request
    others = {name: value for name, value in request.items() if name not in {"json", "headers"}}
    headers = _JSON | request.get("headers", {})
    return others | {"content": to_json(request["json"]), "headers": headers}


def to_json(value: Any) -> bytes:
    """Return a value as JSON in UTF-8; raises Unsendable naming the place of what it cannot be."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        place, why = next(faults(value), ("", str(error)))
        raise Unsendable(f"{place or 'the value'}: {why}") from error


def faults(value: Any, place: str = "", levels: int = _LEVELS) -> Iterator[tuple[str, str]]:
    """Yield where (RFC 6901 JSON Pointer) and why a value is no JSON in UTF-8."""
    if not levels:
        yield place, f"nested deeper than {_LEVELS} levels"
    elif isinstance(value, dict):
        for key, each in value.items():
            if not isinstance(key, str) or _LONE.search(key):
                yield place, f"the key {_LONE.sub(chr(0xFFFD), str(key))!r} is no text"
                continue
            token = key.replace("~", "~0").replace("/", "~1")
            yield from faults(each, f"{place}/{token}", levels - 1)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from faults(each, f"{place}/{index}", levels - 1)
    elif (why := _scalar(value)) is not None:
        yield place, why


def _scalar(value: Any) -> str | None:
    if isinstance(value, str):
        return "a lone surrogate, which UTF-8 cannot carry" if _LONE.search(value) else None
    if isinstance(value, float):
        wrong = "NaN is no JSON number" if math.isnan(value) else "a number is too large"
        return None if math.isfinite(value) else wrong
    return None if value is None or isinstance(value, int) else f"a {type(value).__name__} is none"
