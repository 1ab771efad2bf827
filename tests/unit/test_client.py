"""The HTTP client against scripted answers; httpx's own transport is the seam."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import httpx
import pytest
from onward.client import Onward, OnwardProblem, ServiceUnreachable
from onward.client.wire import BackOff

from tests.unit.scripted_answers import RUN, Clock, Script, page, problem

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(clock: Clock) -> Callable[[Script], Onward]:
    back_off = BackOff(sleep=clock.sleep, clock=lambda: clock.now, jitter=lambda: 1.0)

    def make(script: Script) -> Onward:
        transport = httpx.MockTransport(script)
        return Onward("http://service/", "ow_key", transport=transport, back_off=back_off)

    return make


def test_a_problem_names_every_fault(client: Callable[[Script], Onward]) -> None:
    """All faults of a refused plan reach the caller, and it is not submitted again."""
    faults = [
        {"pointer": "/plan/steps/0/tool", "message": "unknown tool"},
        {"pointer": "/plan/steps/1/id", "message": "duplicate id"},
    ]
    script = Script([problem(422, "invalid_plan", detail="2 faults", errors=faults)])

    with pytest.raises(OnwardProblem) as refused:
        client(script).submit(plan={"steps": []})

    assert refused.value.code == "invalid_plan"
    assert refused.value.status == 422
    assert refused.value.errors == faults


def test_a_lost_reply_is_asked_for_again_with_the_same_key(
    client: Callable[[Script], Onward],
) -> None:
    """Submitting again after a lost reply cannot make a second run."""
    script = Script([httpx.ReadError("reset"), httpx.Response(202, json=RUN)])

    run = client(script).submit("excel-report", {"file": "x"})

    assert run == RUN
    first, second = (request.headers["Idempotency-Key"] for request in script.asked)
    assert first == second
    assert script.asked[0].content == script.asked[1].content


def test_a_key_in_flight_is_waited_for(client: Callable[[Script], Onward], clock: Clock) -> None:
    """`idempotency_in_progress` is retryable: the answer of the first request is what counts."""
    busy = problem(409, "idempotency_in_progress", retryable=True)
    script = Script([busy, httpx.Response(202, json=RUN)])

    assert client(script).submit("excel-report", key="mine") == RUN
    assert script.asked[0].headers["Idempotency-Key"] == "mine"
    assert clock.now > 0


def test_a_refused_connection_is_reported_at_once(
    client: Callable[[Script], Onward], clock: Clock
) -> None:
    """Where nothing listens, waiting would only delay the message."""
    script = Script([httpx.ConnectError("refused")])

    with pytest.raises(ServiceUnreachable, match="no answer from http://service"):
        client(script).get("run_1")

    assert clock.now == 0


def test_a_service_that_restarts_is_waited_for_by_who_has_patience(
    client: Callable[[Script], Onward],
) -> None:
    """The same question, answered once somebody listens again."""
    script = Script([*[httpx.ConnectError("restarting")] * 5, httpx.Response(200, json=RUN)])

    assert RUN == client(script).get("run_1", patience=60.0)


def test_a_gateway_that_stays_away_is_given_up(
    client: Callable[[Script], Onward], clock: Clock
) -> None:
    """Throttling answers are tried again for a bounded time, then shown as they came."""
    script = Script([httpx.Response(503, text="busy") for _ in range(20)])

    with pytest.raises(OnwardProblem) as refused:
        client(script).get("run_1")

    assert refused.value.code == "http_503"
    assert 1 < len(script.asked) < 20
    assert clock.now <= 5.0


def test_another_server_is_not_taken_for_onward(client: Callable[[Script], Onward]) -> None:
    """A web page in place of JSON is said to be no Onward."""
    script = Script([httpx.Response(200, text="<html>")])

    with pytest.raises(ServiceUnreachable, match="not as Onward"):
        client(script).get("run_1")


def test_watch_goes_on_from_the_last_event_when_the_service_comes_back(
    client: Callable[[Script], Onward],
) -> None:
    """Connections lost and refused in the middle cost no event and repeat none."""
    script = Script(
        [
            page(1, 2, last=3),
            httpx.RemoteProtocolError("gone"),
            httpx.ConnectError("restarting"),
            httpx.Response(502),
            page(2, 3),
            page(4, 5, ended=True),
        ]
    )

    events = client(script).watch("run_1")

    assert [int(event["sequence"]) for event in events] == [1, 2, 3, 4, 5]
    asked_after = [request.url.params["after"] for request in script.asked]
    assert asked_after == ["0", "2", "2", "2", "2", "3"]


def test_watch_takes_the_pages_of_an_ended_run_to_the_last(
    client: Callable[[Script], Onward],
) -> None:
    """`ended` on an early page of a long log does not cut the rest off."""
    script = Script([page(1, 2, ended=True, last=4), page(3, 4, ended=True)])

    assert len(list(client(script).watch("run_1"))) == 4


def test_watch_goes_on_where_the_log_stands_when_it_was_ahead_of_it(
    client: Callable[[Script], Onward],
) -> None:
    """A position of another log, as after a restore: no event is waited for that cannot come."""
    expired = problem(410, "cursor_expired", detail="the log ends before", as_of_seq=3)
    script = Script([expired, page(4, 5, ended=True)])

    events = list(client(script).watch("run_1", 9))

    assert [4, 5] == [int(event["sequence"]) for event in events]
    assert ["9", "3"] == [request.url.params["after"] for request in script.asked]


def test_watch_gives_up_after_its_patience(
    client: Callable[[Script], Onward], clock: Clock
) -> None:
    """A service that stays away ends the watching with an error, not with silence."""
    script = Script([page(1, last=2), *(httpx.ConnectError("gone") for _ in range(99))])
    events = client(script).watch("run_1", patience=60.0)

    assert int(next(events)["sequence"]) == 1
    with pytest.raises(ServiceUnreachable):
        next(events)
    assert 50 < clock.now <= 60


def test_watch_of_an_unknown_run_is_refused(client: Callable[[Script], Onward]) -> None:
    """What waiting cannot mend is raised at once."""
    script = Script([problem(404, "run_not_found", detail="no such run")])

    with pytest.raises(OnwardProblem, match="no such run"):
        next(client(script).watch("run_1"))


def test_the_store_never_sees_the_api_key(client: Callable[[Script], Onward]) -> None:
    """Presigned addresses carry their own authorisation; the key goes to the service alone."""
    artifact = {"ref": "art_1", "name": "a.xlsx", "size": 3, "content_type": "x"}
    place = {
        "upload_url": "http://store/put",
        "headers": {"x-amz-meta-a": "1"},
        "artifact": artifact,
    }
    script = Script(
        [
            httpx.Response(201, json=place),
            httpx.Response(200),
            httpx.Response(302, headers={"Location": "http://store/get"}),
            httpx.Response(200, content=b"abc"),
        ]
    )
    onward = client(script)

    assert onward.upload("a.xlsx", b"abc") == artifact
    assert onward.download("art_1") == b"abc"

    asked = [(request.url.host, "Authorization" in request.headers) for request in script.asked]
    assert asked == [("service", True), ("store", False)] * 2
    assert script.asked[1].content == b"abc"
    assert script.asked[1].headers["x-amz-meta-a"] == "1"


def test_an_expired_address_is_a_problem(client: Callable[[Script], Onward]) -> None:
    """What the store refuses is told as a refusal, with its status."""
    redirect = httpx.Response(302, headers={"Location": "http://store/get"})
    script = Script([redirect, httpx.Response(403, text="<Error/>")])

    with pytest.raises(OnwardProblem) as refused:
        client(script).download("art_1")

    assert (refused.value.code, refused.value.status) == ("store_refused", 403)


def test_a_store_that_is_busy_is_asked_again(client: Callable[[Script], Onward]) -> None:
    """Storing the same bytes and reading them are safe to repeat, whoever fails on the way."""
    place = {"upload_url": "http://store/put", "artifact": {"ref": "art_1"}}
    redirect = httpx.Response(302, headers={"Location": "http://store/get"})
    script = Script(
        [
            httpx.Response(201, json=place),
            httpx.Response(503, text="<Code>SlowDown</Code>"),
            httpx.ReadError("reset"),
            httpx.Response(200),
            httpx.Response(429),
            redirect,
            httpx.Response(500, text="<Code>InternalError</Code>"),
            httpx.Response(200, content=b"abc"),
        ]
    )
    onward = client(script)

    assert {"ref": "art_1"} == onward.upload("a.xlsx", b"abc")
    assert b"abc" == onward.download("art_1")
    assert [b"abc"] * 3 == [asked.content for asked in script.asked if asked.method == "PUT"]


@pytest.mark.parametrize("call", ["resume", "rotate_endpoint", "download"])
def test_no_call_takes_another_server_for_onward(
    client: Callable[[Script], Onward], call: str
) -> None:
    """Those that are made once and those that follow a redirect either."""
    with pytest.raises(ServiceUnreachable, match="not as Onward"):
        getattr(client(Script([httpx.Response(200, text="<html>")])), call)("it")


@pytest.mark.parametrize(("result", "said"), [(None, {}), ({"id": 7}, {"result": {"id": 7}})])
def test_an_answer_without_a_result_leaves_it_to_the_receipt(
    client: Callable[[Script], Onward], result: object, said: dict[str, object]
) -> None:
    """The service is told nothing that would take the receipt's place."""
    script = Script([httpx.Response(200, json=RUN)])
    client(script).resolve("run_1", "pay", "applied", result)
    assert {"outcome": "applied"} | said == json.loads(script.asked[0].content)
