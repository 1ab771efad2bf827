"""What a caller's trace is called, as it came with the request: W3C Trace Context, level 1.

A header that is malformed is ignored, and the request is taken without a trace: tracing must not
fail what is traced (Trace Context, 3.2 and 3.3). Source: https://www.w3.org/TR/trace-context/
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from onward.domain.model import Run

MAX_STATE: Final = 512
"""Characters of `tracestate` that are kept: at least so many have to be handed on (3.3.1.5)."""

_MAX_MEMBERS: Final = 32
_LONG_MEMBER: Final = 128
"""Characters of an entry from which on it goes first where not all fit (3.3.1.5)."""

_PARENT: Final = re.compile(
    r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    r"(?P<more>-.*)?",
    re.ASCII,
)
_KEY: Final = r"[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13}"
_MEMBER: Final = re.compile(rf"(?P<key>{_KEY})=[ -+\--<>-~]{{0,255}}[!-+\--<>-~]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Trace:
    """The span that asked for a run: `parent` of version 00, and its vendors' `state`."""

    parent: str
    state: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What a request carries that belongs to the trace.

        A CloudEvent carries the same as attributes (its Distributed Tracing extension).
        """
        state = {"tracestate": self.state} if self.state else {}
        return {"traceparent": self.parent} | state


def trace_of(run: Run) -> dict[str, str]:
    """Return what a request about a run carries of its trace; nothing where it has none."""
    return Trace(run.traceparent, run.tracestate).headers if run.traceparent else {}


def read_trace(parent: str | None, state: str | None) -> Trace | None:
    """Return the trace that two headers name; None where the first is absent or malformed.

    A later version than 00 is read as far as 00 goes and handed on as 00 (3.2.4). The state alone
    is dropped where only it is malformed, and shortened by whole entries where it is too long.
    """
    found = _PARENT.fullmatch((parent or "").strip(" \t"))
    if found is None or found["version"] == "ff":
        return None
    if found["version"] == "00" and found["more"]:
        return None
    if not found["trace"].strip("0") or not found["span"].strip("0"):
        return None
    return Trace(f"00-{found['trace']}-{found['span']}-{found['flags']}", _state(state or ""))


def _state(header: str) -> str:
    """Return the entries of a `tracestate`, newest first; nothing where it is malformed."""
    members = [member for part in header.split(",") if (member := part.strip(" \t"))]
    found = [_MEMBER.fullmatch(member) for member in members]
    keys = {match["key"] for match in found if match}
    if len(members) > _MAX_MEMBERS or len(keys) < len(members):
        return ""
    while len(",".join(members)) > MAX_STATE:
        # The oldest of the long ones first, then the oldest: both stand at the end.
        long = [at for at, member in enumerate(members) if len(member) > _LONG_MEMBER]
        del members[long[-1] if long else -1]
    return ",".join(members)
