"""What JSON Schema says of a member that its Python type does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Described:
    """Adds keywords to a type's JSON Schema, where Pydantic makes one; checks nothing."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords

    def __get_pydantic_json_schema__(
        self, core: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the type's schema with the keywords (Pydantic's protocol)."""
        return handler(core) | self.keywords


Time = Annotated[str, Described(format="date-time")]
"""RFC 3339, UTC."""

JsonSchema = dict[str, Any]
