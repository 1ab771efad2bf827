"""Alarms on queues and on the stream: what was given up, and what waits too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.alarms.alarm import Alarm
from infra.alarms.readings import oldest, stream_age, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from aws_cdk import aws_sqs as sqs

    from infra.function import Function

_STREAM_LAG: Final = 60_000
"""Milliseconds a committed event may wait for the publisher: usually it is under a second."""

_WAITS: Final = 300
"""Seconds a message may wait to be taken: 10 of them are the delay of a start's second way."""

_RESTS: Final = 1800
"""Seconds a wake-up of an endpoint may wait, which may have asked for a pause."""


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


def age_alarms(
    *, starts: sqs.Queue, lives: sqs.Queue, deliveries: Sequence[sqs.Queue]
) -> Iterator[Alarm]:
    """Yield what rings when messages wait: nobody takes them, or whoever does fails at each.

    A wake-up for an endpoint that rests waits on purpose, so those queues have more time.
    """
    for queue, seconds in ((starts, _WAITS), (lives, _WAITS), *((d, _RESTS) for d in deliveries)):
        yield Alarm(
            name=f"{queue.node.id}Age",
            metric=oldest(queue),
            says="Messages wait in this queue for minutes: look whether its consumer runs.",
            runbook="waiting-messages",
            threshold=seconds,
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
