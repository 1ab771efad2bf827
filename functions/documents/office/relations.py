"""What the parts of an Office package say about each other (ECMA-376-2, section 9)."""

from __future__ import annotations

from typing import NamedTuple

from documents.office.markup import tags
from documents.office.opening import Package, resolved


class Relation(NamedTuple):
    """A part that another one refers to: `kind` is the last word of the relationship's type."""

    kind: str
    part: str


def relations(package: Package, part: str) -> dict[str, Relation]:
    """The relationships of a part, or of the package for "", by their ids."""
    folder, _, name = part.rpartition("/")
    listed = f"{folder}/_rels/{name}.rels"
    if listed not in package:
        return {}
    with package.open(listed) as source:
        return {
            tag.attributes.get("Id", ""): Relation(
                tag.attributes.get("Type", "").rpartition("/")[2],
                resolved(part, tag.attributes.get("Target", "")),
            )
            for tag in tags(source, "Relationships", ["Relationship"])
            if tag.attributes.get("TargetMode") != "External"
        }


def main_part(package: Package, usual: str) -> str | None:
    """The part that the package names as its document; its name is only by custom the usual one."""
    for relation in relations(package, "").values():
        if relation.kind == "officeDocument" and relation.part in package:
            return relation.part
    return usual if usual in package else None
