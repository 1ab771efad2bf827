"""What code of a plan may say about a table: small tables and sentences, bounded in every way."""

from __future__ import annotations

from typing import Annotated, Final, Self

from onward.sdk import InvalidInput
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

MOST_INSIGHTS: Final = 6
MOST_ROWS: Final = 12
MOST_COLUMNS: Final = 6
_FAULTS_SAID: Final = 5

Text = Annotated[str, StringConstraints(max_length=200)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Cell = Text | int | Number | bool | None


class Insight(BaseModel):
    """A table with a title, a sentence, or both."""

    model_config = ConfigDict(extra="forbid")

    title: str = Field(min_length=1, max_length=120)
    text: str = Field(default="", max_length=500)
    columns: list[Text] = Field(default=[], max_length=MOST_COLUMNS)
    rows: list[list[Cell]] = Field(default=[], max_length=MOST_ROWS)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.text or self.rows):
            raise ValueError("there is neither text nor rows")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(
                f"each row has as many cells as there are columns, {len(self.columns)}"
            )
        return self


class Insights(BaseModel):
    """What `run(data)` returns."""

    model_config = ConfigDict(extra="forbid")

    insights: list[Insight] = Field(max_length=MOST_INSIGHTS)


def insights_of(returned: object) -> list[Insight]:
    """Check what code returned; raises InvalidInput naming what is wrong with it."""
    try:
        return Insights.model_validate(returned).insights
    except ValidationError as error:
        found = error.errors(include_url=False)[:_FAULTS_SAID]
        faults = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in found)
        raise InvalidInput(f"the code returned no valid insights: {faults}") from error
