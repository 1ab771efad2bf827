"""Alarms on queues and on the stream: what was given up, and what waits too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.alarms.alarm import Alarm
from infra.alarms.readings import stream_age, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from aws_cdk import aws_sqs as sqs

    from infra.function import Function

_STREAM_LAG: Final = 60_000
"""Milliseconds a committed event may wait for the publisher: usually it is under a second."""


def dead_letter_alarms(*queues: sqs.Queue) -> Iterator[Alarm]:
    """Yield an alarm a queue that rings as long as one message lies in it.

    Not by messages sent (redriven and moved ones are not counted), nor by those in flight
    (they flap while somebody looks).
    """
    for queue in queues:
        yield Alarm(
            name=f"{queue.node.id}Letters",
            metric=visible(queue),
            says="Messages that were given up lie in this queue: look at them, then redrive them.",
            runbook="dead-letters",
        )


def stream_alarms(publisher: Function) -> Iterator[Alarm]:
    """Yield what rings when committed events reach nobody: a bad record holds up its shard."""
    yield Alarm(
        name="StreamAge",
        metric=stream_age(publisher),
        says="Events wait for the publisher: look for failed lines in its log.",
        runbook="stream-lag",
        threshold=_STREAM_LAG,
        of=(2, 2),
    )
