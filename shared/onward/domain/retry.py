"""The one retry budget: whether a failed attempt gets another, and when.

Three limits together: attempts of the step, retries of the run, and the run's deadline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from onward.domain.limits import MAX_WAIT

if TYPE_CHECKING:
    from onward.domain.model import Failure, Policy, Run


class Refusal(StrEnum):
    """Why a failed attempt is not tried again."""

    NOT_RETRYABLE = "not_retryable"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    RUN_RETRIES_EXHAUSTED = "run_retries_exhausted"
    DEADLINE = "deadline"
    RUN_FAILING = "run_failing"


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after this many seconds; `costs` one of the run's retries, or none."""

    delay: float
    costs: bool = True


def backoff(policy: Policy, tries: int, jitter: float) -> float:
    """Return seconds to wait after the given number of failed tries: full jitter.

    Full jitter as in "Exponential Backoff And Jitter" (AWS Architecture Blog): uniform in
    [0, min(cap, base * 2^(tries-1))).
    """
    ceiling = min(policy.backoff_cap, policy.backoff_base * 2.0 ** min(tries - 1, 30))
    return ceiling * jitter


def another(
    run: Run,
    policy: Policy,
    tries: int,
    failure: Failure,
    now: float,
    jitter: float,
    *,
    costs: bool = True,
) -> Retry | Refusal:
    """Decide on the attempt after `tries` failed ones (this one included).

    `costs` is false for a fault of infrastructure: neither the step's attempts nor the run's
    retries bound what never reached a tool, or was cut off with its execution; its deadline does.
    A provider's wish is kept up to a day: some send a date in seconds, and a run without a
    deadline would sleep for years.
    """
    if not failure.retryable:
        return Refusal.NOT_RETRYABLE
    if costs and tries >= policy.attempts:
        return Refusal.ATTEMPTS_EXHAUSTED
    if costs and run.retries_left <= 0:
        return Refusal.RUN_RETRIES_EXHAUSTED
    if failure.retry_after == math.inf:
        return Refusal.NOT_RETRYABLE
    asked = 0.0 if math.isnan(failure.retry_after) else min(failure.retry_after, MAX_WAIT)
    delay = max(asked, backoff(policy, tries, jitter))
    if run.deadline is not None and now + delay >= run.deadline:
        return Refusal.DEADLINE
    return Retry(delay, costs)
