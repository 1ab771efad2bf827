"""Call an attempt's tool: decode, mark, probe where the outcome is unknown, call, encode, keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from onward.app.driving.checkpoints import action_version
from onward.app.driving.classify import MESSAGE_CHARACTERS, classify
from onward.app.driving.extend_plan import extend_plan
from onward.app.keep_trying import before_the_tool, keep_trying
from onward.app.payloads.store import keep, load
from onward.aws import codec
from onward.domain.effects import Effect
from onward.domain.errors import Conflict, InvalidOutput, NotBegun, OutcomeUnknown
from onward.domain.limits import SHORT_DELAY
from onward.domain.machine.ledger import proven
from onward.domain.model import Failure
from onward.domain.protocol import AttemptClosed, Complete, Fail

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel

    from onward.app.driving.carry_out import Drive
    from onward.domain.model import Json, Payload, PlannedStep, Step
    from onward.domain.plan import ToolSpec
    from onward.domain.protocol import Extension, View
    from onward.sdk.context import StepContext
    from onward.sdk.tools import Tool

T = TypeVar("T")


class AskedTooEarly(OutcomeUnknown):
    """An attempt was opened to ask a receiver that can't know yet; it is opened again later."""


class WorkerDied(BaseException):
    """The process ended here: what a rehearsal in one process raises; nothing catches it."""


@dataclass(slots=True)
class Call:
    """One attempt's call; `sends` turns true just before its write may leave the process."""

    drive: Drive
    view: View
    step: Step
    planned: PlannedStep
    context: StepContext
    request_id: str
    tools: Callable[[], Mapping[str, ToolSpec]]
    sends: bool = False
    reconciled: bool = False
    extension: Extension | None = None
    refused: str | None = None


def call_tool(call: Call) -> Complete | Fail:
    """Call the tool and turn whatever it does into a command.

    A write that returned was applied, also where its result cannot be kept: then its receipt says
    why, and shows what there is.

    Raises AttemptClosed when the attempt was taken over before it sent its write.
    """
    step, started_at = call.step, call.drive.clock()
    try:
        output = _kept(call, _returned(call))
    except (AttemptClosed, WorkerDied):
        raise
    except NotBegun as busy:
        return not_called(call.drive, step, Failure(NotBegun.code, str(busy)), started_at)
    except BaseException as error:  # noqa: BLE001 - a tool is the outside; it may call sys.exit
        return Fail(
            step_id=step.step_id,
            fence=step.fence,
            failure=classify(error, writes=call.sends, now=call.drive.clock()),
            called=not isinstance(error, AskedTooEarly),
            jitter=call.drive.chance(),
            usage=call.context.spent,
            started_at=started_at,
        )
    return Complete(
        step_id=step.step_id,
        fence=step.fence,
        output=output if call.refused is None else replace(output, refused=call.refused),
        usage=call.context.spent,
        started_at=started_at,
        reconciled=call.reconciled,
        extension=call.extension,
    )


def not_called(drive: Drive, step: Step, why: Failure, started_at: float) -> Fail:
    """Return what to commit of an attempt that called nothing."""
    jitter = drive.chance()
    return Fail(step.step_id, step.fence, why, jitter, started_at=started_at, called=False)


def _first(call: Call, work: Callable[[], T]) -> T:
    return before_the_tool(call.drive, call.context.deadline, work)


def _returned(call: Call) -> Json:
    from onward.sdk.catalogue import load_tool  # Pydantic stays off the cold path

    blobs = call.drive.blobs(call.view.run.tenant)
    value = _first(call, lambda: load(blobs, call.step.input))
    tool = load_tool(call.planned.entry)
    request = tool.request(value)
    version = action_version(call.planned.tool, value)
    call.context.idempotency_key = f"{call.context.run_id}/{call.step.step_id}/{version}"
    run = _write if call.planned.policy.writes else _run
    returned = run(call, tool, request)
    if call.planned.expands:
        call.extension = _extension(call, returned)
    return returned


def _extension(call: Call, returned: Json) -> Extension:
    """Write added steps ahead: a busy table is no reason to plan, and pay, again."""
    drive, run_id, tools = call.drive, call.context.run_id, call.tools()
    until = call.context.deadline
    return keep_trying(drive, until, lambda: extend_plan(drive, run_id, call.step, returned, tools))


def _kept(call: Call, returned: Json) -> Payload:
    """Put an output at rest, as often as it takes until the attempt's deadline.

    What was called has answered, and perhaps changed the world: a store that is busy is waited
    for, because to call it again costs more, or is not allowed.
    """
    blobs, until = call.drive.blobs(call.view.run.tenant), call.context.deadline
    return keep_trying(call.drive, until, lambda: keep(blobs, call.context.run_id, returned))


def _run(call: Call, tool: Tool, request: BaseModel) -> Json:
    return _round_trip(call, tool, tool(call.context, request))


def _write(call: Call, tool: Tool, request: BaseModel) -> Json:
    """Send a write, unless a receipt or a probe says that an earlier attempt's was applied."""
    doubtful = _doubtful(call)
    if doubtful is None:
        _mark(call, proof=None)
        return _run(call, tool, request)
    if doubtful.receipt is not None:
        call.reconciled, call.refused = True, doubtful.receipt.refused
        return load(call.drive.blobs(call.view.run.tenant), doubtful.receipt)
    call.context.idempotency_key = doubtful.key
    _wait_until_quiet(call, doubtful)
    found = _ask(call, tool, request)
    if found is not None:
        call.reconciled = True
        return found[0]
    proofs = doubtful.proofs + 1
    _mark(call, proof=(proven(doubtful.key, proofs), proofs))
    return _run(call, tool, request)


def _wait_until_quiet(call: Call, doubtful: Effect) -> None:
    """Ask no sooner than nothing that was sent can arrive any more, by this worker's clock too.

    Whoever opened the attempt says so by its own; two clocks that are wrong then have to agree.
    What is left is waited for if it is short. Raises AskedTooEarly, before anything is asked.
    """
    seconds = (doubtful.quiet_at or 0.0) - call.drive.clock()
    if seconds <= 0:
        return
    if seconds > min(SHORT_DELAY, call.context.remaining() / 2):
        raise AskedTooEarly(f"what was sent may still arrive for {seconds:.0f} s, by this clock")
    call.drive.sleep(seconds)


def _doubtful(call: Call) -> Effect | None:
    """Return the ledger row of an action that has to be probed before it is sent again."""
    if call.planned.policy.idempotency != "probe" or call.step.fence == 1:
        return None
    step_id = call.step.step_id
    reader, run_id = call.drive.reader, call.context.run_id
    effect = _first(call, lambda: reader.rows(run_id, records=[(Effect, step_id)])).of(Effect)[
        step_id
    ]
    call.view.of(Effect)[step_id] = effect
    return effect if effect is not None and effect.unknown_since is not None else None


def _ask(call: Call, tool: Tool, request: BaseModel) -> tuple[Json] | None:
    """Return the receipt of an applied write, boxed; None when it was not applied.

    Raises OutcomeUnknown when the probe is not sure: it is asked again later.
    """
    from onward.sdk.probe import Applied, NotApplied

    if tool.probe is None:
        raise OutcomeUnknown(f"{tool.name} has no probe in this version")
    found = tool.probe(call.context, request)
    if isinstance(found, Applied):
        return (_round_trip(call, tool, found.receipt),)
    if isinstance(found, NotApplied):
        return None
    raise OutcomeUnknown(getattr(found, "reason", "the probe said nothing"))


def _mark(call: Call, proof: tuple[str, int] | None) -> None:
    """Mark a write before it is sent; refused means: do not send.

    A mark whose fate nobody knows is made again, and found to be ours if it was there already.
    """
    drive, step, run_id = call.drive, call.step, call.context.run_id
    mark, store = (run_id, step.step_id, step.fence, call.request_id, drive.clock()), drive.store
    try:
        row = _first(
            call, lambda: store.mark_resent(*mark, proof) if proof else store.mark_sent(*mark)
        )
    except Conflict as refused:
        raise AttemptClosed(str(refused)) from refused
    effect = codec.read_effect(row)
    call.view.of(Effect)[step.step_id] = effect
    call.context.idempotency_key = effect.key
    call.sends = True


def _round_trip(call: Call, tool: Tool, returned: object) -> Json:
    """Return an output as a replay would see it; of a write's, at least what a person can see."""
    from onward.sdk.kept import salvaged

    try:
        return tool.round_trip(returned)
    except InvalidOutput as error:
        why = f"{tool.name} returned what cannot be kept: {error}"
        if not call.planned.policy.writes:
            raise InvalidOutput(why) from error
        call.refused = why[:MESSAGE_CHARACTERS]
        return salvaged(returned)
