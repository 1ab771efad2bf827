"""Operators answer: for a write in doubt, and for a run that failed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from onward.app.driving.carry_out import carry_out
from onward.app.driving.wake_driver import signal
from onward.app.operating.audit import audited
from onward.app.payloads.store import keep
from onward.app.reading.read_run import find_run, is_expired
from onward.domain.effects import Effect
from onward.domain.errors import NotResumable, NotWaiting
from onward.domain.model import StepStatus
from onward.domain.protocol import Cancel, Resolve, Resume, Verdict
from onward.sdk.catalogue import load_tool
from onward.sdk.tools import ToolRefused
from onward.sdk.workflow import checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onward.app.driving.carry_out import Drive
    from onward.app.service import Service
    from onward.aws.audit import AuditEntry
    from onward.aws.tenants import Holder
    from onward.domain.model import Json, Payload, PlannedStep

COMMIT_SECONDS: Final = 10.0

_STOPPED: Final = frozenset(
    {StepStatus.FAILED, StepStatus.CANCELLED, StepStatus.NEEDS_RECONCILIATION}
)


def resolve_step(
    service: Service,
    holder: Holder,
    run_id: str,
    step_id: str,
    verdict: Verdict,
    said: Mapping[str, Json],
    comment: str = "",
) -> None:
    """Take an operator's word for a write in doubt, and wake the driver if its run goes on.

    A write that was applied needs no result where its worker put its receipt down, and is given
    the receipt whatever `result` is said. The audit entry is in the commit. Raises RunNotFound,
    InvalidRequest for a result that its tool does not declare, or NotWaiting when nobody asked.
    """
    tenant = holder.tenant
    if is_expired(find_run(service, tenant, run_id), service.clock()):
        raise NotWaiting("the run's log and checkpoints are kept no longer")
    result = None
    if verdict is Verdict.APPLIED:
        result = _result(service, tenant, run_id, step_id, said)
    command = Resolve(step_id, verdict, holder.subject, result)
    target = f"{run_id}/{step_id}"
    drive = _telling(service, audited(service, holder, f"step.{verdict}", target, comment))
    carry_out(drive, run_id, None, command, drive.clock() + COMMIT_SECONDS)
    signal(drive.reader, run_id, service.wake)


def resume_run(service: Service, holder: Holder, run_id: str, comment: str = "") -> None:
    """Let a failed run go on from its checkpoints, as a new generation.

    The commit takes back that its log and checkpoints would be gone some day, and has the audit
    entry. Raises RunNotFound, or NotResumable.
    """
    if is_expired(find_run(service, holder.tenant, run_id), service.clock()):
        raise NotResumable("its checkpoints are kept no longer; submit a new run")
    steps = [row for row in service.reader.steps(run_id) if row.status in _STOPPED]
    command = Resume(holder.subject, tuple(row.step_id for row in steps))
    drive = _telling(service, audited(service, holder, "run.resume", run_id, comment))
    carry_out(drive, run_id, None, command, drive.clock() + COMMIT_SECONDS)


def cancel_run(service: Service, holder: Holder, run_id: str, reason: str) -> None:
    """Cancel a run: what was not sent by this commit is never sent. Safe to repeat.

    The audit entry is in the commit, and a driver that sleeps is woken after it, at best. Raises
    RunNotFound, or AlreadyTerminal.
    """
    find_run(service, holder.tenant, run_id)
    drive = _telling(service, audited(service, holder, "run.cancel", run_id, reason))
    command = Cancel(holder.subject, reason)
    carry_out(drive, run_id, None, command, drive.clock() + COMMIT_SECONDS)
    with suppress(Exception):  # the patrol looks
        signal(drive.reader, run_id, service.wake)


def _telling(service: Service, entry: AuditEntry) -> Drive:
    """Return what commits, with an entry of the audit log in the same transaction."""
    drive = service.drive
    return replace(drive, store=drive.store.beside(service.audit.write(entry)))


def _result(
    service: Service, tenant: str, run_id: str, step_id: str, said: Mapping[str, Json]
) -> Payload | None:
    """Return an applied write's output as its tool declares it, where that is there.

    None: nobody says what it was, and the receipt is, if there is one when the answer counts.
    """
    given, result = "result" in said, said.get("result")
    rows = service.reader.rows(run_id, steps=[step_id], records=[(Effect, step_id)])
    row, effect = rows.steps[step_id], rows.of(Effect)[step_id]
    receipt = None if effect is None else effect.receipt
    if not given and receipt is not None and receipt.refused is None:
        return None
    if row is not None:
        planned = service.reader.rows(run_id, plan=[row.plan_key]).plan[row.plan_key]
        result = _as_declared(planned, result)
    if not given and result is None:
        return None
    return keep(service.blobs(tenant), run_id, result)


def _as_declared(planned: PlannedStep, result: Json) -> Json:
    """Check a result by its tool, as this deployment has it.

    The run may be of a version that had a tool which is no more; then the operator's word stands.
    """
    try:
        output = load_tool(planned.entry).output
    except (ImportError, AttributeError, ToolRefused):
        return result
    return checked(output, result, "/result")
