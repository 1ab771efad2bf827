"""What is kept of a value: JSON that comes back as what it was.

The first run goes on with what a replay would read. So a value that does not come back from JSON
as it went in is refused by the place of what is lost, and never handed on as null or asterisks.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from onward.domain.errors import InvalidOutput
from onward.domain.text import plain
from onward.sdk.declared import SECRETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onward.domain.model import Json

_FAULTS_SAID: Final = 3
_LEVELS: Final = 200
"""Levels of nesting that Pydantic reads."""

_DIGITS: Final = 4300
"""Digits of a whole number that Python reads (sys.int_info.default_max_str_digits)."""

_SHOWN: Final = 80
_ASTERISKS: Final = "a secret, which JSON would carry as asterisks"
_LONE: Final = re.compile("[\ud800-\udfff]")
_ANYTHING: Final[TypeAdapter[Any]] = TypeAdapter(Any)

_SHAPES: Final[tuple[tuple[dict[str, Any], dict[str, Any]], ...]] = (
    ({"by_alias": True}, {}),
    ({"by_alias": False}, {}),
    ({"by_alias": False}, {"by_alias": False, "by_name": True}),
)
"""How a value may be written, and read again, best first. A field whose alias for writing is
another than the one for reading comes back only under its own name."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A value that came back as another; `lost`: as nothing at all, or as asterisks."""

    place: str
    why: str
    lost: bool = False


def kept(declared: TypeAdapter[Any], value: Any) -> Json:
    """Return a value as JSON that reads again as what it was.

    Aliases count, computed fields are left out, `Json` stays text. Raises InvalidOutput naming
    the place of what JSON cannot carry or what its type does not take back.
    """
    refused: list[str] = []
    fair: list[Json] = []
    for writing, reading in _SHAPES:
        document = _written(declared, value, writing)
        try:
            again = declared.validate_json(_text(document), **reading)
        except ValidationError as error:
            refused.append(_said(error))
            continue
        changes = list(_changes(value, again, ""))
        written = _written(declared, again, writing)
        if not changes:
            return written
        if _steady(declared, again, written, reading, changes):
            fair.append(written)
        refused.append(_first(changes))
    if fair:
        return fair[0]
    place, why = next(_beyond_json(value, ""), ("", refused[0]))
    raise InvalidOutput(f"{_at(place)}{why}")


def readable(declared: TypeAdapter[Any], value: Json) -> Any:
    """Decode JSON into a declared type as a checkpoint is decoded; raises ValidationError."""
    return declared.validate_json(_text(value))


def salvaged(value: Any) -> Json:
    """Return what of a refused value can be shown to a person; null when nothing can."""
    try:
        shown = _ANYTHING.dump_python(value, mode="json", fallback=lambda each: type(each).__name__)
        document = _showable(shown, _LEVELS)
        _text(document)
    except Exception:  # noqa: BLE001 - serializers are the author's code
        return None
    return document


def _written(declared: TypeAdapter[Any], value: Any, writing: dict[str, Any]) -> Json:
    try:
        text = declared.dump_json(value, round_trip=True, warnings="none", **writing)
        document: Json = json.loads(text)
        _text(document)
    except Exception as error:  # serializers are the author's code
        place, found = _culprit(value)
        why = (place, plain(error) or type(found).__name__)
        place, said = next(_beyond_json(value, ""), why)
        raise InvalidOutput(f"{_at(place)}{said}") from error
    return document


def _text(document: Json) -> bytes:
    return json.dumps(document, ensure_ascii=False, allow_nan=False).encode()


def _beyond_json(value: Any, place: str, levels: int = _LEVELS) -> Iterator[tuple[str, str]]:
    """Yield what no JSON document holds, by place."""
    if not levels:
        yield place, f"nested deeper than {_LEVELS} levels"
        return
    why = _no_scalar(value)
    if why is not None:
        yield place, why
    for name, each in _inside(value):
        if _no_scalar(name) is not None:
            yield place, f"the key {plain(name)[:_SHOWN]} is no text of JSON"
        yield from _beyond_json(each, f"{place}.{plain(name)}", levels - 1)


def _no_scalar(node: Any) -> str | None:
    if isinstance(node, float) and not math.isfinite(node):
        return f"{node} is no JSON number"
    if isinstance(node, str) and _LONE.search(node):
        return "a lone surrogate, which UTF-8 cannot carry"
    if isinstance(node, int) and abs(node) >= 10**_DIGITS:
        return f"a whole number of more than {_DIGITS} digits"
    return None


def _changes(value: Any, again: Any, place: str) -> Iterator[_Change]:
    """Yield where a value that was read again is another than the one that was written."""
    if again is None:
        yield from _change(value, again, place)
    elif _is_record(value):
        for name, each in _members(value):
            other = _member(again, value, name)
            if other is not again:
                yield from _changes(each, other, f"{place}.{name}")
    elif isinstance(value, Mapping) and isinstance(again, Mapping):
        yield from _pairs(value, again, place)
    elif isinstance(value, list | tuple) and isinstance(again, list | tuple):
        for index, (each, other) in enumerate(zip(value, again, strict=False)):
            yield from _changes(each, other, f"{place}.{index}")
        if len(value) != len(again):
            yield _Change(place, f"{len(value)} items come back as {len(again)}")
    else:
        yield from _change(value, again, place)


def _change(value: Any, again: Any, place: str) -> Iterator[_Change]:
    secrets = isinstance(value, set | frozenset) and any(isinstance(e, SECRETS) for e in value)
    hidden = isinstance(value, SECRETS) and again != value and again not in _open(value)
    if secrets or hidden:
        yield _Change(place, _ASTERISKS, lost=True)
    elif again is None and value is not None:
        yield _Change(place, f"{plain(value)[:_SHOWN]} comes back as null", lost=True)
    elif type(value) is type(again) and not isinstance(value, SECRETS) and _unlike(value, again):
        words = f"{plain(value)[:_SHOWN]} comes back as {plain(again)[:_SHOWN]}"
        yield _Change(place, words)


def _is_record(value: Any) -> bool:
    return isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, type))


def _open(secret: Any) -> tuple[Any, ...]:
    """Return the forms in which a secret may be written by an author who wants it to be."""
    held = secret.get_secret_value()
    return (held, plain(held.decode(errors="replace"))) if isinstance(held, bytes) else (held,)


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the members that are meant to be written."""
    if not isinstance(value, BaseModel):
        yield from ((each.name, getattr(value, each.name, None)) for each in fields(value))
        return
    for name, field in type(value).model_fields.items():
        if not field.exclude and field.exclude_if is None and name in value.__dict__:
            yield name, value.__dict__[name]
    yield from (value.model_extra or {}).items()


def _member(again: Any, value: Any, name: str) -> Any:
    """Return a member of what was read; `again` itself where it has none of that name."""
    if not isinstance(again, Mapping):
        return getattr(again, name, again)
    field = type(value).model_fields.get(name) if isinstance(value, BaseModel) else None
    names = (field.serialization_alias, field.alias, name) if field else (name,)
    return next((again[each] for each in names if each in again), again)


def _pairs(value: Mapping[Any, Any], again: Mapping[Any, Any], place: str) -> Iterator[_Change]:
    for key in value:
        if isinstance(key, tuple | frozenset) or key != key:  # noqa: PLR0124 - NaN
            why = f"the key {plain(key)[:_SHOWN]} is no text, as keys of JSON are"
            yield _Change(place, why, lost=key not in again)
            return
    if len(value) != len(again):
        yield _Change(place, "two keys are the same as text", lost=True)
        return
    named = all(key in again for key in value)
    others = [again[key] for key in value] if named else again.values()
    for (key, each), other in zip(value.items(), others, strict=True):
        yield from _changes(each, other, f"{place}.{plain(key)}")


def _unlike(value: Any, again: Any) -> bool:
    if getattr(type(value), "__eq__", None) is getattr(object, "__eq__"):  # noqa: B009
        return False  # two objects of a class that says nothing of it are never the same
    both_nan = value != value and again != again  # noqa: PLR0124
    return not both_nan and value != again


def _steady(
    declared: TypeAdapter[Any],
    again: Any,
    written: Json,
    reading: dict[str, Any],
    changes: list[_Change],
) -> bool:
    """Whether a change only brought a value into its type's form, once and for all."""
    if any(change.lost for change in changes):
        return False
    twice = declared.validate_json(_text(written), **reading)
    return not list(_changes(again, twice, ""))


def _culprit(value: Any) -> tuple[str, Any]:
    """Return the place of what cannot be written, as deep as it can be told."""
    place, found = "", value
    for _ in range(_LEVELS):
        inner = next(((name, each) for name, each in _inside(found) if _refused(each)), None)
        if inner is None:
            break
        place, found = f"{place}.{inner[0]}", inner[1]
    return place, found


def _inside(value: Any) -> Iterator[tuple[Any, Any]]:
    if _is_record(value):
        yield from _members(value)
    elif isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def _refused(value: Any) -> bool:
    try:
        _ANYTHING.dump_json(value)
    except Exception:  # noqa: BLE001 - serializers are the author's code
        return True
    return False


def _said(error: ValidationError) -> str:
    """Name the first faults of what did not read again, by place, without their values."""
    faults = [
        f"{_at('.' + '.'.join(map(str, each['loc'])) if each['loc'] else '')}{each['msg']}"
        for each in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    more = len(faults) - _FAULTS_SAID
    return "; ".join(faults[:_FAULTS_SAID]) + (f"; and {more} more" if more > 0 else "")


def _first(changes: list[_Change]) -> str:
    change = next((change for change in changes if change.lost), changes[0])
    return f"{_at(change.place)}{change.why}"


def _at(place: str) -> str:
    return f"{plain(place)[1:]}: " if place else ""


def _showable(value: Any, levels: int) -> Json:
    """Return JSON in whose place a person can read what JSON does not carry."""
    if isinstance(value, dict) and levels:
        return {plain(key): _showable(each, levels - 1) for key, each in value.items()}
    if isinstance(value, list) and levels:
        return [_showable(each, levels - 1) for each in value]
    if isinstance(value, str):
        return plain(value)
    if value is None or (isinstance(value, bool | int | float) and _no_scalar(value) is None):
        return value
    return plain(value) if isinstance(value, float) else "…"
