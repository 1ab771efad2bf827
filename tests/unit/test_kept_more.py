"""Results that nobody had in mind when what is kept was written: each comes back, or says why."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime
from enum import IntFlag
from ipaddress import IPv4Network, ip_network
from pathlib import PurePosixPath
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from onward.domain.errors import InvalidOutput
from onward.sdk.kept import kept
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    item: T


class Titled(BaseModel):
    model_config = ConfigDict(
        alias_generator=lambda name: name.title(), validate_by_name=True, extra="allow"
    )
    first_name: str


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Tabby(Cat):
    stripes: int = 7


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    bark: str | None = "w"


class Tree(BaseModel):
    name: str
    below: list[Tree] = []


class Kept(BaseModel):
    shown: int
    hidden: str = Field("x", exclude=True)


class Flag(IntFlag):
    A = 1
    B = 2


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
RESULTS: list[tuple[Any, Any, Any]] = [
    (
        Box[list[Titled]],
        Box[list[Titled]](item=[Titled(first_name="Ada", born=1815)]),
        {"item": [{"First_Name": "Ada", "born": 1815}]},
    ),
    (
        list[Pet],
        [Cat(), Dog(bark=None)],
        [{"kind": "cat", "lives": 9}, {"kind": "dog", "bark": None}],
    ),
    (Cat, Tabby(lives=3), {"kind": "cat", "lives": 3}),
    (Cat, {"kind": "cat", "lives": 3}, {"kind": "cat", "lives": 3}),
    (
        Tree,
        Tree(name="a", below=[Tree(name="b")]),
        {"name": "a", "below": [{"name": "b", "below": []}]},
    ),
    (Kept, Kept(shown=1, hidden="y"), {"shown": 1}),
    (dict[str, list[int]], defaultdict(list, {"b": [1], "a": []}), {"b": [1], "a": []}),
    (
        tuple[PurePosixPath, IPv4Network],
        (PurePosixPath("/x"), ip_network("10.0.0.0/8")),
        ["/x", "10.0.0.0/8"],
    ),
    (
        dict[date, datetime],
        {date(2026, 1, 1): datetime(2026, 1, 1, tzinfo=UTC)},
        {"2026-01-01": "2026-01-01T00:00:00Z"},
    ),
    (list[float | int], [-0.0, 1e308, 2**70], [-0.0, 1e308, 2**70]),
    (
        Any,
        {"s": {1}, "g": (n for n in (1, 2)), "b": bytearray(b"ok")},
        {"s": [1], "g": [1, 2], "b": "ok"},
    ),
]
REFUSED: list[tuple[Any, Any, str]] = [
    (dict[Flag, int], {Flag.A | Flag.B: 1}, "Input should be 1 or 2"),
    (Any, ValueError("x"), "Unable to serialize unknown type: <class 'ValueError'>"),
    (Any, {"t": [int]}, "t.0: Unable to serialize unknown type: <class 'type'>"),
]


@pytest.mark.parametrize(
    ("declared", "value", "expected"), RESULTS, ids=[f"result-{n}" for n in range(len(RESULTS))]
)
def test_it_comes_back(declared: Any, value: Any, expected: Any) -> None:
    """In the form that its type reads."""
    assert expected == kept(TypeAdapter(declared), value)


@pytest.mark.parametrize(("declared", "value", "said"), REFUSED, ids=range(len(REFUSED)))
def test_or_it_says_why(declared: Any, value: Any, said: str) -> None:
    """By its place."""
    with pytest.raises(InvalidOutput) as refused:
        kept(TypeAdapter(declared), value)
    assert said in str(refused.value)
