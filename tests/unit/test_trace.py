"""Headers of W3C Trace Context, by the specification's own rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onward.domain.trace import MAX_STATE, Trace, read_trace

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("header", "read"),
    [
        (PARENT, PARENT),
        (f" {PARENT}\t", PARENT),
        (f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-00"),
        (f"cc-{TRACE}-{SPAN}-01", PARENT),
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", PARENT),
    ],
)
def test_a_span_is_read(header: str, read: str) -> None:
    """A later version is read as far as version 00 goes, and handed on as that."""
    assert read_trace(header, None) == Trace(read)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"cc-{TRACE}-{SPAN}-01.more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"{PARENT},{PARENT}",
        f"00-{TRACE}-{SPAN}-0१",
    ],
)
def test_a_malformed_span_is_no_trace(header: str | None) -> None:
    """Its state is dropped with it."""
    assert read_trace(header, "a=b") is None


@pytest.mark.parametrize(
    ("header", "kept"),
    [
        ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
        ("a=1 , b=2,,", "a=1,b=2"),
        ("fw529a3039@dt=FfAzi4", "fw529a3039@dt=FfAzi4"),
        ("a=1,a=2", ""),
        ("A=1", ""),
        ("a", ""),
        ("a=b=c", ""),
        (",".join(f"k{n}=v" for n in range(33)), ""),
        (",".join(f"k{n}={'v' * 30}" for n in range(20)), None),
        (f"long={'v' * 200},{','.join(f'k{n}=' + 'v' * 40 for n in range(9))}", None),
    ],
)
def test_a_state_is_kept_malformed_dropped_and_long_shortened(
    header: str, kept: str | None
) -> None:
    """The trace itself stands in each case; whole entries go, the oldest and the long ones."""
    found = read_trace(PARENT, header)
    assert found is not None
    assert found.parent == PARENT
    assert len(found.state) <= MAX_STATE
    if kept is not None:
        assert found.state == kept
    else:
        assert found.state
        assert set(found.state.split(",")) < set(header.split(","))


def test_an_entry_of_many_characters_goes_before_the_others() -> None:
    """So that one vendor does not push out all the rest."""
    rest = ",".join(f"k{n}={'v' * 40}" for n in range(9))
    found = read_trace(PARENT, f"long={'v' * 200},{rest}")
    assert found == Trace(PARENT, rest)


@given(st.text(), st.text())
def test_whatever_comes_is_answered(parent: str, state: str) -> None:
    """No header makes a request fail."""
    read_trace(parent, state)
    kept = read_trace(PARENT, state)
    assert kept is not None
    assert len(kept.state) <= MAX_STATE
    assert kept.headers["traceparent"] == PARENT
