"""Tools: typed functions with a recovery policy.

What a write tool raises decides whether it is sent again. Transient, RateLimited, InvalidInput,
PermissionDenied and Fatal say: *not applied*, the receiver refused it. OutcomeUnknown and any
other error say: nobody knows. `ctx` raises the former as well (an artifact that is missing, a
sandbox or a model that fails): call it before the send, or raise OutcomeUnknown from what it
raised after.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from inspect import get_annotations, signature
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, TypeAdapter

from onward.domain.errors import Fatal, OutcomeUnknown
from onward.domain.limits import MAX_STEP_TIMEOUT
from onward.domain.model import Policy
from onward.domain.plan import ToolSpec
from onward.sdk.declared import unwritable
from onward.sdk.kept import kept, readable
from onward.sdk.probe import Applied, NotApplied, Unsure

if TYPE_CHECKING:
    from onward.domain.model import Json
    from onward.sdk.context import StepContext

Probe = Callable[[Any, Any], Applied | NotApplied | Unsure]
Effect = Literal["read", "write"]
Idempotency = Literal["native", "probe", "fenced", "none"]

_PARAMETERS: Final = 2


class ToolRefused(TypeError):
    """A tool's declaration contradicts itself; said at import, before anything runs."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a step is tried in all, and how its back-off grows (seconds, full jitter)."""

    attempts: int = 4
    base: float = 1.0
    cap: float = 60.0


class Tool:
    """A registered function; call it with a context and an instance of its input model."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        policy: Policy,
        *,
        expands: bool,
        probe: Probe | None,
    ) -> None:
        """Check the signature `(ctx, request: Model) -> Model`; raises ToolRefused."""
        _refuse_function(name, function, probe)
        self.function = function
        self.probe = probe
        self.name = name
        self.policy = policy
        self.expands = expands
        self.entry = f"{function.__module__}:{function.__qualname__}"
        if len(signature(function).parameters) != _PARAMETERS:
            raise ToolRefused(f"tool {name}: takes (ctx, request), nothing else")
        with suppress(NameError):  # a type that its module defines further down: see `spec`
            self._check_types()

    def __call__(self, ctx: StepContext, request: BaseModel) -> Any:
        """Run the function; its output is whatever the function declares.

        Raises Fatal, or OutcomeUnknown for a write, when the function left its work to an event
        loop that nobody runs.
        """
        returned = self.function(ctx, request)
        if not (inspect.isawaitable(returned) or inspect.isasyncgen(returned)):
            return returned
        if inspect.iscoroutine(returned):
            returned.close()
        wrong = OutcomeUnknown if self.policy.writes else Fatal
        raise wrong(f"{self.name} returned a {type(returned).__name__}, which nobody awaits")

    @cached_property
    def input_model(self) -> type[BaseModel]:
        """The Pydantic model of the request."""
        name = list(signature(self.function).parameters)[1]
        model = self._annotation(name)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise ToolRefused(f"tool {self.name}: {name} must be a Pydantic model")
        return model

    @cached_property
    def output(self) -> TypeAdapter[Any]:
        """The type that checkpoints of this tool are decoded into."""
        return TypeAdapter(self._annotation("return"))

    def request(self, value: Json) -> BaseModel:
        """Decode a step's resolved input; raises a ValidationError of Pydantic's."""
        found: BaseModel = readable(TypeAdapter(self.input_model), value)
        return found

    @property
    def spec(self) -> ToolSpec:
        """What plans are validated against."""
        self._check_types()
        fields = self.input_model.model_fields
        names = {field.alias or name for name, field in fields.items()}
        open_ended = self.input_model.model_config.get("extra") == "allow"
        return ToolSpec(
            name=self.name,
            entry=self.entry,
            policy=self.policy,
            required=frozenset(
                field.alias or name for name, field in fields.items() if field.is_required()
            ),
            fields=None if open_ended else frozenset(names),
            expands=self.expands,
            nullable=frozenset(
                field.alias or name
                for name, field in fields.items()
                if _may_be_null(field.annotation)
            ),
        )

    def round_trip(self, value: Any) -> Json:
        """Encode an output and decode it again, so that the first run sees what a replay sees.

        Raises InvalidOutput, by place, for what does not come back as it went in.
        """
        return kept(self.output, value)

    def _check_types(self) -> None:
        """Refuse types of input and output by name; NameError: one is not defined yet."""
        declared = self._annotation("return")
        for why in unwritable(declared, getattr(declared, "__name__", "what it returns")):
            raise ToolRefused(f"tool {self.name}: {why}")
        _ = self.input_model

    def _annotation(self, name: str) -> Any:
        annotations = get_annotations(self.function)
        if name not in annotations:
            raise ToolRefused(f"tool {self.name}: {name} has no type")
        found = annotations[name]
        if isinstance(found, str):
            module = sys.modules[self.function.__module__]
            return eval(found, vars(module))  # noqa: S307 - the author's own annotation
        return found


def tool(  # noqa: PLR0913 - one keyword a policy
    *,
    effect: Effect,
    timeout: int = 60,
    retry: Retry | None = None,
    idempotency: Idempotency | None = None,
    key_ttl: float | None = None,
    settles_after: float = 30.0,
    name: str | None = None,
    probe: Probe | None = None,
    expands: bool = False,
) -> Callable[[Callable[..., Any]], Tool]:
    """Register a tool. `timeout`, `key_ttl` and `settles_after` are seconds.

    A write tool says how an unknown outcome is found out: `native` (the receiver honours the
    idempotency key, for `key_ttl` seconds; None: for ever), `probe` (`probe(ctx, request)` asks
    before anything is sent again, `settles_after` seconds after the last request can have been
    sent), `fenced` (the receiver keeps one write a key, the one with the highest fence), `none`
    (a person is asked). Raises ToolRefused for a write tool without a policy.

    `expands`: what the tool returns has `steps`, which are added to the run: at most 500 in all,
    and such steps may add others down to 30 levels.
    """
    retry = retry or Retry()

    def register(function: Callable[..., Any]) -> Tool:
        label = name or function.__name__
        policy = Policy(
            effect=effect,
            idempotency=idempotency,
            attempts=retry.attempts,
            backoff_base=retry.base,
            backoff_cap=retry.cap,
            timeout=timeout,
            settles_after=settles_after,
            key_ttl=key_ttl,
        )
        _refuse_contradictions(label, policy, expands=expands, probe=probe)
        return Tool(function, label, policy, expands=expands, probe=probe)

    return register


def _refuse_function(label: str, function: Callable[..., Any], probe: Probe | None) -> None:
    """Refuse what only an event loop or an iteration would run: a call of it does nothing."""
    if not inspect.isfunction(function):
        raise ToolRefused(f"tool {label}: a tool is a function, not a {type(function).__name__}")
    for each, what in ((function, ""), (probe, "its probe ")):
        called = each.func if isinstance(each, partial) else each
        for one in (called, getattr(called, "__call__", None)):  # noqa: B004 - of an instance
            if inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one):
                raise ToolRefused(f"tool {label}: {what}is async, and nothing awaits it here")
            if inspect.isgeneratorfunction(one):
                raise ToolRefused(f"tool {label}: {what}is a generator; return a list")


def _refuse_contradictions(
    label: str, policy: Policy, *, expands: bool, probe: Probe | None
) -> None:
    if policy.writes and policy.idempotency is None:
        raise ToolRefused(f"tool {label}: a write tool declares its idempotency")
    if not policy.writes and policy.idempotency is not None:
        raise ToolRefused(f"tool {label}: a read tool needs no idempotency")
    if policy.writes and expands:
        raise ToolRefused(f"tool {label}: a tool that adds steps does not write as well")
    if (policy.idempotency == "probe") != (probe is not None):
        raise ToolRefused(f"tool {label}: idempotency 'probe' and a probe go together")
    if not 1 <= policy.timeout <= MAX_STEP_TIMEOUT:
        raise ToolRefused(f"tool {label}: timeout is 1 to {MAX_STEP_TIMEOUT} seconds")
    if policy.attempts < 1:
        raise ToolRefused(f"tool {label}: at least one attempt")


def _may_be_null(annotation: Any) -> bool:
    """Whether an input field takes null, as what a skipped step would have said is."""
    if get_origin(annotation) in {Union, UnionType}:
        return any(map(_may_be_null, get_args(annotation)))
    return annotation in {Any, None, NoneType}
