"""JSON values at rest: in their row, or in the artifact store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onward.app.in_parallel import in_parallel
from onward.aws.blobs import payload_of
from onward.aws.codec import dumps
from onward.domain.limits import INLINE_BYTES
from onward.domain.model import Payload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onward.aws.blobs import Blobs
    from onward.domain.model import Json


class TooSlow(Exception):
    """The outputs that a step takes were not read within the time that there is."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, in epoch seconds, a sleep, and when reading has to be over."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    until: float


def keep(blobs: Blobs, run_id: str, value: Json) -> Payload:
    """Put a value of a run at rest, as `put_text` does."""
    return put_text(blobs, run_id, dumps(value))


def put_text(blobs: Blobs, run_id: str, text: str) -> Payload:
    """Put JSON at rest: in its row up to 4 KB, else under run and hash in the artifact store."""
    body = text.encode()
    if len(body) <= INLINE_BYTES:
        return Payload(text=text)
    blob = blobs.put(payload_of(run_id, body), body, "", "application/json")
    return Payload(ref=blob.ref, size=len(body))


def load(blobs: Blobs, payload: Payload | None) -> Json:
    """Return the value of a payload; nothing is null."""
    if payload is None:
        return None
    text = payload.text if payload.ref is None else blobs.get(payload.ref)
    value: Json = json.loads(text if text is not None else "null")
    return value


def load_all(
    blobs: Blobs, payloads: Sequence[Payload | None], clock: Clock | None = None
) -> list[Json]:
    """Return the values of payloads, read at once; raises TooSlow when the time is over."""

    def read(payload: Payload | None) -> Json:
        if clock is not None and payload is not None and clock.now() >= clock.until:
            raise TooSlow
        return load(blobs, payload)

    stored = [index for index, payload in enumerate(payloads) if payload and payload.ref]
    found = in_parallel(read, [payloads[index] for index in stored])
    values = dict(zip(stored, found, strict=True))
    return [
        values[index] if index in values else load(blobs, payload)
        for index, payload in enumerate(payloads)
    ]
