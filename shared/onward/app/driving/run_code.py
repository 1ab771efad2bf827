"""Run code that nobody has read, where it can do no harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.aws.functions import FunctionFailed
from onward.domain.errors import SandboxUnavailable
from onward.sandbox.job import MEMORY, TIMEOUT, Job
from onward.sandbox.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.domain.model import Json
    from onward.sandbox.run import Cell


def run_code(cell: Cell, document: Mapping[str, Json]) -> Verdict:
    """Run a job's document; raises InvalidInput for one out of bounds, SandboxUnavailable."""
    return cell.run(Job.of(document))


class RemoteSandbox:
    """What `StepContext.sandbox` is in a deployed function: `run_sandbox`, invoked."""

    def __init__(self, invoke: Callable[[Mapping[str, Json]], dict[str, Any]]) -> None:
        """Use what invokes the function."""
        self._invoke = invoke

    def __call__(
        self, code: str, data: Json, *, timeout: float = TIMEOUT, memory: int = MEMORY
    ) -> Json:
        """Run code there; the port `Sandbox` says what it returns and raises."""
        job = Job(code, data, timeout, memory)
        try:
            answer = self._invoke(job.to_json())
        except FunctionFailed as error:
            raise SandboxUnavailable(f"the sandbox did not answer: {error}") from error
        return Verdict.of(answer).result()
