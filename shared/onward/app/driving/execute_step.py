"""Run one attempt: the only place where a tool runs."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from onward.app.driving.call_tool import Call, call_tool, not_called
from onward.app.driving.carry_out import COMMIT_MARGIN, carry_out, read_view
from onward.app.driving.classify import classify
from onward.app.driving.extend_plan import extend_plan
from onward.app.driving.wake_driver import signal
from onward.app.keep_trying import before_the_tool, keep_trying
from onward.app.payloads.artifacts import TenantArtifacts
from onward.app.payloads.store import load
from onward.aws.failures import may_pass
from onward.domain.effects import Effect
from onward.domain.errors import InvalidInput, Unavailable
from onward.domain.limits import BEGAN_LATE, TASK_GRACE
from onward.domain.model import Failure, attempt_id
from onward.domain.protocol import (
    AttemptClosed,
    Complete,
    Decision,
    Do,
    Fail,
    PartsMoved,
    Report,
    TakeReceipt,
)
from onward.sdk.context import StepContext, no_sandbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onward.app.driving.carry_out import Drive
    from onward.domain.model import Run, Step
    from onward.domain.plan import ToolSpec
    from onward.domain.protocol import View
    from onward.sdk.context import Log, Sandbox
    from onward.sdk.conversation import Model

OVERRUN: Final = 1.0
"""Seconds past its deadline after which an attempt's process ends itself."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the driver asked for: ids only, as in the decision. `timeout` is its task's."""

    run_id: str
    generation: int
    step_id: str
    fence: int
    plan_key: str
    timeout: int = 0

    @classmethod
    def of(cls, document: dict[str, Any]) -> Attempt:
        """Read a decision's document."""
        return cls(
            run_id=str(document["run_id"]),
            generation=int(document["generation"]),
            step_id=str(document["step_id"]),
            fence=int(document["fence"]),
            plan_key=str(document["plan_key"]),
            timeout=int(document.get("timeout", 0)),
        )


@dataclass(frozen=True, slots=True)
class Worker:
    """The process that runs attempts: `until` is when it is ended from outside (epoch s).

    `tools` is called when a step adds steps, and not before: it imports every workflow. `wake`
    answers the token of a parked driver.
    """

    drive: Drive
    log: Log
    request_id: str
    until: float
    end_process: Callable[[], None]
    tools: Callable[[], Mapping[str, ToolSpec]]
    models: Sequence[Model] = ()
    drills: bool = False
    sandbox: Sandbox = no_sandbox
    wake: Callable[[str], object] = lambda _token: False


def execute_step(worker: Worker, attempt: Attempt) -> Decision:
    """Run an open attempt's tool, commit what came of it, and return the driver's next move.

    Every error of the tool becomes a committed outcome. Raises only when nothing could be
    committed: AttemptClosed; NotBegun where our store was busy until the attempt's time was up;
    Contended or Unavailable where it was so after the tool was called. The driver then recovers.
    """
    drive = worker.drive
    view = before_the_tool(
        drive,
        begins_by(worker, attempt),
        lambda: read_view(drive, attempt.run_id, steps=[attempt.step_id], plan=[attempt.plan_key]),
    )
    run = view.run
    if run.generation != attempt.generation or run.status.ended:
        return Decision(attempt.run_id, attempt.generation, Do.STOP)
    step = view.steps[attempt.step_id]
    if step is None or step.fence != attempt.fence or attempt.step_id not in run.open:
        raise AttemptClosed(attempt_id(attempt.step_id, attempt.fence))
    return _commit(worker, view, step, _attempt(worker, attempt, view, step))


def begins_by(worker: Worker, attempt: Attempt) -> float:
    """Return when an attempt that is taken up now must have begun: its deadline, or thereabouts."""
    end = worker.until - COMMIT_MARGIN
    return min(end, worker.drive.clock() + attempt.timeout - TASK_GRACE) if attempt.timeout else end


def _commit(worker: Worker, view: View, step: Step, command: Complete | Fail) -> Decision:
    """Commit what came of an attempt; added steps are fitted to the run as often as it takes.

    The receipt of a write is put down as soon as the commit does not go through at once, and
    where it may not: whoever takes the attempt over then finds the outcome known (G4), and where
    it was given up already its step ends with the receipt. The driver gives the attempt up
    `TASK_GRACE` after its deadline, or after it began; so does this.
    """
    drive, run = worker.drive, view.run
    reuse = view if len(run.open) == 1 else None
    ends = max(command.started_at or 0.0, step.deadline or worker.until) + TASK_GRACE
    until = min(worker.until - COMMIT_MARGIN, ends)
    receipt = _Receipt(worker, view, command)
    while True:
        try:
            outcome = carry_out(
                drive, run.run_id, run.generation, command, until, reuse, receipt.put_down
            )
        except PartsMoved:
            command, reuse = _fitted(worker, run, step, command, until), None
        except Exception as error:
            receipt.end_doubt()
            if may_pass(error):
                raise Unavailable(f"nothing could be committed: {error}") from error
            raise
        else:
            if not outcome.changes:  # the run ended, or another generation drives it
                receipt.end_doubt()
            return outcome.decision


def _fitted(
    worker: Worker, run: Run, step: Step, command: Complete | Fail, until: float
) -> Complete | Fail:
    """Validate added steps against those that the run has by now; the tool is not called again."""
    if isinstance(command, Fail):
        return command
    drive, tools, at_rest = worker.drive, worker.tools(), command.output
    blobs = drive.blobs(run.tenant)
    output = keep_trying(drive, until, lambda: load(blobs, at_rest))
    try:
        extension = keep_trying(
            drive, until, lambda: extend_plan(drive, run.run_id, step, output, tools)
        )
    except InvalidInput as error:
        failure = classify(error, writes=False, now=drive.clock())
        return Fail(step.step_id, step.fence, failure, 0.0, command.usage, command.started_at)
    return replace(command, extension=extension)


def _attempt(worker: Worker, attempt: Attempt, view: View, step: Step) -> Complete | Fail:
    """Call the tool while a watch sees to it that the process does not outlive the attempt.

    An attempt that begins after its deadline calls nothing: others may count on its being over.
    """
    now = worker.drive.clock()
    if step.deadline is not None and now >= step.deadline:
        late = Failure(BEGAN_LATE, "the attempt began after its deadline")
        return not_called(worker.drive, step, late, now)
    watch = end_at_deadline(worker, step.deadline or worker.until)
    context = new_context(worker, attempt, view, step)
    planned = view.plan[attempt.plan_key]
    try:
        return call_tool(
            Call(
                drive=worker.drive,
                view=view,
                step=step,
                planned=planned,
                context=context,
                request_id=worker.request_id,
                tools=worker.tools,
            )
        )
    finally:
        watch.cancel()


def new_context(worker: Worker, attempt: Attempt, view: View, step: Step) -> StepContext:
    """Return what the tool of an attempt, or its probe, is handed."""
    drive, planned = worker.drive, view.plan[attempt.plan_key]
    return StepContext(
        run_id=attempt.run_id,
        step_id=attempt.step_id,
        fence=attempt.fence,
        attempt=step.attempt,
        idempotency_key="",
        deadline=step.deadline or drive.clock() + planned.policy.timeout,
        artifacts=TenantArtifacts(drive.blobs(view.run.tenant)),
        log=worker.log,
        clock=drive.clock,
        report=lambda fraction, note: _report(drive, attempt, fraction, note),
        models=worker.models,
        drills=worker.drills,
        sandbox=worker.sandbox,
        traceparent=view.run.traceparent,
        tracestate=view.run.tracestate,
    )


def _report(drive: Drive, attempt: Attempt, fraction: float, note: str) -> None:
    """Tell watchers, if that can be done at once; progress is not worth failing a step for.

    Nothing of it reaches the tool, which may have sent its write by now.
    """
    command = Report(attempt.step_id, attempt.fence, fraction, note)
    with suppress(Exception):
        carry_out(drive, attempt.run_id, attempt.generation, command, drive.clock() + 0.5)


def end_at_deadline(worker: Worker, deadline: float) -> threading.Timer:
    """End the process soon after the deadline: the driver must not wait for a hung tool."""
    now = worker.drive.clock()
    seconds = max(0.0, deadline + OVERRUN - now)
    watch = threading.Timer(min(seconds, max(0.0, worker.until - now)), worker.end_process)
    watch.daemon = True
    watch.start()
    return watch


@dataclass(slots=True)
class _Receipt:
    """What a finished write's receiver answered, until it is committed or put down."""

    worker: Worker
    view: View
    command: Complete | Fail
    down: bool = False

    def put_down(self, until: float = 0.0) -> None:
        """Put the receipt on its effect row, once, if this attempt was the last to send.

        A busy table is waited for until a time (epoch seconds).
        """
        command = self.command
        if self.down or isinstance(command, Fail) or not self.view.of(Effect).get(command.step_id):
            return
        with suppress(Exception):  # what was in the way of the commit is what there is to tell
            drive, run_id = self.worker.drive, self.view.run.run_id
            receipt = (run_id, command.step_id, command.fence, command.output)
            keep_trying(drive, until, lambda: drive.store.keep_receipt(*receipt))
            self.down = True

    def end_doubt(self) -> None:
        """Put the receipt down and end the step with it, if this attempt was given up.

        Nobody else comes back to it by himself: a person has been asked, or a probe is to ask. So
        a busy table is waited for as long as this process lives.
        """
        self.put_down(self.worker.until - OVERRUN)
        if not self.down:
            return
        drive, run_id = self.worker.drive, self.view.run.run_id
        with suppress(Exception):  # the patrol finds the receipt
            take = TakeReceipt(self.command.step_id)
            outcome = carry_out(drive, run_id, None, take, drive.clock() + COMMIT_MARGIN / 2)
            if outcome.changes:
                signal(drive.reader, run_id, self.worker.wake)
