"""Alarms on the two APIs: calls and frames that our side could not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.alarms.alarm import FIVE_MINUTES, Alarm
from infra.alarms.readings import socket_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.http import Http
    from infra.live import Live

_SERVER_ERRORS: Final = 5
"""In five minutes. One that may pass, such as a throttled table, is asked again by the client."""


def http_alarms(http: Http) -> Iterator[Alarm]:
    """Yield what rings on calls that our side could not answer: they are no failed invocations."""
    yield Alarm(
        name="ServerErrors",
        metric=http.api.metric_server_error(period=FIVE_MINUTES),
        says="Calls of the API are answered with 5xx: look for them in the function's log.",
        runbook="server-errors",
        threshold=_SERVER_ERRORS,
    )


def socket_alarms(live: Live) -> Iterator[Alarm]:
    """Yield what rings when the gateway cannot hand frames on; clients poll meanwhile."""
    yield Alarm(
        name="SocketErrors",
        metric=socket_errors(live),
        says="The socket API could not hand on frames or connections.",
        runbook="socket-errors",
        threshold=_SERVER_ERRORS,
    )
