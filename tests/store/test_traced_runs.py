"""A caller's trace: stored with its run, and handed to every attempt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from onward.app.service import Service
from onward.domain.errors import Transient
from onward.sdk import StepContext, tool
from onward.sdk.catalogue import Catalogue
from pydantic import BaseModel

from tests.store.caller import Caller
from tests.store.conftest import caller, issue
from tests.store.driver import Driver

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "rojo=00f067aa0ba902b7"
SEEN: list[tuple[str, int, str, str]] = []


class Empty(BaseModel):
    pass


@tool(effect="read")
def traced(ctx: StepContext, request: Empty) -> Empty:
    """Note the trace; the first attempt fails."""
    SEEN.append((ctx.step_id, ctx.fence, ctx.traceparent, ctx.tracestate))
    if ctx.fence == 1:
        raise Transient("once")
    return request


@pytest.fixture
def tracing(service: Service) -> tuple[Service, Caller]:
    SEEN.clear()
    known = Catalogue({"traced": traced}, {})
    made = replace(service, catalogue=lambda: known)
    return made, caller(made, issue(made, "acme", "submitter"))


def run(service: Service, client: Caller, headers: dict[str, str]) -> tuple[int, str]:
    """Submit two steps and drive them to the end."""
    plan = {"steps": [{"id": "a", "tool": "traced"}, {"id": "b", "tool": "traced"}]}
    reply = client.post("/runs", {"plan": plan, "input": {}}, headers)
    run_id = str(reply.body["run_id"])
    known: Any = service.catalogue()
    Driver(service.drive, run_id, tools=known.specs).execute()
    return reply.status, str(client.get(f"/runs/{run_id}").body["status"])


def test_every_attempt_of_a_run_has_its_callers_trace(tracing: tuple[Service, Caller]) -> None:
    """The first ones and those that follow a failure."""
    ended = run(*tracing, {"traceparent": PARENT, "tracestate": STATE})

    assert ended == (202, "succeeded")
    assert sorted(SEEN) == [(s, n, PARENT, STATE) for s in ("a", "b") for n in (1, 2)]


@pytest.mark.parametrize("header", ["", "00-short-01", f"{PARENT}-more", "ÿ" * 600])
def test_a_malformed_trace_is_ignored(tracing: tuple[Service, Caller], header: str) -> None:
    """Never refused: tracing must not fail what is traced."""
    assert run(*tracing, {"traceparent": header, "tracestate": STATE}) == (202, "succeeded")
    assert {seen[2:] for seen in SEEN} == {("", "")}


def test_a_repeated_submission_keeps_its_first_trace(tracing: tuple[Service, Caller]) -> None:
    """A client that tries again has another span, and means the same run."""
    service, client = tracing
    body = {"plan": {"steps": [{"id": "a", "tool": "traced"}]}, "input": {}}
    spans = (PARENT, PARENT.replace("b7-", "b8-"))
    replies = [
        client.post("/runs", body, {"Idempotency-Key": "k", "traceparent": span}) for span in spans
    ]

    assert len({reply.body["run_id"] for reply in replies}) == 1
    row = service.reader.run(replies[0].body["run_id"])
    assert row is not None
    assert row.traceparent == PARENT
