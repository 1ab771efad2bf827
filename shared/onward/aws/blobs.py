"""Bytes in S3: artifacts, uploads and large payloads. Every key starts with its tenant.

art_<sha256>   {tenant}/artifacts/<sha256>    content addressed, by tools
pub_<sha256>   {tenant}/published/<sha256>    first write wins under an idempotency key
upl_<id>       {tenant}/uploads/<id>          presigned, by clients; random, or of name and content
pay_<run>x<sha256>  {tenant}/payloads/<run>x<sha256>   a run's inputs and outputs over 4 KB

A payload is its run's own, whatever others hold the same: it goes when the run's log goes. Those
of before had no run in their names; they are read, and stay.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote

from botocore.exceptions import ClientError

from onward.domain.pages import is_page

if TYPE_CHECKING:
    from collections.abc import Callable

PRESIGNED_SECONDS: Final = 900

_PAGE: Final = "page"
_FOLDERS: Final = {
    "art": "artifacts",
    "pub": "published",
    "upl": "uploads",
    "pay": "payloads",
}
_ABSENT: Final = frozenset({"404", "NoSuchKey", "NotFound"})
_TAKEN: Final = frozenset({"PreconditionFailed", "412", "ConditionalRequestConflict"})


class NotDeleted(RuntimeError):
    """S3 answered that it did not delete an object."""


class BlobMissing(LookupError):
    """The tenant has no such blob."""


@dataclass(frozen=True, slots=True)
class Blob:
    """What a reference holds; `size` in bytes. `page`: it may be shown by a browser at once."""

    ref: str
    name: str
    size: int
    content_type: str
    page: bool = False


def hashed(kind: str, body: bytes) -> str:
    """Return the reference of content-addressed bytes."""
    return f"{kind}_{sha256(body).hexdigest()}"


def payload_of(run_id: str, body: bytes) -> str:
    """Return the reference of a run's payload: content-addressed, and found by its run."""
    return f"pay_{_owner(run_id)}{sha256(body).hexdigest()}"


def _owner(run_id: str) -> str:
    """Return what the names of a run's payloads begin with; no digit of a hash follows it."""
    return f"{run_id.removeprefix('run_').replace('_', '')}x"


def run_of(ref: str) -> str | None:
    """Return the run whose payload a reference names; None for what outlives runs."""
    kind, _, name = ref.partition("_")
    owner, own, _ = name.partition("x")
    return f"run_{owner}" if kind == "pay" and own else None


class Blobs:
    """One tenant's part of the artifacts bucket."""

    def __init__(self, client: Any, bucket: str, tenant: str) -> None:
        """Use a boto3 S3 client; nothing outside the tenant's prefix can be named."""
        self._client = client
        self._bucket = bucket
        self._tenant = tenant

    def key(self, ref: str) -> str:
        """Return the object key of a reference; raises BlobMissing for what is none."""
        kind, _, name = ref.partition("_")
        if kind not in _FOLDERS or not name.isalnum():
            raise BlobMissing(ref)
        return f"{self._tenant}/{_FOLDERS[kind]}/{name}"

    def get(self, ref: str) -> bytes:
        """Return the bytes."""
        try:
            answer = self._client.get_object(Bucket=self._bucket, Key=self.key(ref))
        except ClientError as error:
            raise _explained(error, ref) from error
        body: bytes = answer["Body"].read()
        return body

    def put(self, ref: str, body: bytes, name: str, content_type: str) -> Blob:
        """Store bytes under a reference made of their hash: repeating it changes nothing."""
        page = is_page(body, content_type)
        self._client.put_object(**self._object(ref, name, content_type, page=page), Body=body)
        return Blob(ref, name, len(body), content_type)

    def put_first(self, ref: str, body: bytes, name: str, content_type: str) -> Blob:
        """Store bytes unless the reference is taken; return what it holds.

        `If-None-Match: *` makes S3 itself the judge of which write came first.
        """
        stored = self._object(ref, name, content_type, page=is_page(body, content_type))
        try:
            self._client.put_object(**stored, Body=body, IfNoneMatch="*")
        except ClientError as error:
            if error.response["Error"]["Code"] not in _TAKEN:
                raise
            return self.head(ref)
        return Blob(ref, name, len(body), content_type)

    def delete_payloads(self, run_id: str, in_time: Callable[[], bool]) -> bool:
        """Delete a run's payloads, a thousand a call; False when the time was up before the last.

        Raises NotDeleted naming the first that S3 kept.
        """
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=f"{self._tenant}/{_FOLDERS['pay']}/{_owner(run_id)}"
        )
        for page in pages:
            found = [{"Key": each["Key"]} for each in page.get("Contents", [])]
            if not found:
                break
            if not in_time():
                return False
            told = self._client.delete_objects(
                Bucket=self._bucket, Delete={"Objects": found, "Quiet": True}
            )
            if kept := told.get("Errors", []):
                raise NotDeleted(f"{kept[0].get('Key')}: {kept[0].get('Code')}")
        return True

    def head(self, ref: str) -> Blob:
        """Return what a reference holds, without the bytes."""
        try:
            answer = self._client.head_object(Bucket=self._bucket, Key=self.key(ref))
        except ClientError as error:
            raise _explained(error, ref) from error
        told = answer.get("Metadata", {})
        # An upload's metadata is what its client says it is.
        page = told.get(_PAGE) == "1" and not ref.startswith("upl_")
        name, kind = unquote(told.get("name", "")), answer.get("ContentType", "")
        return Blob(ref, name, answer["ContentLength"], kind, page)

    def presign_put(self, blob: Blob, digest: str | None = None) -> tuple[str, dict[str, str]]:
        """Return a URL that takes a blob's bytes for 15 minutes, and the headers to send with them.

        The length is signed, and the SHA-256 (hex) where it is given: S3 refuses other bytes.
        The length is not among the headers, for browsers set it and let nobody else do so.
        """
        request = self._object(blob.ref, blob.name, blob.content_type)
        headers = {
            "content-type": blob.content_type,
            "x-amz-meta-name": request["Metadata"]["name"],
        }
        if digest is not None:
            request["ChecksumSHA256"] = b64encode(bytes.fromhex(digest)).decode()
            headers["x-amz-checksum-sha256"] = request["ChecksumSHA256"]
        url: str = self._client.generate_presigned_url(
            "put_object",
            Params=request | {"ContentLength": blob.size},
            ExpiresIn=PRESIGNED_SECONDS,
        )
        return url, headers

    def presign_get(self, blob: Blob) -> str:
        """Return a URL that gives the bytes for 15 minutes, under their name.

        A browser keeps them as a file: shown, they would be a page or script of the bucket's
        origin, whoever uploaded them. Pages that can do nothing are shown.
        """
        how = "inline" if blob.page else "attachment"
        url: str = self._client.generate_presigned_url(
            "get_object",
            Params={
                "Bucket": self._bucket,
                "Key": self.key(blob.ref),
                "ResponseContentType": blob.content_type,
                "ResponseContentDisposition": f"{how}; filename*=UTF-8''{quote(blob.name)}",
            },
            ExpiresIn=PRESIGNED_SECONDS,
        )
        return url

    def _object(
        self, ref: str, name: str, content_type: str, *, page: bool = False
    ) -> dict[str, Any]:
        return {
            "Bucket": self._bucket,
            "Key": self.key(ref),
            "ContentType": content_type,
            "Metadata": {"name": quote(name)} | ({_PAGE: "1"} if page else {}),
        }


def _explained(error: ClientError, ref: str) -> Exception:
    return BlobMissing(ref) if error.response["Error"]["Code"] in _ABSENT else error
