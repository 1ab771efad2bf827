"""Artifacts of a tenant: where to put bytes, and where to get them."""

from __future__ import annotations

import unicodedata
from hashlib import sha256
from mimetypes import MimeTypes
from typing import TYPE_CHECKING, Any, Final

from onward.app.payloads.artifacts import as_artifact
from onward.app.reading.read_run import is_expired
from onward.aws.blobs import Blob, BlobMissing, run_of
from onward.domain.errors import ArtifactNotFound

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.documents.runs import UploadPlace

MAX_SIZE: Final = 1024**3
"""Bytes of one upload; S3 takes 5 GiB in one PUT, a worker's disk less."""

MAX_NAME: Final = 255
"""Bytes of a file name, as file systems have it; S3 metadata takes 2 KB, percent-encoded."""

_ID_BYTES: Final = 16
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"


def _types() -> MimeTypes:
    """Return the library's own table, the same on every machine, and what it lacks."""
    types = MimeTypes()
    for extension, kind in {
        ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
        ".docx": f"{_OFFICE}.wordprocessingml.document",
        ".pptx": f"{_OFFICE}.presentationml.presentation",
        ".md": "text/markdown",
        ".parquet": "application/vnd.apache.parquet",
    }.items():
        types.add_type(kind, extension)
    return types


_TYPES: Final = _types()


def place_upload(
    service: Service, tenant: str, name: str, size: int, digest: str | None
) -> UploadPlace:
    """Return where to PUT the bytes within 15 minutes, the headers to send, and the reference.

    With the content's SHA-256 the reference is made of it and of the name: who uploads the same
    file again gets the same reference, so a submission under the same Idempotency-Key has the
    same body. S3 checks the digest, so nothing else can be stored under it.
    """
    content_type = _TYPES.guess_type(name)[0] or "application/octet-stream"
    blob = Blob(_ref(service, name, digest), name, size, content_type)
    url, headers = service.blobs(tenant).presign_put(blob, digest)
    artifact: Any = as_artifact(blob).model_dump(mode="json")
    return {"upload_url": url, "headers": headers, "artifact": artifact}


def _ref(service: Service, name: str, digest: str | None) -> str:
    if digest is None:
        return f"upl_{service.entropy(_ID_BYTES).hex()}"
    return f"upl_{sha256(f'{digest}/{name}'.encode()).hexdigest()}"


def locate_artifact(service: Service, tenant: str, ref: str) -> str:
    """Return an address that gives the bytes for 15 minutes; raises ArtifactNotFound."""
    if (owner := run_of(ref)) and _is_gone(service, tenant, owner):
        raise ArtifactNotFound("its run's log is over, and its payloads with it")
    blobs = service.blobs(tenant)
    try:
        return blobs.presign_get(blobs.head(ref))
    except BlobMissing as missing:
        raise ArtifactNotFound("there is no such artifact") from missing


def _is_gone(service: Service, tenant: str, run_id: str) -> bool:
    """Whether a run's log is over, whose payloads are then as good as deleted."""
    run = service.reader.run(run_id)
    return run is None or run.tenant != tenant or is_expired(run, service.clock())


def file_name(given: str) -> str:
    """Return the last part of a path without control characters; raises ValueError."""
    last = given.replace("\\", "/").rsplit("/", 1)[-1]
    shown = "".join(c for c in last if unicodedata.category(c)[0] != "C")
    kept = unicodedata.normalize("NFC", shown).strip()
    if shown.strip(". ") == "" or len(kept.encode()) > MAX_NAME:
        raise ValueError
    return kept
