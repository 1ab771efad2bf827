"""Asking a language model: what it answers, what it costs, and what each failure means."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from onward.app.driving.classify import classify
from onward.aws.models import BedrockModel, runtime
from onward.sdk import (
    Fatal,
    InvalidInput,
    PermissionDenied,
    RateLimited,
    StepContext,
    StepError,
    Transient,
    converse,
)
from onward.sdk.conversation import inlined
from onward.sdk.testing import context
from onward.settings import FUNCTION_FIELDS, OPTIONAL, SettingMissing, read, variable
from pydantic import BaseModel, Field

from tests.unit.bedrock import HANGS, Answer, Bedrock, refuses, says, stops

NAME = "some.model-v1:0"
GOOD = {"title": "Oranges", "stars": [{"colour": "red", "size": 3}]}
BAD = {"title": 7, "stars": [{"colour": "blue", "size": 0}]}


class Star(BaseModel):
    colour: Literal["red", "white"]
    size: int = Field(ge=1)


class Sky(BaseModel):
    """An answer with a nested list."""

    title: str
    stars: list[Star]


def asking() -> StepContext:
    return context(models=[BedrockModel(NAME)])


def ask(ctx: StepContext, **options: Any) -> Sky:
    return converse(ctx, "You look up.", "What do you see?", Sky, **options)


def test_a_valid_answer_is_returned_as_its_model(bedrock: Bedrock) -> None:
    """One call, forced to answer by the tool with the schema; its tokens are recorded."""
    bedrock.script = [says(GOOD)]
    ctx = asking()

    sky = ask(ctx)

    assert Sky(title="Oranges", stars=[Star(colour="red", size=3)]) == sky
    ((name, body),) = bedrock.asked
    tool = body["toolConfig"]["tools"][0]["toolSpec"]
    assert NAME == name
    assert {"tool": {"name": tool["name"]}} == body["toolConfig"]["toolChoice"]
    assert {"type", "properties", "required"} == tool["inputSchema"]["json"].keys()
    assert "$ref" not in str(tool["inputSchema"])
    assert [{"text": "You look up."}] == body["system"]
    assert (100, 20) == (ctx.spent.input_tokens, ctx.spent.output_tokens)


def test_a_faulty_answer_is_repaired_once(bedrock: Bedrock) -> None:
    """The model is shown its answer and every fault of it; both calls are paid for."""
    bedrock.script = [says(BAD), says(GOOD, tokens=(150, 30))]
    ctx = asking()

    assert "Oranges" == ask(ctx).title
    assert bedrock.prompt(1).startswith("What do you see?")
    assert '"colour": "blue"' in bedrock.prompt(1)
    for fault in ("title: Input should be a valid string", "stars.0.colour:", "stars.0.size:"):
        assert fault in bedrock.prompt(1)
    assert (250, 50) == (ctx.spent.input_tokens, ctx.spent.output_tokens)


def test_an_answer_that_stays_faulty_fails_naming_the_faults(bedrock: Bedrock) -> None:
    """There is no third call, and trying the step again would not help."""
    bedrock.script = [says(BAD), says(BAD)]
    ctx = asking()

    with pytest.raises(Fatal, match=r"title: Input .*; stars\.0\.colour: .*; stars\.0\.size: "):
        ask(ctx)

    assert 2 == len(bedrock.asked)
    assert 40 == ctx.spent.output_tokens


def test_faults_that_no_schema_can_name_count_too(bedrock: Bedrock) -> None:
    """The caller's check is repaired in the same way."""
    bedrock.script = [says(GOOD), says(GOOD | {"title": "Apples"})]

    sky = ask(asking(), check=lambda s: ["no oranges, please"] if s.title == "Oranges" else [])

    assert "Apples" == sky.title
    assert "no oranges, please" in bedrock.prompt(1)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (stops("end_turn", [{"text": "I see stars."}]), "the tool 'answer' was not called"),
        (stops("max_tokens", []), "cut off after 4096 tokens"),
    ],
)
def test_an_answer_in_another_form_is_repaired_too(
    bedrock: Bedrock, first: Answer, said: str
) -> None:
    """Prose, or an answer that was cut off."""
    bedrock.script = [first, says(GOOD)]

    assert "Oranges" == ask(asking()).title
    assert said in bedrock.prompt(1)


@pytest.mark.parametrize(
    ("answer", "expected", "said"),
    [
        (refuses(429, "ThrottlingException"), RateLimited, "ThrottlingException it is"),
        (refuses(400, "ServiceQuotaExceededException"), RateLimited, "it is"),
        (refuses(429, "ModelNotReadyException"), Transient, "it is"),
        (refuses(408, "ModelTimeoutException"), Transient, "it is"),
        (refuses(424, "ModelErrorException"), Transient, "it is"),
        (refuses(500, "InternalServerException"), Transient, "it is"),
        (refuses(503, "ServiceUnavailableException"), Transient, "it is"),
        (refuses(403, "AccessDeniedException"), PermissionDenied, "it is"),
        (refuses(403, "ExpiredTokenException"), PermissionDenied, "it is"),
        (refuses(400, "ValidationException"), InvalidInput, "it is"),
        (refuses(404, "ResourceNotFoundException"), InvalidInput, "it is"),
        (stops("guardrail_intervened", []), Fatal, "did not answer: guardrail_intervened"),
    ],
)
def test_a_refusal_means_one_thing_for_the_step(
    bedrock: Bedrock, answer: Answer, expected: type[StepError], said: str
) -> None:
    """It names the model and is never repeated within the attempt: calls cost money."""
    bedrock.script = [answer, says(GOOD)]

    with pytest.raises(StepError, match=f"{NAME}.* {said}") as refused:
        ask(asking())

    assert expected is type(refused.value)
    assert 1 == len(bedrock.asked)


def test_throttling_says_when_to_come_back(bedrock: Bedrock) -> None:
    """The step backs off at least as long as the service wants."""
    bedrock.script = [refuses(429, "ThrottlingException", retry_after="17")]

    with pytest.raises(RateLimited) as refused:
        ask(asking())

    assert 17.0 == classify(refused.value, writes=False, now=0.0).retry_after


def test_a_model_that_does_not_answer_in_time_is_transient(bedrock: Bedrock) -> None:
    """The wait ends before the attempt's deadline does, so that the failure is committed."""
    bedrock.script = [HANGS]
    waits: list[float] = []

    def impatient(seconds: float) -> Any:
        waits.append(seconds)
        return runtime(0.2)

    ctx = context(models=[BedrockModel(NAME, impatient)])
    with pytest.raises(Transient, match="Read timeout"):
        ask(ctx)

    assert 1 == len(bedrock.asked)
    assert 50 < waits[0] <= 55 < ctx.remaining()


def test_nobody_is_asked_when_too_little_time_is_left(bedrock: Bedrock) -> None:
    """An answer that cannot be waited for is not paid for."""
    ctx = asking()
    ctx.deadline = ctx.clock() + 5.5

    with pytest.raises(Transient, match="too little time"):
        ask(ctx)

    assert [] == bedrock.asked


def test_a_service_that_cannot_be_reached_is_transient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made-up")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")

    with pytest.raises(Transient, match="Could not connect"):
        ask(asking())


def test_without_a_model_the_context_says_so() -> None:
    """Whoever asks all the same is told."""
    assert context().model is None
    with pytest.raises(Fatal, match="no language model is set"):
        ask(context())


def test_a_schema_is_unfolded() -> None:
    """Definitions stand where they are used, and only plain keywords at the top."""
    schema = inlined(Sky.model_json_schema())

    assert ["red", "white"] == schema["properties"]["stars"]["items"]["properties"]["colour"][
        "enum"
    ]
    assert "$defs" not in schema


GIVEN = {variable(field): "x" for field in FUNCTION_FIELDS["execute_step"] - OPTIONAL}


@pytest.mark.parametrize(
    ("given", "expected"),
    [({}, ()), ({"ONWARD_MODEL_ID": ""}, ()), ({"ONWARD_MODEL_ID": "a.b, c.d,"}, ("a.b", "c.d"))],
)
def test_models_are_optional_and_may_be_several(
    given: dict[str, str], expected: tuple[str, ...]
) -> None:
    """No model is a setting too; anything else that is missing is told."""
    assert expected == read("execute_step", GIVEN | given).model_names
    with pytest.raises(SettingMissing, match=r"needs ONWARD_DRILLS$"):
        read("execute_step", {k: v for k, v in GIVEN.items() if k != "ONWARD_DRILLS"} | given)
