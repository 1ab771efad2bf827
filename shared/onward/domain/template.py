"""Input templates: JSON in which `{"$ref": "steps.a.field"}` stands for a value of the run.

`{"$literal": value}` stands for the value as it is, whatever `$ref` or `$literal` it holds.
A reference names `input`, `steps.<id>` or `item` and then keys or list indexes, by dots.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from onward.domain.model import Json

REF: Final = "$ref"
LITERAL: Final = "$literal"
_MAX_DIGITS: Final = 9
_REFERENCE: Final = re.compile(r"(?:input|item|steps\.[a-z0-9_-]{1,64})(?:\.[^.\s]+)*")


class Unresolved(LookupError):
    """A reference names something that the run does not hold."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed reference: `root` is `input`, `item` or `steps`; `step` is set for the last."""

    text: str
    root: str
    step: str | None
    path: tuple[str, ...]


def parse(text: object) -> Reference | None:
    """Parse a reference's text; None when it is not one."""
    if not isinstance(text, str) or not _REFERENCE.fullmatch(text):
        return None
    root, *rest = text.split(".")
    if root == "steps":
        return Reference(text, root, rest[0], tuple(rest[1:]))
    return Reference(text, root, None, tuple(rest))


def is_reference(template: Json) -> bool:
    """Whether a template node stands for a value."""
    return isinstance(template, dict) and REF in template


def is_literal(template: Json) -> bool:
    """Whether a template node is a value that is not looked into."""
    return isinstance(template, dict) and template.keys() == {LITERAL}


def escaped(key: str) -> str:
    """Return a key as a token of a JSON Pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def deeper_than(value: Json, levels: int) -> bool:
    """Whether JSON nests deeper than so many levels; looks no deeper itself."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(deeper_than(item, levels - 1) for item in inner)


def walk(template: Json, pointer: str = "") -> Iterator[tuple[str, Json]]:
    """Yield every reference node with its JSON Pointer below `pointer`.

    What has `$literal` beside other members is yielded too: it is neither.
    """
    if is_literal(template):
        return
    if isinstance(template, dict):
        if is_reference(template) or LITERAL in template:
            yield pointer, template
            return
        for key, value in template.items():
            yield from walk(value, f"{pointer}/{escaped(key)}")
    elif isinstance(template, list):
        for index, value in enumerate(template):
            yield from walk(value, f"{pointer}/{index}")


def references(template: Json) -> list[Reference]:
    """Return the references of a template that was validated."""
    found = (parse(node.get(REF)) for _, node in walk(template) if isinstance(node, dict))
    return [reference for reference in found if reference is not None]


def resolve(template: Json, scope: Mapping[str, Json]) -> Json:
    """Fill every reference in; `scope` holds `input`, `steps` (by id) and perhaps `item`.

    What a skipped step would have said is null, and so is everything below it. Raises
    Unresolved naming the reference otherwise.
    """
    if isinstance(template, dict):
        if is_literal(template):
            return template[LITERAL]
        if is_reference(template):
            reference = parse(template[REF])
            if reference is None:
                raise Unresolved(f"{template[REF]!r} is not a reference")
            return _look_up(reference, scope)
        return {key: resolve(value, scope) for key, value in template.items()}
    if isinstance(template, list):
        return [resolve(value, scope) for value in template]
    return template


def _look_up(reference: Reference, scope: Mapping[str, Json]) -> Json:
    path = list(reference.path)
    if reference.root not in scope:
        raise Unresolved(f"{reference.text}: there is no {reference.root} here")
    value = scope[reference.root]
    if reference.step is not None:
        steps = value if isinstance(value, dict) else {}
        if reference.step not in steps:
            raise Unresolved(f"{reference.text}: step {reference.step} has no output")
        value = steps[reference.step]
        if value is None:
            return None
    for segment in path:
        value = _descend(value, segment, reference)
    return value


def _descend(value: Json, segment: str, reference: Reference) -> Json:
    if isinstance(value, dict) and segment in value:
        return value[segment]
    if isinstance(value, list) and segment.isdecimal() and len(segment) <= _MAX_DIGITS:
        index = int(segment)
        if index < len(value):
            return value[index]
    raise Unresolved(f"{reference.text}: there is no {segment!r}")
