"""What the main part of a workbook lists: its sheets, and how its numbers are meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from onward.sdk import InvalidInput

from documents.office.markup import Tag, tags
from documents.office.opening import Package
from documents.office.relations import Relation, relations

MAX_SHEETS: Final = 5_000

_TRUE: Final = ("1", "true", "on")
# Sheets without cells of their own, by the kinds of their relationships.
_OTHERS: Final = {
    "chartsheet": "The chart sheet “{}” was left out: it has no cells of its own.",
    "dialogsheet": "The dialog sheet “{}” was left out: it has no cells.",
    "xlMacrosheet": "The macro sheet “{}” was left out: it holds commands, not data.",
    "xlIntlMacrosheet": "The macro sheet “{}” was left out: it holds commands, not data.",
}


@dataclass(frozen=True)
class ListedSheet:
    """A worksheet by its name; `part` is "" for a hidden one that the file does not hold."""

    name: str
    part: str
    hidden: bool


@dataclass
class Contents:
    """The sheets in their order, and the parts that all of them need."""

    strings: str
    styles: str
    sheets: list[ListedSheet] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    from_1904: bool = False
    recalculates: bool = False
    _parts: set[str] = field(default_factory=set)
    _names: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, package: Package, main: str, tick: Callable[[], None]) -> Contents:
        """Read the main part and what it refers to.

        Raises:
            InvalidInput: a sheet that is to be shown is not in the file, or stands for two.
            ValueError: the part is damaged.
        """
        related = relations(package, main)
        contents = cls(
            _part(related, "sharedStrings", "xl/sharedStrings.xml"),
            _part(related, "styles", "xl/styles.xml"),
        )
        with package.open(main) as source:
            for tag in tags(source, "workbook", ["workbookPr", "calcPr", "sheet"], tick):
                contents._take(tag, package, related)
        return contents

    def _take(self, tag: Tag, package: Package, related: dict[str, Relation]) -> None:
        match tag.path:
            case ("workbook", "workbookPr"):
                self.from_1904 = tag.attributes.get("date1904", "") in _TRUE
            case ("workbook", "calcPr"):
                self.recalculates = tag.attributes.get("fullCalcOnLoad", "") in _TRUE
            case ("workbook", "sheets", "sheet"):
                self._list(tag, package, related)
            case _:
                pass

    def _list(self, tag: Tag, package: Package, related: dict[str, Relation]) -> None:
        name = tag.attributes.get("name") or f"Sheet {len(self.sheets) + 1}"
        hidden = tag.attributes.get("state", "visible") != "visible"
        relation = related.get(tag.attributes.get("id", ""))
        if relation and relation.kind in _OTHERS:
            self.notes.append(_OTHERS[relation.kind].format(name))
            return
        part = relation.part if relation and relation.part in package else ""
        if not part and not hidden:
            raise InvalidInput(
                f"The sheet “{name}” is listed in the workbook but not in the file: the workbook "
                "is damaged. Open it in Excel, let it repair the file, and save it anew."
            )
        if part and part in self._parts:
            raise InvalidInput(
                f"The sheet “{name}” and another one are the same part of the file: the workbook "
                "is damaged. Open it in Excel, let it repair the file, and save it anew."
            )
        if len(self.sheets) >= MAX_SHEETS:
            raise InvalidInput(f"The workbook has more than {MAX_SHEETS:,} sheets. Split it.")
        self._parts.add(part)
        self.sheets.append(ListedSheet(self._named(name), part, hidden))

    def _named(self, name: str) -> str:
        """The name, numbered when another sheet has it."""
        own = name
        while own in self._names:
            self._names[name] += 1
            own = f"{name} ({self._names[name]})"
        self._names[own] = 1
        if own != name:
            self.notes.append(f"Two sheets are named “{name}”; the later one is called “{own}”.")
        return own


def _part(related: dict[str, Relation], kind: str, usual: str) -> str:
    return next((relation.part for relation in related.values() if relation.kind == kind), usual)
