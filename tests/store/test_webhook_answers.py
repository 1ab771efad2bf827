"""What receivers answer that is no plain answer: read on, or named without quoting it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from onward.outside.addresses import AddressRefused, parse, resolve
from onward.outside.request import NoAnswer, TimedOut, request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
SECRET = "hunter2"


@contextmanager
def answering(said: bytes, *, last: bytes = b"") -> Iterator[str]:
    """A receiver that says so to the first request, then `last` for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            line, _ = server.accept()
            with line:
                line.recv(65536)
                try:
                    line.sendall(said)
                    while last:
                        line.sendall(last)
                except OSError:
                    return  # who asked has given up

        threading.Thread(target=answer, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


@pytest.mark.parametrize(
    "before", [EARLY, PROCESSING, CONTINUE, CONTINUE + PROCESSING + EARLY + EARLY]
)
def test_what_only_announces_an_answer_is_read_past(before: bytes) -> None:
    """RFC 9110, 15.2: any number of them, each with headers of its own."""
    with answering(before + OK) as url:
        reply = request("POST", url, {}, b"{}", seconds=5, local=True)
    assert (200, b"ok") == (reply.status, reply.body)
    assert "link" not in reply.headers


def test_another_protocol_is_an_answer() -> None:
    """101: what follows is no HTTP."""
    with answering(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n") as url:
        assert 101 == request("POST", url, {}, b"{}", seconds=5, local=True).status


def test_announcements_without_end_are_cut() -> None:
    """They are no answer, whatever time they take."""
    with answering(b"", last=PROCESSING) as url, pytest.raises(TimedOut):
        request("POST", url, {}, b"{}", seconds=0.5, local=True)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (f"-DENIED {SECRET} [bold]\x1b[2J\r\n".encode(), "the answer is no HTTP"),
        (f"HTTP/1.1 {SECRET} [/bold]\r\n\r\n".encode(), "the answer is no HTTP"),
        (b"", "the connection was closed without an answer"),
        (EARLY + SECRET.encode() + b"\r\n", "the answer is no HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n", "the answer is no HTTP"),
    ],
)
def test_an_error_names_its_kind_and_quotes_nothing(said: bytes, kind: str) -> None:
    """What the other side sent is in nobody's list of deliveries, and on nobody's terminal."""
    with answering(said) as url, pytest.raises(NoAnswer) as failed:
        request("POST", url, {}, b"{}", seconds=5, local=True)
    assert kind == str(failed.value)


def test_a_refused_connection_and_broken_tls_have_words_of_their_own() -> None:
    """A banner where TLS was expected is quoted by OpenSSL's own text."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with pytest.raises(NoAnswer, match=r"^the connection was refused$"):
        request("POST", f"http://127.0.0.1:{free}/", {}, b"", seconds=5, local=True)
    with answering(f"{SECRET}\r\n".encode()) as url, pytest.raises(NoAnswer, match=r"^TLS failed$"):
        request("POST", url.replace("http", "https"), {}, b"", seconds=5, local=True)


@pytest.mark.parametrize("port", [22, 25, 6379, 9200, 3306, 444])
@pytest.mark.parametrize("local", [False, True])
def test_a_port_of_something_else_is_refused(port: int, *, local: bool) -> None:
    """At a public address, whether or not local ones are allowed."""
    target = parse(f"https://93.184.216.34:{port}/", local=local)
    with pytest.raises(AddressRefused, match=f"port {port}"):
        resolve(target, local=local)


@pytest.mark.parametrize("port", [80, 443, 8080, 8443])
def test_known_ports_are_taken(port: int) -> None:
    """And others where the stack says so; on the loopback any, where that is allowed."""
    assert resolve(parse(f"https://93.184.216.34:{port}/", local=False), local=False)
    other = parse("https://93.184.216.34:9443/", local=False)
    assert resolve(other, local=False, ports=frozenset({9443}))
    assert resolve(parse("http://127.0.0.1:22/", local=True), local=True)
    with pytest.raises(AddressRefused):
        resolve(parse("http://10.0.0.7:22/", local=True), local=True)
