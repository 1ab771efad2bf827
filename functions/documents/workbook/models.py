"""What travels between the steps: small, typed checkpoints; bytes travel as artifacts."""

from __future__ import annotations

from typing import Any, Literal

from onward.sdk import Artifact
from pydantic import BaseModel, Field

from documents.workbook.insights import Insight

ColumnType = Literal["integer", "number", "date", "time", "boolean", "text", "mixed", "empty"]
NUMERIC: frozenset[str] = frozenset({"integer", "number"})


class ReportRequest(BaseModel):
    """The input of a run: a workbook and, if wanted, what to call the report."""

    file: Artifact
    title: str | None = Field(default=None, max_length=200)


class ColumnFacts(BaseModel):
    """A column as inspection sees it."""

    name: str
    type: ColumnType


class TableFacts(BaseModel):
    """Where a table lies and what it holds, without its values.

    `top` is the first row of data and `bottom` the last, both 1-based and inclusive. `headers`
    lists the rows that name the columns, `skip` the rows in between that are no data.
    """

    sheet: str
    range: str
    headers: list[int]
    top: int
    bottom: int
    left: int
    right: int
    rows: int
    skip: list[int] = []
    columns: list[ColumnFacts]
    notes: list[str] = []


class SheetFacts(BaseModel):
    """One sheet in workbook order; a sheet without tables says in its notes what it holds."""

    name: str
    tables: list[TableFacts] = []
    notes: list[str] = []


class InspectRequest(BaseModel):
    """The workbook to look into."""

    file: Artifact


class Inspection(BaseModel):
    """Everything the planner may know."""

    sheets: list[SheetFacts]
    notes: list[str] = []


class ChartPlan(BaseModel):
    """A chart of one column: `label` names the bars or orders the line.

    `bars` adds `value` up (or averages it) for each label; `line` follows it along a date or a
    number; `histogram` counts how often values fall into equal intervals. Columns are offsets
    from the table's first column.
    """

    kind: Literal["bars", "line", "histogram"]
    value: int
    label: int | None = None
    combine: Literal["sum", "mean"] = "sum"


class Job(BaseModel):
    """One table's analysis, as the planner ordered it; `remarks` are for the reader.

    `sample` asks for the values that code is to be run on.
    """

    table: TableFacts
    chart: ChartPlan | None = None
    preview_rows: int = 8
    remarks: list[str] = []
    sample: bool = False


class PlanRequest(BaseModel):
    """The workbook, and what inspection found in it."""

    file: Artifact
    inspection: Inspection


class CodePlan(BaseModel):
    """Code to be run on the sample of a job's table: which step does, and who wrote it."""

    step: str
    job: int
    author: str


class PlanStep(BaseModel):
    """A step that the planner adds to its run, as `POST /runs` would take it."""

    id: str
    tool: str
    input: dict[str, Any]
    for_each: dict[str, str] | None = None
    optional: bool = False


class AnalysisPlan(BaseModel):
    """One job a table; `planner` says who planned: "rules", or the name of a model.

    `steps` are added to the run: one for each of `jobs`, one for all of `rest` (a run has at most
    500 steps), and one for each of `codes`.
    """

    planner: str
    jobs: list[Job]
    rest: list[Job] = []
    codes: list[CodePlan] = []
    steps: list[PlanStep] = []
    notes: list[str] = []


class AnalyseRequest(BaseModel):
    """One job of the plan, on its workbook."""

    file: Artifact
    job: Job


class Analysis(BaseModel):
    """One table, analysed; `body` holds a `TableReport` as JSON, `sample` what code may see."""

    sheet: str
    range: str
    rows: int
    body: Artifact
    sample: Artifact | None = None


class CodeRequest(BaseModel):
    """Python source that defines `run(data)`, the sample it is run on, and earlier results."""

    sample: Artifact
    code: str
    earlier: dict[str, Any] = {}


class CodeReport(BaseModel):
    """What code returned, and how many of the table's rows and columns it was shown."""

    insights: list[Insight]
    rows: int
    of_rows: int
    hidden_columns: int = 0


class ColumnReport(BaseModel):
    """A column's figures; null where one does not apply.

    `missing` counts the data rows without a usable value. Dates are ISO 8601. `display` is the
    number format that the report prints with and is not part of the summary.
    """

    name: str
    type: ColumnType
    sum: int | float | None = None
    min: int | float | str | None = None
    max: int | float | str | None = None
    mean: int | float | None = None
    missing: int = 0
    display: Literal["plain", "percent"] = "plain"
    detail: str = ""


class ChartPoint(BaseModel):
    """A bar, or a point of a line."""

    label: str
    value: int | float


class ChartData(BaseModel):
    """What the drawing needs; `caption` says exactly what is shown and what is not."""

    kind: Literal["bars", "line", "histogram"]
    caption: str
    value_name: str
    label_name: str
    percent: bool = False
    points: list[ChartPoint]


class Finding(BaseModel):
    """What one piece of code found, who wrote it, and the code itself where a model did."""

    step: str
    author: str
    code: str = ""
    report: CodeReport


class TableReport(BaseModel):
    """All that the report says about one table; only `findings` come from code of a plan."""

    range: str
    rows: int
    columns: list[ColumnReport]
    preview: list[list[str]]
    chart: ChartData | None = None
    notes: list[str] = []
    findings: list[Finding] = []


class ComposeRequest(BaseModel):
    """Everything that was found; `added` holds what the planner's steps returned, by their ids."""

    file: Artifact
    title: str | None
    inspection: Inspection
    plan: AnalysisPlan
    added: dict[str, Any]


class Composed(BaseModel):
    """The finished documents, not yet published."""

    html: Artifact
    summary: Artifact
    tables: int
    rows: int


class PublishRequest(BaseModel):
    """The documents to publish."""

    composed: Composed


class Published(BaseModel):
    """The run's result: where the documents are and how much they cover."""

    report: Artifact
    summary: Artifact
    tables: int
    rows: int
