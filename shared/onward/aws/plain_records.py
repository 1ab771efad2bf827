"""Records whose fields are attributes as they are, as DynamoDB items."""

from __future__ import annotations

import json
from dataclasses import fields
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from onward.aws.codec import item, plain

if TYPE_CHECKING:
    from onward.aws.codec import Item

T = TypeVar("T")


def dataclass_item(record: Any) -> Item:
    """Encode a record whose fields are attributes: scalars, enums, tuples of texts, JSON."""
    return item({field.name: getattr(record, field.name) for field in fields(record)})


def read_dataclass(model: type[T], encoded: Item) -> T:
    """Decode a record by the types of its fields: enums by value, tuples from JSON."""
    row = plain(encoded)
    hints = get_type_hints(model)
    return model(
        **{
            field.name: _typed(hints[field.name], row[field.name])
            for field in fields(model)  # type: ignore[arg-type]
            if field.name in row
        }
    )


def _typed(hint: Any, value: Any) -> Any:
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if get_origin(hint) is tuple:
        return tuple(json.loads(value))
    if float in get_args(hint) or hint is float:
        return float(value)
    return value
