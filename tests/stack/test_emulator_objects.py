"""What artifacts need of the emulator's object store."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from onward.aws.blobs import Blob, Blobs

from tests.stack.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with Sandbox(tmp_path_factory.mktemp("emulator")) as made:
        yield made


def test_a_link_signed_in_a_worker_works_outside(sandbox: Sandbox) -> None:
    """Version 4 signatures: those of version 2 are refused as soon as a header is overridden."""
    source = """
import boto3
from botocore.config import Config
def handler(event, context):
    client = boto3.client("s3", config=Config(signature_version="s3v4"))
    put, get = event["put"], event["get"]
    return [
        client.generate_presigned_url("put_object", Params=put),
        client.generate_presigned_url("get_object", Params=get),
    ]
"""
    sandbox.objects.create_bucket(Bucket="links")
    place = {"Bucket": "links", "Key": "a"}
    links = {"put": place, "get": place | {"ResponseContentType": "text/x"}}
    put, get = sandbox.invoke(sandbox.function(source), links)
    with urlopen(Request(put, data=b"body", method="PUT")) as answer:
        assert answer.status == 200
    with urlopen(get) as answer:
        assert (answer.read(), answer.headers["Content-Type"]) == (b"body", "text/x")


def test_the_first_of_two_writers_of_an_object_wins(sandbox: Sandbox) -> None:
    """`If-None-Match` refuses the second, which native write tools rely on."""
    sandbox.objects.create_bucket(Bucket="first")
    put = partial(sandbox.objects.put_object, Bucket="first", Key="a", IfNoneMatch="*")
    put(Body=b"first")

    with pytest.raises(ClientError, match="PreconditionFailed"):
        put(Body=b"second")
    assert sandbox.objects.get_object(Bucket="first", Key="a")["Body"].read() == b"first"


@pytest.mark.parametrize(
    ("body", "status"), [(b"body", 200), (b"BODY", 400), (b"bod", 403), (b"bodybody", 403)]
)
def test_an_upload_is_what_was_announced(sandbox: Sandbox, body: bytes, status: int) -> None:
    """Length and digest are signed, and what differs from them is refused, as S3 does."""
    sandbox.objects.create_bucket(Bucket=f"signed-{len(body)}-{status}")
    signer = boto3.client(
        "s3",
        endpoint_url=sandbox.objects.meta.endpoint_url,
        region_name=sandbox.objects.meta.region_name,
        aws_access_key_id="test",
        aws_secret_access_key=sandbox.secret_access_key,
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )
    blob = Blob("upl_1", "a.txt", 4, "text/plain")
    blobs = Blobs(signer, f"signed-{len(body)}-{status}", "acme")
    link, headers = blobs.presign_put(blob, sha256(b"body").hexdigest())

    assert status == httpx.put(link, content=body, headers=headers, trust_env=False).status_code
