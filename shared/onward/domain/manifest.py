"""The manifest of a fan-out: where the outputs of its children are, in one document.

    {"children": [{"value": {"n": 1}}, {"ref": "pay_…", "size": 5012}, null]}

In the order of the items; a small output is in it, a large one is named with its bytes, and a
skipped child's is null. The same outputs make the same text, so that writing it again, after a
crash or in two lanes at once, changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onward.domain.model import Payload

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Gathering:
    """A fan-out that a commit ends, of which the manifest is to be written before.

    `ended` holds, by index, what children returned that end in the same commit: their rows tell
    that only afterwards.
    """

    step_id: str
    children: int
    ended: tuple[tuple[int, Payload | None], ...]


def encoded(outputs: Sequence[Payload | None]) -> str:
    """Return the text of a manifest; texts of outputs are JSON already, and are not read."""
    return f'{{"children":[{",".join(map(_entry, outputs))}]}}'


def _entry(output: Payload | None) -> str:
    if output is None:
        return "null"
    if output.ref is None:
        return f'{{"value":{output.text or "null"}}}'
    size = "" if output.size is None else f',"size":{output.size}'
    return f'{{"ref":{json.dumps(output.ref)}{size}}}'


def decoded(text: str | bytes) -> list[Payload | None]:
    """Return the outputs that a manifest names."""
    return [_payload(entry) for entry in json.loads(text)["children"]]


def _payload(entry: dict[str, object] | None) -> Payload | None:
    if entry is None:
        return None
    if "ref" not in entry:
        return Payload(_text(entry["value"]))
    ref, size = entry["ref"], entry.get("size")
    return Payload(ref=str(ref), size=size if isinstance(size, int) else None)


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
