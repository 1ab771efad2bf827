"""What a step of a workflow may wait for: a person, or a signal. A sleep is a step's own field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onward.domain.model import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Somebody approves the step's action, its tool and resolved input, before it is attempted.

    With `groups`, a key with the role `approver:<group>` of one of them; else any approver's.
    `expires`: seconds, or such as "15m", "2h", "3d"; then the step fails, or counts as rejected
    (`on_expiry`). An approver may change the input's `editable` members. `not_submitter`: whoever
    submitted the run may not approve it.
    """

    groups: Sequence[str] = ()
    expires: float | str | None = None
    on_expiry: Literal["fail", "reject"] = "fail"
    editable: Sequence[str] = ()
    not_submitter: bool = False

    def document(self) -> dict[str, Json]:
        """Return the approval as a plan's JSON has it."""
        found: dict[str, Json] = {}
        if self.groups:
            found["groups"] = list(self.groups)
        if self.expires is not None:
            found["expires"] = self.expires
        if self.on_expiry != "fail":
            found["on_expiry"] = self.on_expiry
        if self.editable:
            found["editable"] = list(self.editable)
        if self.not_submitter:
            found["not_submitter"] = True
        return found


@dataclass(frozen=True, slots=True)
class Signal:
    """A message from outside, by name and `key`: `POST /signals`. Its payload is the step's output.

    `key` tells signals of one name apart, an order's id for instance: a text or a `ref`. What is
    sent before the step waits is kept for it. `payload` is the type that it has to fit.
    """

    name: str
    key: Json
    payload: type | None = None

    def document(self) -> dict[str, Json]:
        """Return the signal as a plan's JSON has it."""
        found: dict[str, Json] = {"signal": self.name, "key": self.key}
        if self.payload is not None:
            found["schema"] = TypeAdapter(self.payload).json_schema()
        return found
