"""What a command may take off a run's budgets: nothing, where infrastructure is to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onward.domain.limits import MAX_FREEZES
from onward.domain.protocol import Fail, Recover, Resume

if TYPE_CHECKING:
    from onward.domain.protocol import Command, Outcome

SPENT = {"attempts_exhausted", "run_retries_exhausted"}


def check_budgets(command: Command, outcome: Outcome) -> None:
    """Only an attempt that failed, or died by itself, takes off a try and a retry, one of each."""
    if isinstance(command, Resume):
        return
    most = int(_counts(command, outcome))
    assert outcome.run.retries_left >= outcome.before.retries_left - most, command
    for old, new in outcome.steps:
        mine = isinstance(command, Fail | Recover) and new.step_id == command.step_id
        assert new.tries <= (old.tries if old else 0) + most * mine, command
    given_up = {event.data.get("not_retried_because") for event in outcome.events}
    assert most or not given_up & SPENT, command


def _counts(command: Command, outcome: Outcome) -> bool:
    """Whether a command says that a tool, or the process it ran in, failed."""
    if not isinstance(command, Fail | Recover) or not command.called:
        return False
    if isinstance(command, Fail) or not command.frozen:
        return isinstance(command, Fail) or command.costs
    rows = {new.step_id: old for old, new in outcome.steps}
    row = rows.get(command.step_id)
    return row is not None and row.freezes + 1 >= MAX_FREEZES
