"""What the command line is given: UTF-8 and JSON, or one line that says what is wrong and where."""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from onward.cli import app
from onward.client import AsyncOnward, Onward, Unsendable
from typer.testing import CliRunner

from tests.unit.scripted_api import ScriptedApi, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

ARTIFACT = {"ref": "upl_1", "name": "x", "size": 1, "content_type": "text/plain"}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedApi]:
    for api in serve():
        monkeypatch.setenv("ONWARD_API_URL", api.url)
        monkeypatch.setenv("ONWARD_API_KEY", "ow_dev_key")
        api.routes["POST /runs"] = (202, {"run_id": "run_1", "status": "queued"})
        api.routes["POST /runs/run_1/steps/pay/resolution"] = (200, {"status": "queued"})
        yield api


def onward(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


TEXT = '{"name": "Müller"}'
UNREADABLE = [
    ('{"a":1,\n "name": "Müller"}'.encode("latin-1"), "is not UTF-8 at byte 19, line 2, column 12"),
    (TEXT.encode("utf-16"), "is UTF-16; save it as UTF-8"),
    (TEXT.encode("utf-16-le"), "is not UTF-8 (UTF-16 without a mark?)"),
    (TEXT.encode("utf-16-be"), "is not UTF-8 (UTF-16 without a mark?)"),
    (TEXT.encode("utf-32"), "is UTF-32; save it as UTF-8"),
    (b"", "is not JSON: Expecting value: line 1 column 1"),
    (b'{"name": NaN}', "is not JSON: NaN is no JSON number"),
    (b'{"name": -Infinity}', "is not JSON: -Infinity is no JSON number"),
    (b'{"name": 1e999}', "is not JSON: /name: a number is too large"),
    (b'{"name": ' + b"7" * 5000 + b"}", "is not JSON: a number is too large"),
    (b'{"name": "\\ud800"}', "is not JSON: /name: a lone surrogate"),
    (b'{"\\udfff": 1}', "is not JSON: the value: the key '\xef\xbf\xbd' is no text"),
    (b'{"name": 1, "name": 2}', "is not JSON: the member 'name' is there twice"),
    (b"[" * 100_000, "is nested too deeply"),
]


def assert_refused(done: Result, said: str) -> None:
    assert 2 == done.exit_code, done.output
    assert said in done.stderr
    assert 1 == len(done.stderr.splitlines())
    assert "" == done.stdout


@pytest.mark.parametrize("option", ["--input", "--plan", "--result"])
@pytest.mark.parametrize(("body", "said"), UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_json_in_utf8_is_one_line_and_exit_2(
    api: ScriptedApi, tmp_path: Path, option: str, body: bytes, said: str
) -> None:
    """Wherever JSON is read from a file; nothing is sent."""
    (tmp_path / "x.json").write_bytes(body)
    given = {
        "--input": ("run", "hello", "--input"),
        "--plan": ("run", "--plan"),
        "--result": ("resolve", "run_1", "pay", "applied", "--result"),
    }[option]

    done = onward(*given, f"@{tmp_path / 'x.json'}")

    words = said.encode("latin-1").decode() if "\xef" in said else said
    assert_refused(done, f"{option} {tmp_path / 'x.json'} {words}")
    assert [] == api.asked


@pytest.mark.parametrize("given", ['{"name": NaN}', '{"name": 1e999}', '{"name": "\\ud800"}'])
def test_so_it_is_on_the_command_line(api: ScriptedApi, given: str) -> None:
    """Said as the API says it."""
    assert_refused(onward("run", "hello", "--input", given), "--input is not JSON: ")
    assert [] == api.asked


def test_an_argument_that_is_no_utf8_is_refused(api: ScriptedApi) -> None:
    """The system hands its bytes on as lone surrogates."""
    given = os.fsdecode(b'{"name": "M\xfcller"}')
    assert_refused(onward("run", "hello", "--input", given), "/name: a lone surrogate")
    assert [] == api.asked


def test_a_byte_order_mark_is_taken(api: ScriptedApi, tmp_path: Path) -> None:
    """Windows writes one; the API takes it too."""
    (tmp_path / "bom.json").write_bytes(TEXT.encode("utf-8-sig"))

    assert 0 == onward("run", "hello", "--input", f"@{tmp_path / 'bom.json'}").exit_code
    assert {"name": "Müller"} == api.asked[-1].json()["input"]


def test_a_file_whose_name_is_no_utf8_is_uploaded(api: ScriptedApi, tmp_path: Path) -> None:
    """With a replacement sign in its name."""
    path = os.fsdecode(os.fsencode(tmp_path) + b"/M\xfcller.txt")
    with open(path, "wb") as file:  # noqa: PTH123 - as the shell names it
        file.write(b"x")
    place = {"upload_url": f"{api.url}/store", "headers": {}, "artifact": ARTIFACT}
    api.routes |= {"POST /uploads": (200, place), "PUT /store": (200, {})}

    done = onward("run", "hello", "--file", f"file={path}")

    assert 0 == done.exit_code, done.output
    assert "M\ufffdller.txt" == api.asked[0].json()["name"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"file=/nowhere/M\xfcller.txt", "cannot read /nowhere/M\ufffdller.txt: No such file"),
        (b"f\xfcld=/x", "--file f\ufffdld=/x: the field is not UTF-8"),
        (b"M\xfcller", "--file M\ufffdller: write it as field=path"),
    ],
)
def test_a_name_that_is_no_utf8_can_be_complained_of(
    api: ScriptedApi, given: bytes, said: str
) -> None:
    """In one line."""
    assert_refused(onward("run", "hello", "--file", os.fsdecode(given)), said)
    assert [] == api.asked


UNSENDABLE: list[tuple[Any, str]] = [
    ({"name": math.nan}, "/input/name: NaN is no JSON number"),
    ({"a": [1, math.inf]}, "/input/a/1: a number is too large"),
    ({"name": "\ud800"}, "/input/name: a lone surrogate"),
    ({"a/b": {"\ud800": 1}}, "/input/a~1b: the key '\ufffd' is no text"),
    ({"at": object()}, "/input/at: a object is none"),
    ({"raw": b"x"}, "/input/raw: a bytes is none"),
]


@pytest.mark.parametrize(("value", "said"), UNSENDABLE, ids=range(len(UNSENDABLE)))
def test_the_client_says_what_it_cannot_send(value: Any, said: str) -> None:
    """By its own error and the place, before anything is sent."""

    def nobody(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request)

    with Onward("http://127.0.0.1:9", "k", transport=httpx.MockTransport(nobody)) as client:
        with pytest.raises(Unsendable) as refused:
            client.submit("hello", value)
        assert said in str(refused.value)


@pytest.mark.parametrize("given", ["caf\ud800", "a\nb"])
def test_nor_a_key_or_a_run_that_http_cannot_carry(given: str) -> None:
    """Headers and paths have less room than JSON."""
    nowhere = httpx.MockTransport(lambda _: httpx.Response(404, json={}))
    with Onward("http://127.0.0.1:9", "k", transport=nowhere) as client:
        if "\n" not in given:
            with pytest.raises(Unsendable):
                client.submit("hello", {}, key=given)
            with pytest.raises(Unsendable):
                client.get(given)


async def _submitted(value: Any) -> None:
    nobody = httpx.MockTransport(lambda _: httpx.Response(202, json={"run_id": "r"}))
    async with AsyncOnward("http://127.0.0.1:9", "k", transport=nobody) as client:
        await client.submit("hello", value)


def test_the_client_for_asyncio_does_so_too() -> None:
    """They share what encodes."""
    import asyncio

    asyncio.run(_submitted({"name": "ok"}))
    with pytest.raises(Unsendable, match="/input/name: NaN"):
        asyncio.run(_submitted({"name": math.nan}))


def test_what_is_sent_is_utf8(api: ScriptedApi) -> None:
    """As it was written, and marked as JSON."""
    assert 0 == onward("run", "hello", "--input", TEXT).exit_code
    assert "Müller".encode() in api.asked[-1].body
    assert "application/json" == api.asked[-1].headers["Content-Type"]
    assert {"name": "Müller"} == json.loads(api.asked[-1].body)["input"]
