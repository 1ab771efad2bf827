"""One structured log line an invocation, with the ids that find it again and what it counted.

Payloads, headers and query strings are never logged.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.logging import Logger

from onward import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator


@cache
def logger() -> Logger:
    """Return the process's logger."""
    return Logger(service=metrics.SERVICE)


@contextmanager
def log(context: Any, **ids: object) -> Iterator[Logger]:
    """Log an invocation as one line when it ends; an error is logged with it and raised on.

    What an earlier invocation appended or counted is forgotten first (Powertools keeps keys in a
    warm process). A failing invocation tells what it counted too: it was committed.
    """
    line = logger()
    line.clear_state()
    metrics.forget()
    line.append_keys(function=context.function_name, request_id=context.aws_request_id, **ids)
    if "step_id" in ids and "fence" in ids:
        line.append_keys(attempt_id=f"{ids['step_id']}#{ids['fence']}")
    started = time.monotonic()
    try:
        yield line
    except Exception as error:
        name = type(error).__name__
        line.error("failed", error=name, milliseconds=_since(started), **metrics.embedded())
        raise
    line.info("done", milliseconds=_since(started), **metrics.embedded())


def _since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
