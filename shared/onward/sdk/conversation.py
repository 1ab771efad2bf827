"""Ask a language model for an answer of a declared shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from onward.domain.errors import Fatal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onward.domain.answers import ModelAnswer
    from onward.domain.model import Json
    from onward.sdk.context import StepContext

RESERVE: Final = 5.0
"""Seconds of the attempt kept back for what follows the last answer."""

TRIES: Final = 2
FAULTS_SAID: Final = 8
FAULT_CHARACTERS: Final = 160

_REPAIR: Final = """

You answered this before, with faults:
<answer>{answer}</answer>
<faults>
{faults}
</faults>
Answer again, completely and without these faults."""

M = TypeVar("M", bound=BaseModel)


class Model(Protocol):
    """A language model that answers with JSON."""

    @property
    def name(self) -> str:
        """What the model is called where it is hosted."""
        ...

    def ask(self, system: str, prompt: str, schema: dict[str, Json], seconds: float) -> ModelAnswer:
        """Ask once and wait so many seconds at most.

        Raises:
            StepError: there was no answer; its class says whether to try again.
        """
        ...


def converse(
    ctx: StepContext,
    system: str,
    prompt: str,
    answer: type[M],
    *,
    model: Model | None = None,
    check: Callable[[M], Sequence[str]] = lambda _answer: (),
) -> M:
    """Return a model's answer, valid by its Pydantic model and by `check`, which names faults.

    A faulty answer is shown to the model once, with its faults, to be repaired. What every call
    cost is recorded with the attempt, also when it fails. `model` defaults to `ctx.model`.

    Raises:
        Fatal: the repaired answer is faulty too; the message names the faults. Or no model is set.
        StepError: a call failed; Transient and RateLimited are worth another attempt.
    """
    asked = model or ctx.model
    if asked is None:
        raise Fatal("no language model is set for this deployment")
    schema = inlined(answer.model_json_schema())
    question, faults = prompt, ["it was not asked"]
    for _ in range(TRIES):
        said = asked.ask(system, question, schema, ctx.remaining() - RESERVE)
        ctx.usage(said.usage.input_tokens, said.usage.output_tokens, asked.name)
        found, faults = _checked(said, answer, check)
        if found is not None:
            return found
        ctx.log.warning("the model's answer has faults", model=asked.name, faults=len(faults))
        question = prompt + _REPAIR.format(
            answer=json.dumps(said.value, ensure_ascii=False), faults="\n".join(faults)
        )
    more = f"; and {len(faults) - FAULTS_SAID} more" if len(faults) > FAULTS_SAID else ""
    raise Fatal(
        f"{asked.name} gave no valid answer, even after it was shown what was wrong: "
        f"{'; '.join(faults[:FAULTS_SAID])}{more}"
    )


def _checked(
    said: ModelAnswer, answer: type[M], check: Callable[[M], Sequence[str]]
) -> tuple[M | None, list[str]]:
    """Return the valid answer, or its faults."""
    if said.fault:
        return None, [said.fault]
    try:
        found = answer.model_validate(said.value)
    except ValidationError as error:
        return None, [_fault(item["loc"], item["msg"]) for item in error.errors(include_url=False)]
    faults = [_short(fault) for fault in check(found)]
    return (None, faults) if faults else (found, [])


def _fault(place: tuple[int | str, ...], message: str) -> str:
    return _short(f"{'.'.join(map(str, place)) or 'the answer'}: {message}")


def _short(text: str) -> str:
    return text if len(text) <= FAULT_CHARACTERS else f"{text[: FAULT_CHARACTERS - 1]}…"


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema with its definitions in place of the references to them.

    Some models (Amazon Nova) take no other keywords than type, properties and required at the
    top. A model that contains itself has no such form: it is no answer to ask for.
    """
    definitions: dict[str, Any] = schema.get("$defs", {})

    def unfolded(node: Any) -> Any:
        if isinstance(node, list):
            return [unfolded(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return unfolded(definitions[node["$ref"].rpartition("/")[2]])
        return {key: unfolded(value) for key, value in node.items() if key != "$defs"}

    whole: dict[str, Any] = unfolded(schema)
    return {key: whole[key] for key in ("type", "properties", "required") if key in whole}
