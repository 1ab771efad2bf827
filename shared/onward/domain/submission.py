"""What was asked for when a run was submitted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onward.domain.model import Payload


@dataclass(frozen=True, slots=True)
class Submission:
    """What was asked for; immutable, beside the run row so that the row stays small."""

    input: Payload
    labels: dict[str, str] = field(default_factory=dict)
    subject: str = ""
