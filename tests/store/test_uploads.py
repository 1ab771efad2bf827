from __future__ import annotations

from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from documents.page.html import page
from onward.app.payloads.artifacts import TenantArtifacts
from onward.app.service import Service
from onward.aws.blobs import Blobs

from tests.store.caller import Caller
from tests.store.conftest import BUCKET, caller, issue, new_client

HELLO: dict[str, Any] = {"workflow": "speak", "input": {"text": "hi"}}


def test_another_tenants_things_are_not_there(service: Service, acme: Caller) -> None:
    """404 for its runs, their events and its artifacts."""
    evil = caller(service, issue(service, "evil", "operator"))
    run_id = acme.post("/runs", HELLO).body["run_id"]
    ref = upload(acme, "a.txt", b"text")
    for path in (f"/runs/{run_id}", f"/runs/{run_id}/events", f"/artifacts/{ref}"):
        assert acme.get(path).status in {200, 302}
        assert evil.get(path).status == 404


def test_an_upload_is_named_and_comes_back(acme: Caller) -> None:
    """The reference carries what was said of the bytes; a redirect leads to them."""
    size = 3
    reply = acme.post("/uploads", {"name": "C:\\data\\Zürich 1.xlsx", "size": size})
    assert reply.status == 201
    artifact = reply.body["artifact"]
    assert ("Zürich 1.xlsx", size) == (artifact["name"], artifact["size"])
    assert artifact["content_type"].endswith("spreadsheetml.sheet")
    assert artifact["content_type"] == reply.body["headers"]["content-type"]
    assert acme.get(f"/artifacts/{artifact['ref']}").status == 404
    put(reply.body, b"abc")
    back = acme.get(f"/artifacts/{artifact['ref']}")
    assert (302, "no-store") == (back.status, back.headers["cache-control"])
    where = urlsplit(back.headers["location"])
    assert where.path.startswith(f"/{BUCKET}/acme/uploads/") or BUCKET in where.netloc
    shown = parse_qs(where.query)["response-content-disposition"]
    assert shown == ["attachment; filename*=UTF-8''Z%C3%BCrich%201.xlsx"]


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/name", "/size"]),
        ({"name": "../..", "size": 1}, ["/name"]),
        ({"name": "a\x00\n", "size": 1, "x": 1}, ["/x"]),
        ({"name": "é" * 128, "size": 1}, ["/name"]),
        ({"name": 1, "size": "1"}, ["/name", "/size"]),
        ({"name": "a", "size": -1}, ["/size"]),
        ({"name": "a", "size": 1024**3 + 1}, ["/size"]),
        ({"name": "a", "size": True}, ["/size"]),
        ({"name": "a", "size": 1, "sha256": "A" * 64}, ["/sha256"]),
        ({"name": "a", "size": 1, "sha256": 64}, ["/sha256"]),
        ({"name": "a", "size": 1, "a/b": 1}, ["/a~1b"]),
        ([], [""]),
    ],
)
def test_an_upload_is_bounded(acme: Caller, body: Any, pointers: list[str]) -> None:
    """Name and size are checked before there is a place."""
    reply = acme.post("/uploads", body)
    assert pointers == [fault["pointer"] for fault in reply.body["errors"]]


def test_the_same_file_has_the_same_reference(acme: Caller) -> None:
    """Made of name and content where the digest is given; else each upload has its own."""
    digest = sha256(b"abc").hexdigest()
    whole = {"name": "a.txt", "size": 3, "sha256": digest}
    bodies = [whole, whole, whole | {"name": "b.txt"}, whole | {"sha256": digest[::-1]}]
    bodies += [{"name": "a.txt", "size": 3}] * 2
    first, again, *others = [acme.post("/uploads", body).body["artifact"]["ref"] for body in bodies]
    assert first == again
    assert len({first, *others}) == 5


def test_only_the_announced_bytes_are_taken(acme: Caller) -> None:
    """Length and digest are signed: S3 refuses a PUT whose headers differ, or whose body does."""
    digest = sha256(b"abc").hexdigest()
    place = acme.post("/uploads", {"name": "a.txt", "size": 3, "sha256": digest}).body
    (signed,) = parse_qs(urlsplit(place["upload_url"]).query)["X-Amz-SignedHeaders"]
    assert {"content-length", "x-amz-checksum-sha256"} <= set(signed.split(";"))
    assert (
        "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
        == (place["headers"]["x-amz-checksum-sha256"])
    )


@pytest.mark.parametrize("ref", ["art_x", "nonsense", "art_..%2f..", "upl_", "x" * 3000])
def test_there_is_no_such_artifact(acme: Caller, ref: str) -> None:
    """Nor can a reference leave its tenant's folder."""
    reply = acme.get(f"/artifacts/{ref}")
    assert (404, "artifact_not_found") == (reply.status, reply.body["code"])


def upload(caller: Caller, name: str, body: bytes) -> str:
    place = caller.post("/uploads", {"name": name, "size": len(body)}).body
    put(place, body)
    return str(place["artifact"]["ref"])


def put(place: dict[str, Any], body: bytes) -> None:
    """Do what the presigned URL allows: store the object under its key, with its headers."""
    key = urlsplit(place["upload_url"]).path.lstrip("/").removeprefix(f"{BUCKET}/")
    new_client("s3").put_object(
        Bucket=BUCKET,
        Key=key,
        Body=body,
        ContentType=place["headers"]["content-type"],
        Metadata={"name": place["headers"]["x-amz-meta-name"]},
    )


def disposition(acme: Caller, ref: str) -> str:
    """How a browser is told to take an artifact."""
    query = parse_qs(urlsplit(acme.get(f"/artifacts/{ref}").headers["location"]).query)
    return query["response-content-disposition"][0].partition(";")[0]


PAGE = page("Report", "<p>All is well.</p>").encode()
HTML = "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("body", "content_type", "shown"),
    [
        (PAGE, HTML, "inline"),
        (PAGE, "text/html", "inline"),
        (b"<script>alert(1)</script>", HTML, "attachment"),
        (b"<script>alert(1)</script>" + PAGE, HTML, "attachment"),
        (PAGE.replace(b"default-src 'none'", b"default-src *"), HTML, "attachment"),
        (PAGE, "image/svg+xml", "attachment"),
        (PAGE, "text/html+evil", "attachment"),
        (b"{}", "application/json", "attachment"),
    ],
)
def test_only_a_page_that_can_do_nothing_is_shown(
    acme: Caller, blobs: Blobs, body: bytes, content_type: str, shown: str
) -> None:
    """A tool's as well, whatever it calls what it publishes; the rest is kept as a file."""
    stored = TenantArtifacts(blobs)
    refs = [
        stored.put("report.html", body, content_type).ref,
        stored.put_first("key", "report.html", body, content_type).ref,
    ]
    assert [shown, shown] == [disposition(acme, ref) for ref in refs]


def test_an_upload_is_never_shown(acme: Caller, blobs: Blobs) -> None:
    """Also if it is our own report, under its name, and says of itself that it is a page."""
    place = acme.post("/uploads", {"name": "report.html", "size": len(PAGE)}).body
    put(place, PAGE)
    ref = place["artifact"]["ref"]
    assert "attachment" == disposition(acme, ref)

    told = {"name": "report.html", "page": "1"}
    blobs._client.put_object(
        Bucket=BUCKET, Key=blobs.key(ref), Body=PAGE, ContentType=HTML, Metadata=told
    )
    assert "attachment" == disposition(acme, ref)


@pytest.mark.parametrize("path", ["/runs", "/openapi.json", "/nowhere", "/artifacts/upl_0"])
def test_no_answer_is_taken_for_a_page(acme: Caller, path: str) -> None:
    """Nothing in it is run, sniffed or framed, errors included."""
    headers = acme.get(path).headers
    assert "nosniff" == headers["x-content-type-options"]
    assert headers["content-security-policy"].startswith("default-src 'none'")
