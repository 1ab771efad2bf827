"""Requests against their documents: every fault at once, each with its JSON Pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from onward.domain.errors import Fault, InvalidRequest
from onward.domain.pointer import pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import GetCoreSchemaHandler, ValidatorFunctionWrapHandler

    from onward.domain.model import Json

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

_SAID: Final = "said"
_TOLD: Final = 3
"""Faults that the problem's `detail` tells; its `errors` have all of them."""


class Body(BaseModel):
    """An object without unknown members. It is compiled when one is first checked."""

    model_config = ConfigDict(extra="forbid", defer_build=True)


class Query(Body):
    """A query string without unknown parameters."""


class Says:
    """One sentence for whatever is wrong with a value, and perhaps another for its kind.

    Without one, the sentence is made of the member's schema.
    """

    def __init__(self, message: str, kind: str | None = None) -> None:
        self.message, self.kind = message, kind or message

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the type's own schema, with its errors told in our words."""
        return core_schema.no_info_wrap_validator_function(self._told, handler(source))

    def _told(self, value: Any, inner: ValidatorFunctionWrapHandler) -> Any:
        try:
            return inner(value)
        except ValidationError as error:
            own = [each["type"] for each in error.errors() if not each["loc"]]
            if not own:
                raise
            text = self.kind if own[0].endswith("_type") else self.message
            raise PydanticCustomError(_SAID, text) from error


def checked(model: type[M], value: Json) -> M:
    """Return a request's document; raises InvalidRequest naming every fault."""
    return checked_with(model, value, lambda _: None)[0]


def checked_with(model: type[M], value: Json, also: Callable[[dict[str, Json]], T]) -> tuple[M, T]:
    """Return a document, and what `also` makes of the same object.

    What `also` refuses by raising InvalidRequest is named together with the document's faults,
    under the code of its error.
    """
    if not isinstance(value, dict):
        raise InvalidRequest("the body is a JSON object", (Fault("", "not an object"),))
    made, faults = _tried(model, value)
    wrong: type[InvalidRequest] = InvalidRequest
    rest: list[T] = []
    try:
        rest.append(also(value))
    except InvalidRequest as error:
        wrong = type(error)
        faults += error.faults
    if faults or made is None:
        raise wrong(_detail(faults), tuple(faults))
    return made, rest[0]


def checked_query(model: type[M], query: Mapping[str, str]) -> M:
    """Return a query string's parameters; raises InvalidRequest naming every fault."""
    made, faults = _tried(model, dict(query))
    if made is None:
        raise InvalidRequest("; ".join(fault.message for fault in faults), tuple(faults))
    return made


def _tried(model: type[M], value: Mapping[str, Any]) -> tuple[M | None, list[Fault]]:
    try:
        return model.model_validate(value), []
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    return None, [_fault(model, each["type"], each["loc"], each["msg"]) for each in found]


def _fault(model: type[BaseModel], kind: str, loc: tuple[str | int, ...], message: str) -> Fault:
    parts = [str(part) for part in loc]
    if len(parts) > 2 and parts[-1] == "[key]":  # noqa: PLR2004 - member, name and the mark
        parts.pop()  # Pydantic's mark of a name that is wrong
    where = pointer(*parts)
    if kind == _SAID:
        return Fault(where, message)
    if kind == "extra_forbidden":
        what = "parameter" if issubclass(model, Query) else "key"
        return Fault(where, f"unknown {what} {parts[-1]!r}")
    field = model.model_fields.get(parts[0])
    own = next((each for each in field.metadata if isinstance(each, Says)), None) if field else None
    return Fault(where, own.message if own else _sentence(model, parts) or message)


def _sentence(model: type[BaseModel], parts: list[str]) -> str:
    """Say what a member is, by its schema; nothing where that takes more than a sentence."""
    whole = model.model_json_schema()
    schema = whole
    for part in parts:
        schema = _resolved(whole, schema.get("properties", {}).get(part, {}))
    name, least, most = parts[-1], schema.get("minimum"), schema.get("maximum")
    match schema:
        case {"enum": list(words)}:
            return f"{name} is one of {', '.join(words)}"
        case {"type": "integer"}:
            return f"{name} is a whole number from {least} to {most}"
        case {"type": "number"}:
            return f"{name} is a number from {least:g} to {most:g}"
        case {"type": "boolean"}:
            return f"{name} is true or false"
        case {"type": "string", "maxLength": longest}:
            return f"{name} is text of at most {longest} characters"
    return ""


def _resolved(whole: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for each in schema.get("anyOf", ()):
        if each != {"type": "null"}:
            return _resolved(whole, each)
    if "$ref" in schema:
        found: dict[str, Any] = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        return found
    return schema


def _detail(faults: list[Fault]) -> str:
    told = "; ".join(f"{fault.pointer or 'body'}: {fault.message}" for fault in faults[:_TOLD])
    return told + (f"; and {len(faults) - _TOLD} more" if len(faults) > _TOLD else "")
