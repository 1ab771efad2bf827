"""Alarms on what runs: functions, executions of the driver, and calls of the API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.alarms.alarm import FIVE_MINUTES, MINUTE, Alarm

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from infra.driver import Driver
    from infra.function import Function
    from infra.http import Http

_SERVER_ERRORS: Final = 5
"""In five minutes. One that may pass, such as a throttled table, is asked again by the client."""

_LOST_ATTEMPTS: Final = 10
"""In five minutes. Single deaths are what the driver is for; this many are a cause of their own."""


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


def http_alarms(http: Http) -> Iterator[Alarm]:
    """Yield what rings on calls that our side could not answer: they are no failed invocations."""
    yield Alarm(
        name="ServerErrors",
        metric=http.api.metric_server_error(period=FIVE_MINUTES),
        says="Calls of the API are answered with 5xx: look for them in the function's log.",
        runbook="server-errors",
        threshold=_SERVER_ERRORS,
    )
