"""An update of one row as DynamoDB wants it said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.aws import codec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.aws.codec import Item


def change(
    values: Mapping[str, object],
    condition: str = "",
    seen: Item | None = None,
    names: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the parameters that set named values and remove those that are None or empty.

    `condition` may use placeholders of `seen` (values) and `names` (attributes).
    """
    encoded = codec.item(values)
    aliases = {name: f"#u{index}" for index, name in enumerate(values)}
    sets = [f"{aliases[name]} = :u{aliases[name][2:]}" for name in encoded]
    removes = [aliases[name] for name in values if name not in encoded]
    clauses = {"SET": sets, "REMOVE": removes}
    held = {f":u{aliases[name][2:]}": value for name, value in encoded.items()}
    made: dict[str, Any] = {
        "UpdateExpression": " ".join(
            f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts
        ),
        "ExpressionAttributeNames": {alias: name for name, alias in aliases.items()}
        | dict(names or {}),
    }
    if held or seen:
        made["ExpressionAttributeValues"] = held | (seen or {})
    if condition:
        made["ConditionExpression"] = condition
    return made
