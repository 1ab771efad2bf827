"""Alarms on what runs: functions, and executions of the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.alarms.alarm import FIVE_MINUTES, MINUTE, Alarm
from infra.alarms.readings import account_concurrency, recursions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from infra.driver import Driver
    from infra.function import Function

_LOST_ATTEMPTS: Final = 10
"""In five minutes. Single deaths are what the driver is for; this many are a cause of their own."""

_NEARLY_ALL: Final = 80
"""Per cent of the account's concurrent invocations."""


def function_alarms(worker: Function, functions: Iterable[Function]) -> Iterator[Alarm]:
    """Yield what rings on errors and throttles; a throttled burst that passes is nobody's business.

    Nor is a worker that dies now and then: the driver carries its step on.
    """
    for function in functions:
        yield Alarm(
            name=f"{function.node.id}Errors",
            metric=function.metric_errors(period=FIVE_MINUTES),
            says="Invocations failed: look for failed lines in the function's log.",
            runbook="function-errors",
            threshold=_LOST_ATTEMPTS if function is worker else 1,
        )
        yield Alarm(
            name=f"{function.node.id}Throttles",
            metric=function.metric_throttles(period=MINUTE),
            says="Invocations are refused for minutes: raise the account's concurrency.",
            runbook="refused-invocations",
            of=(3, 5),
        )


def driver_alarms(driver: Driver) -> Iterator[Alarm]:
    """Yield what rings when an execution ends otherwise than by succeeding: its run has not."""
    machine = driver.machine
    for end, metric in {
        "Failed": machine.metric_failed(period=MINUTE),
        "Aborted": machine.metric_aborted(period=MINUTE),
        "TimedOut": machine.metric_timed_out(period=MINUTE),
    }.items():
        yield Alarm(
            name=f"Executions{end}",
            metric=metric,
            says="An execution of the driver ended before its run: look at its last event.",
            runbook="dead-execution",
        )
    yield Alarm(
        name="ExecutionsThrottled",
        metric=machine.metric_throttled(period=MINUTE),
        says="Step Functions holds transitions back for minutes: runs are slow.",
        runbook="throttled-driver",
        of=(3, 5),
    )


def recursion_alarms(*consumers: Function) -> Iterator[Alarm]:
    """Yield what rings when Lambda cuts a chain of invocations through a queue.

    It does so after about 16, unless the function allows recursion. Source: AWS Lambda, "Recursive
    loop detection".
    """
    for function in consumers:
        yield Alarm(
            name=f"{function.node.id}Recursion",
            metric=recursions(function),
            says="Lambda dropped an invocation as a loop: what it was to do was not done.",
            runbook="cut-chain",
        )


def concurrency_alarms(limit: int) -> Iterator[Alarm]:
    """Yield what rings before the account's concurrency is used up, others' functions included."""
    yield Alarm(
        name="AccountConcurrency",
        metric=account_concurrency(),
        says="Most of the account's concurrent invocations are taken: soon some are refused.",
        runbook="account-concurrency",
        threshold=max(1, limit * _NEARLY_ALL // 100),
        of=(3, 5),
    )
