"""Run a tool in a test: a real context over memory."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from onward.domain.errors import InvalidInput
from onward.sandbox.job import MEMORY, TIMEOUT, Job
from onward.sandbox.run import Cell
from onward.sdk.artifact import Artifact
from onward.sdk.context import StepContext

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onward.domain.model import Json
    from onward.sdk.conversation import Model


@dataclass(slots=True)
class MemoryArtifacts:
    """Artifacts in a dictionary, with the store's rules."""

    held: dict[str, tuple[Artifact, bytes]] = field(default_factory=dict)

    def get(self, artifact: Artifact) -> bytes:
        """Return the bytes; raises InvalidInput when there are none."""
        if artifact.ref not in self.held:
            raise InvalidInput(f"there is no artifact {artifact.ref}")
        return self.held[artifact.ref][1]

    def put(self, name: str, body: bytes, content_type: str) -> Artifact:
        """Store under the content's hash."""
        return self._hold(f"art_{sha256(body).hexdigest()}", name, body, content_type)

    def put_first(self, key: str, name: str, body: bytes, content_type: str) -> Artifact:
        """Store under a key unless it is taken."""
        reference = f"pub_{sha256(f'{key}/{name}'.encode()).hexdigest()}"
        if reference in self.held:
            return self.held[reference][0]
        return self._hold(reference, name, body, content_type)

    def _hold(self, reference: str, name: str, body: bytes, content_type: str) -> Artifact:
        artifact = Artifact(ref=reference, name=name, size=len(body), content_type=content_type)
        self.held[reference] = (artifact, body)
        return artifact


@dataclass(slots=True)
class MemoryLog:
    """Keeps what was logged."""

    lines: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def info(self, message: str, /, **fields: object) -> None:
        """Keep a line."""
        self.lines.append((message, fields))

    def warning(self, message: str, /, **fields: object) -> None:
        """Keep a line."""
        self.lines.append((message, fields))


def sandbox(code: str, data: Json, *, timeout: float = TIMEOUT, memory: int = MEMORY) -> Json:
    """Run code in a real child process, as `run_sandbox` does."""
    return Cell().run(Job(code, data, timeout, memory)).result()


def context(
    *,
    step_id: str = "step",
    fence: int = 1,
    attempt: int | None = None,
    clock: Callable[[], float] = time.time,
    models: Sequence[Model] = (),
    drills: bool = False,
) -> StepContext:
    """Return a context whose artifacts and log live in memory, with a minute to go.

    Without another `attempt` as many tries were made as the fence says.
    """
    return StepContext(
        run_id="run_test",
        step_id=step_id,
        fence=fence,
        attempt=fence if attempt is None else attempt,
        idempotency_key=f"run_test/{step_id}/test",
        deadline=clock() + 60,
        artifacts=MemoryArtifacts(),
        log=MemoryLog(),
        clock=clock,
        report=lambda _fraction, _note: None,
        models=models,
        drills=drills,
        sandbox=sandbox,
    )
