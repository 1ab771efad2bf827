"""The retry budget: attempts of the step, retries of the run, its deadline."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onward.domain.model import Failure, Policy
from onward.domain.retry import Refusal, Retry, another, backoff

from tests.builders import NOW, chain, store_of

POLICY = Policy(attempts=4, backoff_base=1.0, backoff_cap=8.0)
FLAKY = Failure("transient", "flaky", retryable=True)
RUN = store_of(chain(1), deadline_seconds=100).run


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True))
def test_back_off_is_uniform_below_a_doubling_ceiling(tries: int, jitter: float) -> None:
    """Full jitter: at least 0, below base * 2^(tries-1), never above the cap."""
    ceiling = min(8.0, 1.0 * 2 ** min(tries - 1, 30))
    assert 0 <= backoff(POLICY, tries, jitter) < ceiling


@pytest.mark.parametrize(("tries", "expected"), [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (5, 4.0)])
def test_the_middle_of_the_jitter_doubles_up_to_the_cap(tries: int, expected: float) -> None:
    """1, 2, 4, 8, 8 seconds are the ceilings."""
    assert expected == backoff(POLICY, tries, 0.5)


@pytest.mark.parametrize(
    ("tries", "failure", "changes", "expected"),
    [
        (1, FLAKY, {}, Retry(0.5)),
        (3, FLAKY, {}, Retry(2.0)),
        (4, FLAKY, {}, Refusal.ATTEMPTS_EXHAUSTED),
        (1, FLAKY, {"retries_left": 0}, Refusal.RUN_RETRIES_EXHAUSTED),
        (1, FLAKY, {"deadline": NOW + 0.5}, Refusal.DEADLINE),
        (1, FLAKY, {"deadline": NOW + 0.6}, Retry(0.5)),
        (1, replace(FLAKY, retryable=False), {}, Refusal.NOT_RETRYABLE),
        (1, replace(FLAKY, retry_after=30.0), {}, Retry(30.0)),
        (1, replace(FLAKY, retry_after=0.1), {}, Retry(0.5)),
        (1, replace(FLAKY, retry_after=-3.0), {}, Retry(0.5)),
        (1, replace(FLAKY, retry_after=101.0), {}, Refusal.DEADLINE),
        (1, replace(FLAKY, retry_after=86_399.0), {"deadline": None}, Retry(86_399.0)),
        (1, replace(FLAKY, retry_after=1_767_225_600.0), {"deadline": None}, Retry(86_400.0)),
        (1, replace(FLAKY, retry_after=float("nan")), {}, Retry(0.5)),
        (1, replace(FLAKY, retry_after=float("inf")), {}, Refusal.NOT_RETRYABLE),
    ],
)
def test_another_attempt(
    tries: int, failure: Failure, changes: dict[str, float | None], expected: Retry | Refusal
) -> None:
    """All three limits allow it, and a provider's wish is kept, up to a day."""
    run = replace(RUN, **changes)  # type: ignore[arg-type]
    assert expected == another(run, POLICY, tries, failure, NOW, 0.5)
