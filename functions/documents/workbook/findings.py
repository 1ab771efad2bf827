"""What code of the plan found, below a table's own figures and told apart from them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from workflows.excel_report.extension import RULES

from documents.page.figures import MEAN_DIGITS, figure
from documents.page.html import counted
from documents.workbook.insights import Cell, Insight
from documents.workbook.models import CodeReport, Finding

STYLE: Final = """
.found{margin:1.5rem 0 0;padding-left:1rem;border-left:3px solid var(--mark)}
.found table{width:auto;min-width:22rem}
.found .scroll+.scroll{margin-top:1rem}
.found p{margin:.25rem 0 .75rem}
.found .scroll+p{margin-top:1rem}
.found strong{font-size:.9rem}
.found .by{color:var(--soft);font-size:.85rem}
.found details{margin:0}
.found summary{font-weight:400;font-size:.85rem;color:var(--soft)}
.found pre{overflow-x:auto;background:var(--wash);padding:.75rem 1rem;font-size:.8rem;margin:0}
@media print{.found details{display:none}}
"""


def findings(found: Sequence[Finding]) -> str:
    """All of a table's findings; nothing for code that found nothing."""
    return "".join(_finding(finding) for finding in found if finding.report.insights)


def _finding(finding: Finding) -> str:
    insights = "".join(map(_insight, finding.report.insights))
    code = ""
    if finding.code:
        code = f"<details><summary>The code</summary><pre>{escape(finding.code)}</pre></details>"
    return f"<div class=found>{insights}<p class=by>{_origin(finding)}</p>{code}</div>"


def _origin(finding: Finding) -> str:
    """Who computed this, from what: a reader must not take it for the report's own figures."""
    if finding.author == RULES:
        who = "the rules ordered"
    else:
        who = f"the language model {escape(finding.author)} wrote; nobody has read it"
    return f"Computed in a sandbox by code that {who}. {_read(finding.report)}"


def _read(report: CodeReport) -> str:
    if report.rows < report.of_rows:
        rows = f"a sample of {report.rows:,} of {counted(report.of_rows, 'row')}, evenly spread"
    else:
        rows = f"all {counted(report.rows, 'row')}"
    hidden = report.hidden_columns
    more = f", without {counted(hidden, 'more column')}" if hidden else ""
    return f"It was given {rows}{more}."


def _insight(insight: Insight) -> str:
    title, text = escape(insight.title), escape(insight.text)
    if not insight.rows:
        return f"<p><strong>{title}</strong><br>{text}</p>"
    numeric = [
        all(_is_number(row[at]) or row[at] is None for row in insight.rows)
        for at in range(len(insight.columns))
    ]
    heads = "".join(
        f"<th scope=col{_side(right=right)}>{escape(name)}</th>"
        for name, right in zip(insight.columns, numeric, strict=True)
    )
    rows = "".join(f"<tr>{_cells(row, numeric)}</tr>" for row in insight.rows)
    said = f"<p>{text}</p>" if text else ""
    return (
        f"<div class=scroll><table><caption>{title}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>{said}"
    )


def _cells(row: Sequence[Cell], numeric: Sequence[bool]) -> str:
    return "".join(
        f"<td{_side(right=right)}>{escape(_text(cell))}</td>"
        for cell, right in zip(row, numeric, strict=True)
    )


def _side(*, right: bool) -> str:
    return " class=n" if right else ""


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _text(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return figure(cell, digits=MEAN_DIGITS)
