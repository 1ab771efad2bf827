"""What both clients outlast by themselves, and what they tell at once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from onward.client import AsyncOnward, Onward, OnwardProblem, ServiceUnreachable
from onward.client.wire import BackOff

from tests.unit.scripted_answers import RUN, Clock, Script, page, problem

Answer = Callable[[httpx.Request], httpx.Response]
Call = Callable[..., Any]


def gateways_500() -> httpx.Response:
    return httpx.Response(500, json={"message": "Internal Server Error"})


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["sync", "async"])
def call(clock: Clock, request: pytest.FixtureRequest) -> Call:
    """Call a method of one of the clients by name; events come as a list."""
    back_off = BackOff(sleep=clock.sleep, clock=lambda: clock.now, jitter=lambda: 0.01)

    def sync(answer: Answer, name: str, *given: Any, **options: Any) -> Any:
        transport = httpx.MockTransport(answer)
        with Onward("http://service", "ow_key", transport=transport, back_off=back_off) as onward:
            made = getattr(onward, name)(*given, **options)
            return list(made) if name == "watch" else made

    async def on_asyncio(answer: Answer, name: str, *given: Any, **options: Any) -> Any:
        async with AsyncOnward(
            "http://service", "ow_key", transport=httpx.MockTransport(answer), back_off=back_off
        ) as onward:
            made = getattr(onward, name)(*given, **options)
            return [event async for event in made] if name == "watch" else await made

    def on_a_loop(answer: Answer, name: str, *given: Any, **options: Any) -> Any:
        return asyncio.run(on_asyncio(answer, name, *given, **options))

    return sync if request.param == "sync" else on_a_loop


def test_a_500_of_the_gateway_passes(call: Call) -> None:
    """A function that could not be invoked is no refusal; the key keeps two tries one run."""
    script = Script(
        [gateways_500(), httpx.Response(500, text="oops"), httpx.Response(202, json=RUN)]
    )

    assert RUN == call(script, "submit", "excel-report")
    assert 1 == len({request.headers["Idempotency-Key"] for request in script.asked})


def test_watching_outlasts_a_500_of_the_gateway(call: Call) -> None:
    """Between two pages as anywhere."""
    script = Script([page(1, last=2), gateways_500(), page(2, ended=True)])

    assert 2 == len(call(script, "watch", "run_1"))


def test_a_500_that_stays_is_told(call: Call, clock: Clock) -> None:
    """Within the limits of everything that may pass."""
    script = Script([])

    def answer(request: httpx.Request) -> httpx.Response:
        script.asked.append(request)
        clock.sleep(1)
        return gateways_500()

    with pytest.raises(OnwardProblem, match="Internal Server Error") as refused:
        call(answer, "get", "run_1")

    assert ("http_500", 500) == (refused.value.code, refused.value.status)
    assert 1 < len(script.asked) < 9


def test_a_defect_of_the_service_is_told_at_once(call: Call) -> None:
    """A 500 that is a problem document says itself whether to try again."""
    script = Script([problem(500, "internal_error", retryable=False)])

    with pytest.raises(OnwardProblem, match="internal_error"):
        call(script, "get", "run_1")

    script = Script([problem(500, "busy", retryable=True), httpx.Response(200, json=RUN)])
    assert RUN == call(script, "get", "run_1")


def test_waiting_ends_with_the_run_whatever_is_away_then(call: Call) -> None:
    """The last question is as patient as the watching before it."""
    script = Script(
        [
            httpx.Response(200, json=RUN | {"as_of_seq": 2}),
            page(3, ended=True),
            httpx.ConnectError("restarting"),
            gateways_500(),
            httpx.Response(200, json=RUN | {"status": "succeeded"}),
        ]
    )

    assert "succeeded" == call(script, "wait", "run_1")["status"]
    assert ["2"] == [r.url.params["after"] for r in script.asked if "after" in r.url.params]


def test_patience_counts_from_the_first_try_that_failed(call: Call, clock: Clock) -> None:
    """A question that was held for longer than the patience is asked again when it is lost."""
    script = Script([page(1, last=2), httpx.ReadError("cut"), page(2, ended=True)])

    def held(request: httpx.Request) -> httpx.Response:
        clock.sleep(18)
        return script(request)

    assert 2 == len(call(held, "watch", "run_1", patience=10.0))


def test_an_answer_that_cannot_be_read_is_none(call: Call) -> None:
    """A body that is not what its encoding says comes from no Onward."""
    garbled = httpx.Response(
        200, stream=httpx.ByteStream(b"no gzip"), headers={"Content-Encoding": "gzip"}
    )

    with pytest.raises(ServiceUnreachable, match="no answer from http://service"):
        call(Script([garbled]), "get", "run_1")


@pytest.mark.parametrize("errors", ["all of it", 7, ["odd"], [{"pointer": "/a"}], {"a": 1}])
def test_faults_of_another_shape_are_left_out(call: Call, errors: Any) -> None:
    """Whoever shows a problem's faults can rely on what they are made of."""
    answer = httpx.Response(400, json={"message": "no", "errors": errors})

    with pytest.raises(OnwardProblem, match="http_400: no") as refused:
        call(Script([answer]), "get", "run_1")

    assert [] == refused.value.errors


def test_a_question_that_is_not_held_is_asked_again_when_the_service_says(
    call: Call, clock: Clock
) -> None:
    """Too many are held: without the pause the client would ask as fast as it can."""
    put_off = httpx.Response(
        200, json={"events": [], "next_after": 1, "as_of_seq": 1, "ended": False, "retry_after": 1}
    )
    script = Script([page(1, last=1), put_off, page(2, ended=True)])
    began, now = time.monotonic(), clock.now

    assert 2 == len(call(script, "watch", "run_1"))
    assert 3 == len([request for request in script.asked if "/events" in request.url.path])
    assert 1 <= time.monotonic() - began + clock.now - now < 3
