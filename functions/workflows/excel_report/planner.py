"""The planner that follows rules: no model is asked, and the report says so."""

from __future__ import annotations

import inspect
import re
from typing import Final

from documents.workbook import ruled_code
from documents.workbook.models import NUMERIC, ChartPlan, ColumnFacts, Inspection, Job
from documents.workbook.sample import MOST_COLUMNS

from workflows.excel_report.extension import MOST_SINGLE, RULES, Code, Draft

MOST_NUMBERS: Final = 6

# Numbers that name or place something; a chart of them says nothing.
_NAMING: Final = re.compile(
    r"^(?:id|nr|no|number|code|key|index|rank|row|zip|zip ?code|post ?code|phone|"
    r"year|month|day|week|quarter|lat|latitude|lon|long|lng|longitude|x|y)\.?$"
    r"|[ _-](?:id|code|nr|no)\.?$",
    re.IGNORECASE,
)
_ORDER: Final = re.compile(r"^(?:year|fiscal year|jahr|année|año)$", re.IGNORECASE)
# Amounts can be added up; anything else (an age, a rate, a weight) is averaged.
_AMOUNT: Final = re.compile(
    r"revenue|sales|amount|total|cost|price paid|profit|income|expens|budget|units|quantity|qty|"
    r"count|votes|orders|hours|population|deaths|cases|volume|spend|turnover|umsatz|menge|betrag|anzahl",
    re.IGNORECASE,
)
_MONEY: Final = re.compile(r"revenue|sales|amount|turnover|profit|umsatz|betrag", re.IGNORECASE)
_RATE: Final = re.compile(r"%|percent|rate|ratio|share|average|mean|turnout|per ", re.IGNORECASE)


def plan_by_rules(inspection: Inspection) -> Draft:
    """One job a table, in workbook order, with the chart and the code that its columns suggest."""
    jobs = [
        Job(table=table, chart=choose_chart(table.columns))
        for sheet in inspection.sheets
        for table in sheet.tables
    ]
    return Draft(
        planner=RULES,
        jobs=jobs,
        codes=codes_by_rules(jobs),
        notes=["The analyses were planned by fixed rules; no language model was used."],
    )


def codes_by_rules(jobs: list[Job]) -> list[Code]:
    """The code for each table that has a step of its own and enough numbers to look at."""
    codes = []
    for at, job in enumerate(jobs[:MOST_SINGLE]):
        numbers = telling_numbers(job.table.columns[:MOST_COLUMNS])[:MOST_NUMBERS]
        if numbers and job.table.rows >= ruled_code.FEW:
            source = f"{inspect.getsource(ruled_code)}\n\nNUMBERS = {numbers}\n"
            codes.append(Code(f"code-{at + 1}", at, RULES, source))
    return codes


def telling_numbers(columns: list[ColumnFacts]) -> list[int]:
    """The columns of numbers that measure something, sums of money first."""
    numeric = [at for at, column in enumerate(columns) if column.type in NUMERIC]
    telling = [at for at in numeric if not _NAMING.search(columns[at].name)]
    return sorted(telling, key=lambda at: not _MONEY.search(columns[at].name))


def choose_chart(columns: list[ColumnFacts]) -> ChartPlan | None:
    """A line along a leading date or year, else bars by the first text, else a histogram.

    None if no column holds numbers.
    """
    numeric = [at for at, column in enumerate(columns) if column.type in NUMERIC]
    if not numeric:
        return None
    value = (telling_numbers(columns) or numeric)[0]
    combine = "sum" if _adds_up(columns[value].name) else "mean"
    first = columns[0]
    if value != 0 and (first.type == "date" or _ORDER.match(first.name)):
        return ChartPlan(kind="line", value=value, label=0, combine=combine)
    label = next((at for at, column in enumerate(columns) if column.type == "text"), None)
    if label is None:
        return ChartPlan(kind="histogram", value=value)
    return ChartPlan(kind="bars", value=value, label=label, combine=combine)


def _adds_up(name: str) -> bool:
    return bool(_AMOUNT.search(name)) and not _RATE.search(name)
