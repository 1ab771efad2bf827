"""Accept a run: one transaction, and from then on it ends or waits for somebody (G1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from onward.app.ids import ENTROPY_BYTES, new_run_id
from onward.app.payloads.store import keep
from onward.aws.tenants import SubmitKey, submit_key_item
from onward.domain.errors import Conflict, Contended
from onward.domain.machine import submit
from onward.domain.submission import Submission

if TYPE_CHECKING:
    from onward.app.service import Service
    from onward.app.submitting.run_request import RunRequest
    from onward.aws.tenants import Holder
    from onward.domain.model import Event, PlannedStep, Run
    from onward.domain.trace import Trace

KEY_SECONDS: Final = 86_400
"""How long an Idempotency-Key names its run."""

_TRIES: Final = 6
_BASE, _CAP = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class Accepted:
    """The rows of a new run."""

    run: Run
    submission: Submission
    plan: list[PlannedStep]
    event: Event


@dataclass(frozen=True, slots=True)
class KeyOfRequest:
    """An Idempotency-Key's hash and the digest of the body that it came with."""

    key: str
    digest: str


class KeyTaken(LookupError):
    """The Idempotency-Key has a run already; nothing was stored."""

    def __init__(self, held: SubmitKey) -> None:
        """Say what it made."""
        super().__init__(held.run_id)
        self.held = held


def submit_run(
    service: Service,
    holder: Holder,
    request: RunRequest,
    key: KeyOfRequest | None,
    trace: Trace | None = None,
) -> Accepted:
    """Store a new run; raises KeyTaken, or Contended when the store kept refusing.

    The key's row is written with the run's, so whoever comes second finds the run however the
    first caller ended. Every try writes the same rows under the same commit id: one that landed
    although its reply was lost is recognised, never repeated.
    """
    accepted = _rows(service, holder, request, trace)
    run_id = accepted.run.run_id
    row = None
    if key is not None:
        held = SubmitKey(run_id, key.digest, int(accepted.run.created_at) + KEY_SECONDS)
        row = submit_key_item(holder.tenant, key.key, held)
    for attempt in range(_TRIES):
        try:
            service.store.create(
                accepted.run, accepted.submission, accepted.plan, accepted.event, run_id, row
            )
        except Conflict:
            taken = key and service.tenants.submitted(holder.tenant, key.key, service.clock())
            if taken:
                raise KeyTaken(taken) from None
            service.sleep(min(_CAP, _BASE * 2**attempt) * service.chance())
        else:
            return accepted
    raise Contended("the store is busy; try again")


def _rows(service: Service, holder: Holder, request: RunRequest, trace: Trace | None) -> Accepted:
    now = service.clock()
    run, event = submit(
        run_id=new_run_id(now, service.entropy(ENTROPY_BYTES)),
        tenant=holder.tenant,
        workflow=request.workflow,
        worker=service.worker,
        plan=request.plan,
        now=now,
        deadline_seconds=request.deadline_seconds,
        retries=request.retries,
        tokens=request.tokens,
        trace=trace,
        limits=service.limits,
    )
    submission = Submission(
        input=keep(service.blobs(holder.tenant), run.run_id, request.input),
        labels=request.labels or {},
        subject=holder.subject,
    )
    return Accepted(run, submission, [request.plan.roots, *request.plan.steps], event)
