"""The workflow `hello`: the smallest one that hands a result from step to step."""

from __future__ import annotations

from onward.sdk import Step, Workflow, ref
from pydantic import BaseModel

from workflows.samples.tools import echo


class Greeting(BaseModel):
    """Whom to greet."""

    name: str = "world"


hello = Workflow(
    "hello",
    version=1,
    input=Greeting,
    steps=[
        Step("name", echo, {"value": ref("input.name")}),
        Step("greet", echo, {"value": {"hello": ref("steps.name.value")}}),
    ],
)
