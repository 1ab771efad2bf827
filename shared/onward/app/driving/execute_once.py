"""An invocation of an attempt, remembered: a repeated one gets the first one's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onward.app.driving.execute_step import begins_by, execute_step
from onward.app.keep_trying import keep_trying
from onward.aws.idempotency import table_is_busy

if TYPE_CHECKING:
    from onward.app.driving.execute_step import Attempt, Worker
    from onward.aws.idempotency import Once


def execute_once(worker: Worker, once: Once, attempt: Attempt) -> dict[str, Any]:
    """Execute an attempt, and return the driver's next move as a document.

    What guards it may be busy: before the tool is called that is waited out, until the attempt's
    time is up, and afterwards what was committed is the answer. Raises InFlight, NoAnswer (the
    tool was not called) and what `execute_step` raises.
    """
    key = f"{attempt.run_id}/{attempt.step_id}/{attempt.fence}"
    return keep_trying(
        worker.drive,
        begins_by(worker, attempt),
        lambda: once(key, lambda: dict(execute_step(worker, attempt).to_json())),
        passes=table_is_busy,
    )
