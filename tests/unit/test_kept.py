"""What a tool returns is kept as it declares it, or refused by the place of what is lost."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import pytest
from onward.domain.errors import InvalidOutput, OutcomeUnknown, StepError
from onward.sdk import Applied, NotApplied, StepContext, ToolRefused, Workflow, tool
from onward.sdk.kept import kept, salvaged
from onward.sdk.testing import context
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    PlainSerializer,
    RootModel,
    SecretBytes,
    SecretStr,
    TypeAdapter,
    computed_field,
    field_serializer,
    field_validator,
)


class Nothing(BaseModel):
    pass


class Order(BaseModel):
    order_id: str = Field(alias="orderId")


class Split(BaseModel):
    order_id: str = Field("none", validation_alias="in", serialization_alias="out")


class Deep(BaseModel):
    city: str = Field(validation_alias=AliasPath("address", "city"))
    name: str = Field(validation_alias=AliasChoices("name", "fullName"))


class Invoice(BaseModel):
    model_config = ConfigDict(extra="forbid")
    net: float

    @computed_field
    def gross(self) -> float:
        return self.net * 1.2


class Limits(BaseModel):
    limits: Json[dict[str, int]]


class Score(BaseModel):
    score: float


class Loose(BaseModel):
    held: Any = None


class Shouted(BaseModel):
    """Its validator changes what is read each time."""

    text: str

    @field_validator("text")
    @classmethod
    def louder(cls, text: str) -> str:
        return text + "!"


class Trimmed(BaseModel):
    """Its validator brings what is read into a form."""

    text: str

    @field_validator("text")
    @classmethod
    def trim(cls, text: str) -> str:
        return text.strip()


class Told(BaseModel):
    """Says itself how its secret is written."""

    key: SecretStr

    @field_serializer("key", when_used="json")
    def open(self, key: SecretStr) -> str:
        return key.get_secret_value()


class Worded(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="strings")
    score: float


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    at: datetime
    pair: tuple[int, int]


@dataclass
class Point:
    x: int
    y: float


class Pair(NamedTuple):
    left: int
    right: str


class Colour(Enum):
    RED = "red"


AT = datetime(2026, 12, 1, 12, 30, tzinfo=UTC)

COMES_BACK: list[tuple[Any, Any, Any]] = [
    (Order, Order(orderId="7"), {"orderId": "7"}),
    (list[Order], [Order(orderId="7")], [{"orderId": "7"}]),
    (Split, Split.model_validate({"in": "7"}), {"order_id": "7"}),
    (
        Deep,
        Deep.model_validate({"address": {"city": "Ulm"}, "fullName": "Ada"}),
        {"city": "Ulm", "name": "Ada"},
    ),
    (Invoice, Invoice(net=1.0), {"net": 1.0}),
    (Limits, Limits(limits='{"a": 1}'), {"limits": '{"a":1}'}),
    (Score, Score(score=0.1), {"score": 0.1}),
    (Worded, Worded(score=math.nan), {"score": "NaN"}),
    (Told, Told(key=SecretStr("k")), {"key": "k"}),
    (Trimmed, Trimmed.model_construct(text=" x "), {"text": "x"}),
    (Strict, Strict(at=AT, pair=(1, 2)), {"at": "2026-12-01T12:30:00Z", "pair": [1, 2]}),
    (Point, Point(1, 2.5), {"x": 1, "y": 2.5}),
    (Pair, Pair(1, "b"), [1, "b"]),
    (dict[Colour, timedelta], {Colour.RED: timedelta(seconds=90)}, {"red": "PT1M30S"}),
    (Decimal, Decimal("1.10"), "1.10"),
    (dict[int, UUID], {7: UUID(int=1)}, {"7": str(UUID(int=1))}),
    (bytes, b"abc", "abc"),
    (set[int], {3}, [3]),
    (Loose, Loose(held={"at": AT, "pair": (1, Colour.RED)}), None),
    (Any, Order(orderId="7"), {"orderId": "7"}),
    (Any, [1, "two", None, {"three": 3.5}], [1, "two", None, {"three": 3.5}]),
    (Order | None, None, None),
    (None, None, None),
    (RootModel[list[Order]], RootModel[list[Order]]([Order(orderId="7")]), [{"orderId": "7"}]),
]


@pytest.mark.parametrize(("declared", "value", "expected"), COMES_BACK, ids=range(len(COMES_BACK)))
def test_what_comes_back_is_kept(declared: Any, value: Any, expected: Any) -> None:
    """Under its aliases where they can be read, without computed fields, `Json` as text."""
    if isinstance(value, Loose):
        expected = {"held": {"at": "2026-12-01T12:30:00Z", "pair": [1, "red"]}}
    adapter: TypeAdapter[Any] = TypeAdapter(declared)

    document = kept(adapter, value)

    assert expected == document
    if declared is not Any and isinstance(value, Order | Invoice | Score | Told | Limits | Point):
        assert value == adapter.validate_python(document)


LOST: list[tuple[Any, Any, str]] = [
    (Score, Score(score=math.nan), "score: nan is no JSON number"),
    (Score, Score(score=-math.inf), "score: -inf is no JSON number"),
    (Loose, Loose(held=math.nan), "held: nan is no JSON number"),
    (Loose, Loose(held={"a": [0.5, math.inf]}), "held.a.1: inf is no JSON number"),
    (Any, [math.nan], "0: nan is no JSON number"),
    (float, math.nan, "nan is no JSON number"),
    (Loose, Loose(held=[SecretStr("s")]), "held.0: a secret"),
    (Loose, Loose(held={"login": Told(key=SecretStr("k"))}), None),
    (Any, {"key": SecretBytes(b"s")}, "key: a secret"),
    (Loose, Loose(held={(1, 2): 3}), "held: the key (1, 2) is no text"),
    (dict[Any, int], {math.nan: 3}, "the key nan is no text"),
    (Loose, Loose(held={1: 2, "1": 3}), "held: two keys are the same as text"),
    (Loose, Loose(held={"f": lambda: 1}), "held.f: Unable to serialize unknown type"),
    (Loose, Loose(held=["ok", object()]), "held.1: Unable to serialize unknown type"),
    (Loose, Loose(held=["caf\udce9"]), "held.0: a lone surrogate"),
    (Loose, Loose(held={"caf\udce9": 1}), "held: the key caf� is no text of JSON"),
    (str, "\ud800", "a lone surrogate"),
    (Loose, Loose(held=[b"\xff"]), "held.0: "),
    (bytes, b"\xff", "utf-8"),
    (int, 10**5000, "4300 digits"),
    (Shouted, Shouted.model_construct(text="a"), "text: a comes back as a!"),
    (Order, {"orderId": 7}, "orderId: Input should be a valid string"),
    (Order, {}, "orderId: Field required"),
    (int, "seven", "valid integer"),
    (Order, None, "should be an object"),
]


@pytest.mark.parametrize(("declared", "value", "said"), LOST, ids=range(len(LOST)))
def test_what_is_lost_is_refused_by_its_place(declared: Any, value: Any, said: str | None) -> None:
    """Never handed on as null or asterisks."""
    adapter: TypeAdapter[Any] = TypeAdapter(declared)
    if said is None:  # whoever writes a secret out in full loses nothing
        assert {"held": {"login": {"key": "k"}}} == kept(adapter, value)
        return
    with pytest.raises(InvalidOutput) as refused:
        kept(adapter, value)
    assert said in str(refused.value)
    assert not refused.value.retryable


def test_what_is_nested_without_end_is_refused() -> None:
    """Pydantic reads 200 levels; what refers to itself has no end."""
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 1
    for _ in range(300):
        deep = [deep]
    for value in (endless, deep):
        with pytest.raises(InvalidOutput):
            kept(TypeAdapter(Any), value)


def test_of_a_refused_value_a_person_is_shown_what_there_is() -> None:
    """In place of what JSON does not carry there are words."""
    shown = salvaged({"id": "R-7", "score": [math.nan, 1.5], "name": "caf\udce9", "f": object()})

    assert {"id": "R-7", "score": [None, 1.5], "name": "caf\ufffd", "f": "object"} == shown


class Login(BaseModel):
    user: str
    password: SecretStr


class Session(BaseModel):
    logins: list[Login | None] = []


class Grid(BaseModel):
    cells: dict[tuple[int, int], str]


class Handle:
    pass


class Wild(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    handle: Handle


class Hidden(BaseModel):
    text: str = Field(exclude=True)


class Node(BaseModel):
    """Contains itself."""

    below: list[Node] = []
    secret: SecretBytes | None = None


@dataclass
class Held:
    callback: Callable[[], None]


class Typed(TypedDict):
    key: SecretStr


REFUSED: list[tuple[Any, str]] = [
    (Login, "Login.password is a secret"),
    (Session, "Session.logins.password is a secret"),
    (list[SecretStr], "is a secret"),
    (Grid, "Grid.cells has keys of type tuple"),
    (dict[Point, int], "has keys of type Point"),
    (Wild, "Wild.handle is of type Handle"),
    (Handle, "Handle is of type Handle"),
    (Hidden, "Hidden.text is left out of JSON and has no default"),
    (Node, "Node.secret is a secret"),
    (Held, "Held.callback is of type Callable"),
    (Typed, "Typed.key is a secret"),
    (Awaitable[int], "is of type Awaitable"),
    (Annotated[SecretStr, Field(min_length=3)], "is a secret"),
]


@pytest.mark.parametrize(("declared", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_json_cannot_carry_is_refused_at_registration(declared: Any, said: str) -> None:
    """By the name of the tool and of the field."""

    def give(ctx: StepContext, request: Nothing) -> Any:
        raise NotImplementedError

    give.__annotations__["return"] = declared
    with pytest.raises(ToolRefused, match="tool give: ") as refused:
        tool(effect="read")(give)
    assert said in str(refused.value)


CARRIED: list[Any] = [
    Told,
    Annotated[SecretStr, PlainSerializer(lambda secret: secret.get_secret_value())],
    Literal["a", "b"],
    dict[Colour, list[Point]],
    RootModel[dict[str, Pair]],
    object,
    *(declared for declared, _, _ in COMES_BACK),
]


@pytest.mark.parametrize("declared", CARRIED, ids=range(len(CARRIED)))
def test_what_json_can_carry_is_registered(declared: Any) -> None:
    """A secret too, where its author says how it is written."""

    def give(ctx: StepContext, request: Nothing) -> Any:
        raise NotImplementedError

    give.__annotations__["return"] = declared
    assert "give" == tool(effect="read")(give).spec.name


def test_a_workflow_keeps_no_secret_in_its_input() -> None:
    """It would be submitted as text and kept as asterisks."""
    with pytest.raises(ToolRefused, match=r"workflow enter: Login\.password is a secret"):
        Workflow("enter", version=1, input=Login, steps=[])


async def later(ctx: StepContext, request: Nothing) -> int:
    return 1


async def stream(ctx: StepContext, request: Nothing) -> Any:
    yield 1


def each(ctx: StepContext, request: Nothing) -> Iterator[int]:
    yield 1


class Called:
    async def __call__(self, _ctx: StepContext, _request: Nothing) -> int:
        return 1


def at_once(ctx: StepContext, request: Nothing) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (later, "is async"),
        (stream, "is async"),
        (each, "is a generator"),
        (partial(later), "not a partial"),
        (partial(at_once), "not a partial"),
        (Called(), "not a Called"),
    ],
)
def test_what_only_a_loop_would_run_is_no_tool(function: Any, said: str) -> None:
    """Said at registration: a call of it does nothing."""
    with pytest.raises(ToolRefused, match=said):
        tool(effect="read", name="odd")(function)


@pytest.mark.parametrize("probe", [later, stream, each, partial(later), Called()], ids=range(5))
def test_nor_is_it_a_probe(probe: Any) -> None:
    """What it says would never be heard."""
    with pytest.raises(ToolRefused, match="its probe is"):
        tool(effect="write", idempotency="probe", probe=probe)(at_once)


def test_a_probe_may_be_any_other_callable() -> None:
    """It is no step's entry, so nothing has to find it by its name."""

    class Probe:
        def __call__(self, _ctx: StepContext, _request: Nothing) -> Applied | NotApplied:
            return NotApplied()

    write = tool(effect="write", idempotency="probe", probe=Probe())(at_once)
    assert isinstance(write.probe, Probe)


@pytest.mark.parametrize(("effect", "code"), [("read", "fatal"), ("write", "outcome_unknown")])
def test_a_coroutine_that_comes_out_all_the_same_is_said_so(effect: Any, code: str) -> None:
    """Of a write nobody knows how much ran before it."""

    def hides(ctx: StepContext, request: Nothing) -> int:
        return later(ctx, request)  # type: ignore[return-value]

    policy: dict[str, Any] = {"idempotency": "native"} if effect == "write" else {}
    hidden = tool(effect=effect, **policy)(hides)
    with pytest.raises(StepError, match="returned a coroutine") as refused:
        hidden(context(), Nothing())
    assert code == refused.value.code
    assert (code == "outcome_unknown") is isinstance(refused.value, OutcomeUnknown)


def test_a_strict_input_reads_json() -> None:
    """Where a time is text and a tuple a list."""

    def take(ctx: StepContext, request: Strict) -> int:
        return 1

    found = tool(effect="read")(take).request({"at": "2026-12-01T12:30:00Z", "pair": [1, 2]})
    assert Strict(at=AT, pair=(1, 2)) == found
