"""References to bytes that are too large for a checkpoint."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Artifact(BaseModel):
    """Bytes in the artifact store; `size` in bytes. Travels between steps as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ref: str
    name: str
    size: int
    content_type: str = "application/octet-stream"
