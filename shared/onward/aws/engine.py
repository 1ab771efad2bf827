"""Step Functions: start the driver, ask how an execution is, signal a parked one."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from onward.aws.codec import dumps

_CUT: Final = frozenset({"ABORTED", "TIMED_OUT"})

_HISTORY_FULL: Final = "maximum number of history events"
"""In the cause of `States.Runtime`, with which an execution is ended at 25,000 events."""


class Execution(StrEnum):
    """How an execution is, as far as a run needs to know.

    CLOSED ended by itself. CUT did not: it was stopped, or its history was full of what Lambda had
    refused, which says nothing of whether its run can be driven.
    """

    STARTED = "started"
    ALIVE = "alive"
    CLOSED = "closed"
    CUT = "cut"
    ABSENT = "absent"

    @property
    def over(self) -> bool:
        """Whether it drives no more."""
        return self in {Execution.CLOSED, Execution.CUT}


class Engine:
    """The driver's executions; one a run and generation, found by name."""

    def __init__(self, client: Any, driver_arn: str) -> None:
        """Use a boto3 Step Functions client and the state machine's ARN."""
        self._client = client
        self.driver_arn = driver_arn

    def start(self, run_id: str, generation: int) -> Execution:
        """Start a generation, or tell what became of it.

        The name makes a second start of the same generation harmless: while it runs AWS answers
        with the running execution, and for 90 days after its end with ExecutionAlreadyExists.
        """
        name = f"{run_id}-{generation}"
        try:
            self._client.start_execution(
                stateMachineArn=self.driver_arn,
                name=name,
                input=dumps({"run_id": run_id, "generation": generation}),
            )
        except self._client.exceptions.ExecutionAlreadyExists:
            return self.state(run_id, generation)
        return Execution.STARTED

    def state(self, run_id: str, generation: int) -> Execution:
        """Tell whether a generation's execution is alive; ABSENT when there never was one."""
        try:
            found = self._client.describe_execution(executionArn=self._arn(run_id, generation))
        except self._client.exceptions.ExecutionDoesNotExist:
            return Execution.ABSENT
        if found["status"] == "RUNNING":
            return Execution.ALIVE
        cut = found["status"] in _CUT or _HISTORY_FULL in found.get("cause", "")
        return Execution.CUT if cut else Execution.CLOSED

    def stop(self, run_id: str, generation: int) -> None:
        """Abort a generation's execution; one that has ended stays as it ended."""
        self._client.stop_execution(executionArn=self._arn(run_id, generation), error="overdue")

    def _arn(self, run_id: str, generation: int) -> str:
        machine = self.driver_arn.replace(":stateMachine:", ":execution:")
        return f"{machine}:{run_id}-{generation}"


def answer_token(client: Any, token: str) -> bool:
    """Wake a parked driver; False when the token was settled already or timed out."""
    try:
        client.send_task_success(taskToken=token, output="{}")
    except (client.exceptions.TaskTimedOut, client.exceptions.TaskDoesNotExist):
        return False
    except client.exceptions.InvalidToken:
        return False
    return True
