"""The tools of a refund, against the artifact store and against the drills' receiver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from onward.sdk import (
    Applied,
    InvalidInput,
    NotApplied,
    OutcomeUnknown,
    PermissionDenied,
    RateLimited,
    StepContext,
    Transient,
    Unsure,
)
from onward.sdk.testing import context
from workflows.drills.faults import Fault
from workflows.refund import desk, tools
from workflows.refund.models import Order, OrderWanted, RefundRequest, Write
from workflows.refund.plan import refund, refund_unkeyed

from infra.local.drills.outside import Outside, outside

ORDER = Order(order_id="o-1", customer="c", item="lamp", price=Decimal(20))


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Outside]:
    with outside(tmp_path / "ledger.jsonl") as running:
        yield running


def rehearsing(step_id: str = "number", fence: int = 1) -> StepContext:
    return context(step_id=step_id, fence=fence, drills=True)


def asking(receiver: Outside, kind: str = "", step_id: str = "number", **more: Any) -> Write:
    faults = {step_id: Fault.model_validate({"kind": kind, **more})} if kind else {}
    return Write(order=ORDER, amount=Decimal(20), faults=faults, receiver_url=receiver.url)


def test_without_a_receiver_papers_are_filed_once() -> None:
    """A resend under the same key is told what was filed the first time."""
    ctx = context(step_id="number")
    request = Write(order=ORDER, amount=Decimal(20))

    assert tools.create_number(ctx, request) == tools.create_number(ctx, request)
    assert isinstance(tools.find_booking(ctx, request), Applied)


def test_faults_and_receivers_are_for_drills_only() -> None:
    """Elsewhere an input cannot make a worker die, or call an address of its choice."""
    wanted = OrderWanted(order_id="o-1", faults={"order": Fault(kind="die_before")})
    with pytest.raises(InvalidInput, match="does not rehearse"):
        tools.read_order(context(step_id="order"), wanted)
    with pytest.raises(InvalidInput, match="does not rehearse"):
        tools.create_number(context(), Write(order=ORDER, receiver_url="http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("row_lock", Transient),
        ("rate_limit", RateLimited),
        ("invalid", InvalidInput),
        ("permission", PermissionDenied),
    ],
)
def test_refusals_become_the_errors_of_the_sdk(
    receiver: Outside, kind: str, error: type[Exception]
) -> None:
    """And nothing was written."""
    with pytest.raises(error):
        tools.create_number(rehearsing(), asking(receiver, kind))

    assert 0 == receiver.effects("o-1")["number"]


def test_a_fault_strikes_the_first_attempts_only(receiver: Outside) -> None:
    """The third of three goes through."""
    request = asking(receiver, "row_lock", times=2)
    for fence in (1, 2):
        with pytest.raises(Transient):
            tools.create_number(rehearsing(fence=fence), request)

    assert "number" == tools.create_number(rehearsing(fence=3), request).action


def test_no_answer_is_no_refusal(receiver: Outside) -> None:
    """The error of a lost reply is none of those that say that nothing happened."""
    with pytest.raises(OSError, match="closed"):
        tools.create_number(rehearsing(), asking(receiver, "lost_reply"))

    assert 1 == receiver.effects("o-1")["number"]


@contextmanager
def saying(status: int, body: str, **headers: str) -> Iterator[str]:
    """A receiver that answers everything with this."""

    class Says(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Says) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("body", ["{}", "[]", '{"effects": 1}', "<html>", '{"effects": [{}]}'])
def test_an_answer_of_another_shape_says_nothing(body: str) -> None:
    """A 200 is no refusal, and no receipt either: nobody knows what was written."""
    with saying(200, body) as url:
        request = Write(order=ORDER, receiver_url=url)
        with pytest.raises(OutcomeUnknown, match="receiver"):
            tools.create_number(rehearsing(), request)
        assert isinstance(tools.find_booking(rehearsing("book"), request), Unsure)


@pytest.mark.parametrize("asked", ["1.5", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_wish_to_come_back_later_is_no_doubt(asked: str) -> None:
    """The receiver refused; what it asks for is read where all of that is."""
    headers = {"Retry-After": asked}
    with saying(429, "", **headers) as url, pytest.raises(RateLimited) as refused:
        tools.create_number(rehearsing(), Write(order=ORDER, receiver_url=url))
    assert asked == refused.value.retry_after


def test_an_old_fence_is_refused_for_good(receiver: Outside) -> None:
    """Nothing that an overtaken attempt could do better next time."""
    tools.release_stock(rehearsing("release", fence=2), asking(receiver))

    with pytest.raises(InvalidInput, match="409"):
        tools.release_stock(rehearsing("release", fence=1), asking(receiver))


def test_the_probe_tells_what_the_books_say(receiver: Outside) -> None:
    """Not there, there with its receipt, or nobody to ask."""
    ctx = rehearsing("book")
    assert isinstance(tools.find_booking(ctx, asking(receiver)), NotApplied)
    receipt = tools.book(ctx, asking(receiver))

    found = Applied(receipt, keys=(ctx.idempotency_key,))
    assert found == tools.find_booking(ctx, asking(receiver))
    nowhere = Write(order=ORDER, receiver_url="http://127.0.0.1:1")
    assert isinstance(tools.find_booking(ctx, nowhere), Unsure)


def test_both_workflows_have_ten_steps_and_differ_in_one() -> None:
    """The payment."""
    ours, unkeyed = (flow.document()["steps"] for flow in (refund, refund_unkeyed))
    assert isinstance(ours, list)
    assert isinstance(unkeyed, list)
    assert (10, 10) == (len(ours), len(unkeyed))
    assert 1 == sum(one != other for one, other in zip(ours, unkeyed, strict=True))


@pytest.mark.parametrize("order_id", ["", "a b", "x" * 65])
def test_an_order_is_named_plainly(order_id: str) -> None:
    """It travels in addresses and file names."""
    with pytest.raises(ValueError, match="order_id"):
        RefundRequest(order_id=order_id)


ELSEWHERE = [
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "ftp://127.0.0.1/x",
    "data:application/json,{}",
    "https://example.org",
    "http://169.254.169.254/latest/meta-data",
    "http://10.0.0.7:80",
    "http://0.0.0.0:80",
    "http://127.0.0.1@example.org",
    "http://u:p@127.0.0.1",
    "http://localhost.example.org",
    "http://[::ffff:10.0.0.7]",
    "http://127.0.0.1:no",
    "http://2130706433",
    "//127.0.0.1",
    "127.0.0.1:80",
    "http://",
    "jar:http://127.0.0.1",
    "\nhttp://127.0.0.1\n.example.org",
]


@pytest.mark.parametrize("url", ELSEWHERE)
def test_a_receiver_is_on_this_machine_and_speaks_http(url: str) -> None:
    """Nothing is read, called or quoted."""
    for ask in (tools.create_number, tools.find_booking):
        with pytest.raises(InvalidInput, match="receiver_url is http:// or"):
            ask(rehearsing(), Write(order=ORDER, receiver_url=url))
    with pytest.raises(InvalidInput, match="receiver_url is"):
        tools.read_order(rehearsing(), OrderWanted(order_id="o-1", receiver_url=url))


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://127.0.0.1:9/", "/elsewhere"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, target: str) -> None:
    """Whoever is called answers, or nobody does."""
    refused = pytest.raises(InvalidInput, match=f"answered {status}")
    with saying(status, "", Location=target) as url, refused:
        tools.create_number(rehearsing(), Write(order=ORDER, receiver_url=url))


def test_no_other_scheme_could_be_opened() -> None:
    """Were it asked to: there is no handler for it."""
    for url in ("file:///etc/hostname", "ftp://127.0.0.1/x", "data:,x"):
        assert desk._open(url) is None
