"""A tenant's artifacts, as tools see them."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from onward.aws.blobs import BlobMissing, hashed
from onward.domain.errors import InvalidInput

if TYPE_CHECKING:
    from onward.aws.blobs import Blob, Blobs
    from onward.sdk.artifact import Artifact


class TenantArtifacts:
    """What `StepContext.artifacts` is in a deployed function."""

    def __init__(self, blobs: Blobs) -> None:
        """Use one tenant's blobs."""
        self._blobs = blobs

    def get(self, artifact: Artifact) -> bytes:
        """Return the bytes; raises InvalidInput when there are none."""
        try:
            return self._blobs.get(artifact.ref)
        except BlobMissing as error:
            raise InvalidInput(
                f"there is no artifact {artifact.ref!r}; was {artifact.name!r} uploaded?"
            ) from error

    def put(self, name: str, body: bytes, content_type: str) -> Artifact:
        """Store under the content's hash."""
        return as_artifact(self._blobs.put(hashed("art", body), body, name, content_type))

    def put_first(self, key: str, name: str, body: bytes, content_type: str) -> Artifact:
        """Store under a key unless it is taken; return what the key holds."""
        ref = f"pub_{sha256(f'{key}/{name}'.encode()).hexdigest()}"
        return as_artifact(self._blobs.put_first(ref, body, name, content_type))


def as_artifact(blob: Blob) -> Artifact:
    """Return the reference that travels as JSON."""
    from onward.sdk.artifact import Artifact  # Pydantic stays off the cold path

    return Artifact(ref=blob.ref, name=blob.name, size=blob.size, content_type=blob.content_type)
