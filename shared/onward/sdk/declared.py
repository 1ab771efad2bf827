"""What a tool declares to return, looked through for what JSON cannot carry.

Checkpoints are JSON: a type that cannot come back from it as it went in is refused where it is
declared, by the name of its field. What depends on the value (NaN, whatever stands under Any) is
refused when it is returned (`onward.sdk.kept`).
"""

from __future__ import annotations

from collections import abc
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import (
    BaseModel,
    GetPydanticSchema,
    PlainSerializer,
    PlainValidator,
    RootModel,
    Secret,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    WrapSerializer,
)
from pydantic.errors import PydanticSchemaGenerationError

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRETS: Final = (Secret, SecretBytes, SecretStr)
"""What Pydantic writes as asterisks."""

_OWN_WORDS: Final = (GetPydanticSchema, PlainSerializer, PlainValidator, WrapSerializer)
"""The author says how it is written or read. Whether the two agree, the value will show."""

_UNWRITABLE: Final = (
    abc.Callable,
    abc.Awaitable,
    abc.AsyncIterable,
)
_MANY_PARTS: Final = (tuple, frozenset, BaseModel)


def unwritable(declared: Any, name: str) -> Iterator[str]:
    """Yield what JSON cannot carry of a declared type: the field's place and why."""
    yield from _walk(declared, name, set())


def _walk(declared: Any, place: str, seen: set[type]) -> Iterator[str]:
    declared = getattr(declared, "__value__", declared)  # `type X = …`
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        if not any(isinstance(each, _OWN_WORDS) for each in arguments[1:]):
            yield from _walk(arguments[0], place, seen)
        return
    kind = origin if isinstance(origin, type) else declared
    if isinstance(kind, type) and kind is not UnionType:
        yield from _class(kind, arguments, place, seen)
    for argument in arguments:
        if not isinstance(argument, type) or argument not in seen:
            yield from _walk(argument, place, seen)


def _class(kind: type, arguments: tuple[Any, ...], place: str, seen: set[type]) -> Iterator[str]:
    if issubclass(kind, SECRETS):
        yield (
            f"{place} is a secret, which JSON would carry as asterisks: leave it out, or return "
            "it as text if later steps and readers of the run may see it"
        )
    elif issubclass(kind, BaseModel) or is_dataclass(kind) or _has_names(kind):
        if kind not in seen:
            seen.add(kind)
            yield from _members(kind, place, seen)
    elif kind in _UNWRITABLE or issubclass(kind, abc.Coroutine | abc.AsyncGenerator):
        yield f"{place} is of type {kind.__name__}, which no JSON can carry"
    elif issubclass(kind, abc.Mapping) and arguments:
        yield from _keys(arguments[0], place)
    elif kind.__module__ not in {"builtins", "typing"} and not _known(kind):
        yield f"{place} is of type {kind.__name__}, which Pydantic can neither write nor read"


def _members(kind: type, place: str, seen: set[type]) -> Iterator[str]:
    if not issubclass(kind, BaseModel):
        for name, declared in _hints(kind).items():
            yield from _walk(declared, f"{place}.{name}", seen)
        return
    said = kind.__pydantic_decorators__
    if said.model_serializers:
        return
    own = {name for each in said.field_serializers.values() for name in each.info.fields}
    for name, field in kind.model_fields.items():
        below = place if issubclass(kind, RootModel) else f"{place}.{name}"
        if field.exclude and field.is_required():
            yield f"{below} is left out of JSON and has no default, so it could not be read again"
        if field.exclude or own & {name, "*"}:
            continue
        if not any(isinstance(each, _OWN_WORDS) for each in field.metadata):
            yield from _walk(field.annotation, below, seen)


def _has_names(kind: type) -> bool:
    return is_typeddict(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _hints(kind: type) -> dict[str, Any]:
    """Return the members of a dataclass, TypedDict or named tuple; none where names are missing."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError:
        return {}
    names = {field.name for field in fields(kind)} if is_dataclass(kind) else hints.keys()
    return {name: hint for name, hint in hints.items() if name in names}


def _keys(declared: Any, place: str) -> Iterator[str]:
    for each in (declared, *get_args(declared)):
        kind = get_origin(each) or each
        if isinstance(kind, type) and (issubclass(kind, _MANY_PARTS) or is_dataclass(kind)):
            yield f"{place} has keys of type {kind.__name__}; the keys of JSON are text"
            return


def _known(kind: type) -> bool:
    """Whether Pydantic has a form for a class of somebody else's."""
    try:
        return bool(TypeAdapter(kind).core_schema["type"] != "is-instance")
    except PydanticSchemaGenerationError:
        return False
