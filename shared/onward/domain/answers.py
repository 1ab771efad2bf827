"""What a language model said when it was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onward.domain.model import Usage

if TYPE_CHECKING:
    from onward.domain.model import Json


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A model's answer as JSON, not yet checked against anything, and what it cost.

    `fault` says why there is none (it was cut off, or is no JSON); empty when there is one.
    """

    value: Json
    usage: Usage = field(default_factory=Usage)
    fault: str = ""
