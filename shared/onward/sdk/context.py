"""What a tool is given besides its input."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from onward.domain.errors import Fatal, InvalidInput
from onward.domain.limits import MAX_MESSAGE
from onward.domain.model import Usage, attempt_id
from onward.domain.text import plain
from onward.sandbox.job import MEMORY, TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onward.domain.model import Json
    from onward.sdk.artifact import Artifact
    from onward.sdk.conversation import Model


MAX_NAME: Final = 255
"""Bytes of an artifact's name, as file systems have it; S3 takes 2 KB, percent-encoded."""

MOST_TOKENS: Final = 10**12
"""Tokens of one call that are believed; a run's budget goes as far."""

_MEDIA_TYPE: Final = re.compile(
    r"[\w!#$&^.+-]{1,127}/[\w!#$&^.+-]{1,127}(; ?[\w.-]+=([\w.:+/-]+|\"[\w .:+/-]*\"))*", re.ASCII
)
"""RFC 9110, 8.3.1, without what nobody uses."""


class Artifacts(Protocol):
    """Where artifacts live. Implementations are bound to one tenant."""

    def get(self, artifact: Artifact) -> bytes:
        """Return the bytes; raises InvalidInput when there are none."""
        ...

    def put(self, name: str, body: bytes, content_type: str) -> Artifact:
        """Store under the content's hash: the same bytes have the same reference."""
        ...

    def put_first(self, key: str, name: str, body: bytes, content_type: str) -> Artifact:
        """Store under a key unless it is taken; return what the key holds."""
        ...


class Sandbox(Protocol):
    """Where code runs that nobody has read: it can compute, and nothing else."""

    def __call__(
        self, code: str, data: Json, *, timeout: float = TIMEOUT, memory: int = MEMORY
    ) -> Json:
        """Run Python source that defines `run(data)` and return what `run` returned.

        The code may import `onward.sdk.SANDBOX_MODULES`; there is no file, network, process
        or variable. `timeout` in seconds, at most 60; `memory` in MB, 64 to 512; the result at
        most 256 KB of JSON. Raises CodeFailed, an InvalidInput, with kind, line and message;
        InvalidInput for bounds or data that cannot be; SandboxUnavailable, a Transient.
        """
        ...


def no_sandbox(*_: object, **__: object) -> Json:
    """Stand where there is no sandbox; raises Fatal."""
    raise Fatal("this worker has no sandbox to run code in")


class Log(Protocol):
    """A structured logger; fields become JSON members. Never log a payload."""

    def info(self, message: str, /, **fields: object) -> None:
        """Write one line."""
        ...

    def warning(self, message: str, /, **fields: object) -> None:
        """Write one line that somebody should look at."""
        ...


@dataclass(slots=True)
class StepContext:
    """One attempt at a step.

    `attempt` counts the tries, from 1. `fence` orders them, and whatever was in between: it only
    grows, and may by more than one from a try to the next.
    `idempotency_key` is the same for every attempt of the same action; hand it, and `fence`,
    to whatever is written to. `deadline` is epoch seconds: the process ends one second later.
    `traceparent` and `tracestate` are the caller's span (W3C Trace Context), the same for every
    attempt of the run and empty where it came with none: hand them to whatever is called.
    `drills` tells whether this stack lets tools rehearse faults.
    """

    run_id: str
    step_id: str
    fence: int
    attempt: int
    idempotency_key: str
    deadline: float
    artifacts: Artifacts
    log: Log
    clock: Callable[[], float]
    report: Callable[[float, str], None]
    spent: Usage = field(default_factory=Usage)
    models: Sequence[Model] = ()
    sandbox: Sandbox = no_sandbox
    drills: bool = False
    traceparent: str = ""
    tracestate: str = ""
    _reported_at: float = 0.0

    @property
    def attempt_id(self) -> str:
        """The id of this try, made of its fence."""
        return attempt_id(self.step_id, self.fence)

    @property
    def model(self) -> Model | None:
        """The first of the language models set for this deployment; None when there is none."""
        return self.models[0] if self.models else None

    def remaining(self) -> float:
        """Return seconds until the deadline, never less than 0."""
        return max(0.0, self.deadline - self.clock())

    def progress(self, fraction: float, note: str = "") -> None:
        """Tell watchers how far this attempt is (0 to 1); at most one event a second.

        What is no such number counts as the nearest one, NaN as 0: it costs no step.
        """
        now = self.clock()
        if now - self._reported_at >= 1.0:
            self._reported_at = now
            self.report(_share(fraction), plain(note, MAX_MESSAGE))

    def usage(self, input_tokens: int, output_tokens: int, model: str = "") -> None:
        """Add what a model call cost; it is committed with the attempt's outcome.

        What is no number of tokens counts as none: a bill that makes no sense costs no step.
        """
        self.spent += Usage(_tokens(input_tokens), _tokens(output_tokens))
        if model:
            self.log.info("model call", model=plain(model, MAX_MESSAGE))

    def get_artifact(self, artifact: Artifact) -> bytes:
        """Return an artifact's bytes."""
        return self.artifacts.get(artifact)

    def put_artifact(
        self, name: str, body: bytes, content_type: str = "application/octet-stream"
    ) -> Artifact:
        """Store bytes under their hash; repeating it changes nothing.

        Raises InvalidInput for a name of no or more than 255 bytes, or no content type.
        """
        return self.artifacts.put(_name(name), body, _content_type(content_type))

    def publish_artifact(
        self, name: str, body: bytes, content_type: str = "application/octet-stream"
    ) -> Artifact:
        """Store bytes once per action: the first write wins, a repeat is told what it wrote.

        This is a native idempotent write: the receiver (S3, `If-None-Match: *`) honours the key.
        Raises InvalidInput as `put_artifact` does.
        """
        name, content_type = _name(name), _content_type(content_type)
        return self.artifacts.put_first(self.idempotency_key, name, body, content_type)


def _share(fraction: object) -> float:
    try:
        return min(1.0, max(0.0, float(fraction)))  # type: ignore[arg-type]
    except OverflowError:
        return 1.0
    except (TypeError, ValueError):
        return 0.0


def _tokens(counted: object) -> int:
    try:
        return min(MOST_TOKENS, max(0, int(counted)))  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return 0


def _name(given: object) -> str:
    name = plain(given) if isinstance(given, str) else ""
    if not 0 < len(name.encode()) <= MAX_NAME:
        raise InvalidInput(f"the name of an artifact is text of 1 to {MAX_NAME} bytes")
    return name


def _content_type(given: object) -> str:
    if not isinstance(given, str) or not _MEDIA_TYPE.fullmatch(given):
        raise InvalidInput(f"{plain(given)[:80]!r} is no content type, as text/plain is one")
    return given
