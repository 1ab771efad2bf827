"""The receiver of a webhook is down: three tries, a dead letter, an alarm; then it is mended."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from infra.local.drills.finding import claims
from infra.local.drills.hooks import ENDS, alarm, heard, listening, strange, synced
from infra.local.subscriber import Told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Finding
    from infra.local.drills.stage import Stage

NAME: Final = "endpoint-down"

_PATIENCE: Final = 120.0
_DEAD: Final = "NotifyDeadUrl"


def rehearse(stage: Stage) -> Iterator[Finding]:
    """Nothing is dropped: the letter lies there and rings until it is redriven."""
    with listening(stage) as subscriber:
        stage.onward.redrive()
        stage.wait(lambda: alarm(stage, _DEAD) == "OK", "no alarm rings", _PATIENCE)
        subscriber.answer = lambda _number, _event: Told(HTTPStatus.SERVICE_UNAVAILABLE)
        refund = stage.submit()
        stage.finish(refund)
        stage.wait(lambda: alarm(stage, _DEAD) == "ALARM", "the alarm rings", _PATIENCE)
        first = [a for a in subscriber.arrivals if a.sequence == 1]
        rows = stage.onward.deliveries(run_id=refund.run_id)
        state, tries = (rows[0]["state"], rows[0]["attempts"]) if rows else ("not kept", 0)
        during = stage.onward.get(refund.run_id)["sync_status"]
        subscriber.answer = lambda _number, _event: Told()
        stage.onward.redrive()
        stage.wait(lambda: synced(stage, refund), "the end is heard", _PATIENCE)
        stage.wait(lambda: _quiet(stage), "the alarm goes back to OK", _PATIENCE)
        watched = stage.watched(refund)
        told = heard(subscriber, refund)
        broken = claims(
            [
                (len(first) >= 3, f"{len(first)} tries"),
                (state == "dead", f"the delivery was {state}"),
                (during == "pending", f"the snapshot said {during}"),
                (tuple(told) == ENDS, f"the receiver heard {told}"),
                (not stage.onward.deliveries(state="dead"), "a dead delivery is left"),
            ]
        )
        notes = [f"{tries} tries, dead letter, alarm, redrive, {', '.join(told)}"]
        yield stage.judge(NAME, "", watched, [*broken, *strange(subscriber)], notes)


def _quiet(stage: Stage) -> bool:
    """Whether the alarm is off; a wake-up that was on its last try may come after the redrive."""
    if alarm(stage, _DEAD) == "OK":
        return True
    stage.onward.redrive()
    return False
