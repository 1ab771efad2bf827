"""Who gets in at the port that `onward up` opens, whatever a page or a neighbour sends."""

from __future__ import annotations

import json
import os
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError
from websockets import Origin
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from infra.local.deploy import ACCOUNT, REGION, client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.stack import Stack

ORIGINS = (None, "http://127.0.0.1:{port}", "https://evil.example", "http://127.0.0.1:1", "null")
HOSTS = ("127.0.0.1:{port}", "localhost:{port}", "rebound.example", "127.0.0.1", "169.254.169.254")
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD")
TYPES = (None, "text/plain", "application/x-amz-json-1.0", "application/x-www-form-urlencoded")
CONTROL = (
    "/",
    "/2015-03-31/functions/",
    "/cdk-hnb659fds-assets-000000000000-us-east-1/anything",
    "/_ministack/reset",
    "/_aws/sqs/messages",
    "/_aws/lambda-url/abc/",
    "/restapis/abc/stage/_user_request_/",
    "/_aws/execute-api/{socket}/live/@connections/abc",
    "/_aws/execute-api/{socket}/live/%40connections/abc",
)


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def ask(stack: Stack, method: str, path: str, headers: dict[str, str | None]) -> Answer:
    """Send a request as it is: no header that is not named here, but for the length."""
    connection = HTTPConnection("127.0.0.1", stack.port, timeout=20)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        if value is not None:
            connection.putheader(name, value)
    body = b"{}" if method in {"POST", "PUT", "PATCH"} else b""
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    told = {name.lower(): value for name, value in answer.getheaders()}
    got = Answer(answer.status, told, answer.read())
    connection.close()
    return got


def matrix(stack: Stack) -> Iterator[tuple[str, dict[str, str | None], bool]]:
    """Yield a method, headers, and whether they are ours, for every mixture."""
    for origin, host, method, kind in product(ORIGINS, HOSTS, METHODS, TYPES):
        headers = {
            "Host": host.format(port=stack.port),
            "Origin": origin and origin.format(port=stack.port),
            "Content-Type": kind,
            "X-Amz-Target": "DynamoDB_20120810.ListTables",
        }
        yield method, headers, origin in ORIGINS[:2] and host in HOSTS[:2]


@pytest.mark.parametrize("path", CONTROL)
def test_nothing_unsigned_reaches_the_emulator_itself(stack: Stack, path: str) -> None:
    """Whatever Origin, Host, method and content type: a preflight is refused like all else."""
    path = path.format(socket=stack.outputs["SocketApiId"])
    for method, headers, _ in matrix(stack):
        answer = ask(stack, method, path, headers)
        assert (403, None) == (
            answer.status,
            answer.headers.get("access-control-allow-origin"),
        ), (method, headers)


def test_an_api_answers_this_machine_and_no_foreign_page(stack: Stack) -> None:
    """With its key too: a page that had got hold of one reads nothing by a name of its own."""
    path = urlsplit(stack.api_url).path + "/runs"
    key = {"Authorization": f"Bearer {stack.api_key}"}
    for method, headers, ours in matrix(stack):
        if method not in {"GET", "OPTIONS"}:
            continue
        answer = ask(stack, method, path, headers | key)
        refused = answer.body.startswith(b'{"__type": "AccessDenied')
        assert refused is not ours, (method, headers, answer)
        if ours and method == "GET":
            assert "items" in json.loads(answer.body) or answer.status == 200


def test_health_is_all_that_is_told_without_a_signature(stack: Stack) -> None:
    ours: dict[str, str | None] = {"Host": f"127.0.0.1:{stack.port}"}
    assert 200 == ask(stack, "GET", "/_ministack/health", ours).status
    assert 403 == ask(stack, "POST", "/_ministack/health", ours).status
    assert 403 == ask(stack, "GET", "/_ministack/health", {"Host": "rebound.example"}).status
    assert 400 == ask(stack, "GET", "/_ministack/health", {}).status


def test_two_hosts_are_both_looked_at(stack: Stack) -> None:
    """Which of two a server believes differs; neither may be a stranger's."""
    connection = HTTPConnection("127.0.0.1", stack.port, timeout=20)
    connection.putrequest("GET", "/_ministack/health", skip_host=True)
    connection.putheader("Host", f"127.0.0.1:{stack.port}")
    connection.putheader("Host", "rebound.example")
    connection.endheaders()
    assert connection.getresponse().status in {400, 403}


def test_another_secret_signs_nothing(stack: Stack) -> None:
    """And a signed request that was changed on its way is not what was signed."""
    ours, stranger = (
        boto3.client(
            "lambda",
            endpoint_url=stack.endpoint_url,
            region_name=REGION,
            aws_access_key_id=ACCOUNT,
            aws_secret_access_key=secret,
        )
        for secret in (stack.secret_access_key, "test")
    )
    assert ours.list_functions(MaxItems=1)["Functions"]
    with pytest.raises(ClientError, match="signature"):
        stranger.list_functions(MaxItems=1)
    ours.meta.events.register_last(
        "before-send.lambda", lambda request, **_: setattr(request, "url", request.url + "&a=1")
    )
    with pytest.raises(ClientError, match="signature"):
        ours.list_functions(MaxItems=1)


def test_a_page_of_another_origin_opens_no_socket(stack: Stack) -> None:
    """Not with a ticket of ours either, which opens one for a page of this very stack."""
    bearer = {"Authorization": f"Bearer {stack.api_key}"}
    answer = httpx.post(f"{stack.api_url}/tickets", json={"use": "ws"}, headers=bearer)
    url = f"{stack.ws_url}?ticket={answer.json()['ticket']}"
    for origin in ("https://evil.example", "null", f"http://rebound.example:{stack.port}"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(url, origin=Origin(origin), proxy=None)
    with connect(url, origin=Origin(f"http://127.0.0.1:{stack.port}"), proxy=None) as ours:
        ours.send('{"action":"ping"}')
        assert "pong" == json.loads(ours.recv(timeout=20))["type"]


def test_only_its_owner_can_read_the_secret(stack: Stack) -> None:
    """It is in two files, and in the environment of our own processes."""
    state = Path(stack.state_dir)
    holding = [path for path in state.iterdir() if path.is_file() and _has(path, stack)]
    assert {"emulator.lock", "emulator.secret", "stack.json"} == {path.name for path in holding}
    assert {0o600} == {path.stat().st_mode & 0o777 for path in holding}


def test_the_stack_listens_on_one_port_of_the_loopback(stack: Stack) -> None:
    """Read from the kernel's table: of all processes of the emulator's group."""
    listening = _listening(os.getpgid(stack.pid))
    assert {("127.0.0.1", stack.port)} == listening


def test_what_is_signed_by_a_worker_is_let_in(stack: Stack) -> None:
    """The secret is what the emulator's own environment hands to functions."""
    found = client("dynamodb", stack).list_tables()["TableNames"]
    assert stack.outputs["RunsTable"] in found


def _has(path: Path, stack: Stack) -> bool:
    return stack.secret_access_key.encode() in path.read_bytes()


def _listening(group: int) -> set[tuple[str, int]]:
    """Return addresses that processes of a group listen on (proc(5): net/tcp, state 0A)."""
    sockets = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            if os.getpgid(int(entry.name)) != group:
                continue
            links = [str(link.readlink()) for link in (entry / "fd").iterdir()]
        except OSError:
            continue
        sockets |= {link[8:-1] for link in links if link.startswith("socket:")}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                address, port = fields[1].split(":")
                octets = reversed(bytes.fromhex(address)) if table == "tcp" else ()
                found.add((".".join(map(str, octets)) or address, int(port, 16)))
    return found
