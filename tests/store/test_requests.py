from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from onward.app.service import Service
from onward.aws.tenants import Holder
from onward.domain.errors import InvalidRequest, RequestError
from onward.http.requests import Request
from onward.http.routes import get_events

from tests.store.caller import Caller

HELLO: dict[str, Any] = {"workflow": "speak", "input": {"text": "hi"}}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "line 1 column 1"),
        (b'{"a": 1,\n "b" 2}', "line 2 column 6"),
        (b"\xff{}", "not UTF-8 at byte 0"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": 1e999}', "a number is too large"),
        (b'{"a": ' + b"1" * 5000 + b"}", "not JSON"),
        (b'{"a": "\\ud800"}', "not UTF-8"),
        (b'{"\\ud800": 1}', "not UTF-8"),
        (b"[" * 65 + b"]" * 65, "nested deeper"),
        (b"[" * 100_000, "nested deeper"),
        (b'{"workflow":"hello","workflow":"x"}', "the member 'workflow' is there twice"),
        (b'{"input":{"a":1,"b":2,"a":1}}', "the member 'a' is there twice"),
        (b'{"a":1,"\\u0061":2}', "the member 'a' is there twice"),
    ],
)
def test_what_is_no_json_is_400_and_says_where(body: bytes, detail: str) -> None:
    """Whether Python's parser would have taken it or not."""
    with pytest.raises(RequestError, match=detail) as caught:
        Request({}, {}, b64encode(body).decode(), base64=True).body()
    assert (400, "bad_request") == (caught.value.status, caught.value.code)


def test_a_body_is_read_in_either_form(acme: Caller) -> None:
    """The gateway encodes what it does not take for text; a byte order mark is no fault."""
    body = json.dumps(HELLO | {"input": {"text": "grüß"}}, ensure_ascii=False).encode()
    for form in (body, b"\xef\xbb\xbf" + body):
        for as_base64 in (True, False):
            assert acme.send("POST", "/runs", form, as_base64=as_base64).status == 202


def test_a_body_that_is_not_what_it_is_marked_as(acme: Caller) -> None:
    """A broken event is the request's fault, not a defect of ours."""
    plain = acme.handler

    def marked(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return plain(event | {"isBase64Encoded": True}, context)

    assert Caller(marked, acme.key).post("/runs", HELLO).status == 400


def test_a_body_has_at_most_256_kib(acme: Caller) -> None:
    """Counted in bytes, not characters; large data is uploaded."""
    room = 256 * 1024 - len(json.dumps(HELLO | {"input": {"text": ""}}))
    fits = HELLO | {"input": {"text": "x" * room}}
    assert acme.post("/runs", fits).status == 202
    over = acme.post("/runs", HELLO | {"input": {"text": "x" * (room + 1)}})
    assert (413, "body_too_large") == (over.status, over.body["code"])
    wide = json.dumps(HELLO | {"input": {"text": "ü" * (room // 2 + 1)}}, ensure_ascii=False)
    assert acme.send("POST", "/runs", wide.encode()).status == 413


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"after": "-1"}, "/after"),
        ({"after": "x"}, "/after"),
        ({"after": "1,2"}, "/after"),
        ({"after": "٣"}, "/after"),
        ({"after": "1" * 11}, "/after"),
        ({"limit": "0"}, "/limit"),
        ({"limit": "1001"}, "/limit"),
        ({"wait": "21"}, "/wait"),
        ({"wait": "-1"}, "/wait"),
        ({"wait": "nan"}, "/wait"),
        ({"wait": ""}, "/wait"),
    ],
)
def test_a_wrong_parameter_is_named(service: Service, query: dict[str, str], pointer: str) -> None:
    """By a pointer, before the run is looked for."""
    holder = Holder("acme", "ada", frozenset())
    with pytest.raises(InvalidRequest) as caught:
        get_events(service, holder, Request({}, query), "run_1")
    assert [pointer] == [fault.pointer for fault in caught.value.faults]
