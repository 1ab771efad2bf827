"""Alarms that ring on this machine: how deep and how old watched queues are, once a second.

As released the emulator publishes no queue metrics, looks at alarms only when somebody publishes
a metric, takes every metric of the name for the alarm's own whatever its dimensions, and without
data never goes back to OK. `tests/stack/test_alarms.py` holds what is mended here.
"""

# ruff: noqa: SLF001 - patching private parts is what this module is for

from __future__ import annotations

import logging
import threading
import time
from importlib import import_module
from itertools import takewhile
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS: Final = 1.0

_DEPTH: Final = "ApproximateNumberOfMessagesVisible"
_AGE: Final = "ApproximateAgeOfOldestMessage"
_OK: Final = "notBreaching"
_BREACH: Final = "breaching"
_COMPARED: Final[dict[str, Callable[[float, float], bool]]] = {
    "GreaterThanOrEqualToThreshold": ge,
    "GreaterThanThreshold": gt,
    "LessThanOrEqualToThreshold": le,
    "LessThanThreshold": lt,
}


class QueuePump:
    """Feeds depth and age of queues that have an alarm, and lets all alarms be evaluated.

    CloudWatch takes minutes for either way; here both take a second, because each reading
    replaces the one before.
    """

    def __init__(self, cloudwatch: Any, sqs: Any) -> None:
        self._cloudwatch: Final = cloudwatch
        self._sqs: Final = sqs

    @classmethod
    def started(cls) -> QueuePump:
        """Start pumping inside this emulator process, for as long as it lives."""
        services = (f"ministack.services.{name}" for name in ("cloudwatch", "sqs"))
        pump = cls(*map(import_module, services))
        pump._cloudwatch._evaluate_alarm = pump._evaluating(pump._cloudwatch._evaluate_alarm)
        threading.Thread(target=pump._run, name="queue pump", daemon=True).start()
        return pump

    def _run(self) -> None:
        while True:
            time.sleep(SECONDS)
            try:
                self._read_queues()
                self._cloudwatch._evaluate_all_alarms()
            except Exception:
                # It shares the services' data without their locks; the next round reads it anew.
                logging.getLogger(__name__).exception("the queue pump skipped a round")

    def _read_queues(self) -> None:
        queues = {url.rsplit("/", 1)[-1]: queue for url, queue in self._sqs._queues.items()}
        now = time.time()
        for alarm in self._cloudwatch._alarms.values():
            queue = queues.get(_dimensions(alarm).get("QueueName", ""))
            if alarm["Namespace"] != "AWS/SQS" or queue is None:
                continue
            value = _measured(alarm["MetricName"], list(queue["messages"]), now)
            reading = {"Timestamp": now, "Value": value, "Unit": "None"}
            self._cloudwatch._metrics[self._key(alarm)] = [reading]

    def _evaluating(self, evaluate: Callable[..., None]) -> Callable[..., None]:
        def evaluate_own(alarm: dict[str, Any]) -> None:
            """Evaluate like AWS an alarm for which no data is a breach or is none, as all ours."""
            compare = _COMPARED.get(alarm.get("ComparisonOperator", ""))
            missing = alarm.get("TreatMissingData")
            if compare is None or missing not in {_OK, _BREACH}:
                evaluate(alarm)
                return
            found = list(self._values(alarm))
            values = [value for value in found if value is not None]
            breaches = sum(compare(value, alarm["Threshold"]) for value in values)
            breaches += found.count(None) if missing == _BREACH else 0
            wanted = alarm.get("DatapointsToAlarm") or alarm["EvaluationPeriods"]
            self._put(alarm, "ALARM" if breaches >= wanted else "OK", values)

        return evaluate_own

    def _values(self, alarm: dict[str, Any]) -> Iterator[float | None]:
        """Yield the statistic of each period looked at; None for one without data."""
        now, period, count = time.time(), alarm["Period"], alarm["EvaluationPeriods"]
        # The newest come last, and a stack that is up for days has many.
        newest = reversed(self._cloudwatch._metrics.get(self._key(alarm)) or [])
        points = list(takewhile(lambda point: point["Timestamp"] > now - period * count, newest))
        for index in range(count):
            since, until = now - period * (index + 1), now - period * index
            within = [point for point in points if since < point["Timestamp"] <= until]
            stats = self._cloudwatch._calc_stats(within)
            name = alarm.get("ExtendedStatistic") or alarm["Statistic"]
            yield self._cloudwatch._stat_value(stats, name, within) if stats else None

    def _put(self, alarm: dict[str, Any], state: str, values: list[float]) -> None:
        """Note a change in the history and carry out the actions of the new state."""
        if alarm["StateValue"] == state:
            return
        change = {
            "AlarmName": alarm["AlarmName"],
            "StateValue": state,
            "StateReason": f"values {values or 'none'} against {alarm['Threshold']:g}",
        }
        self._cloudwatch._set_alarm_state({}, change, is_cbor=True)

    def _key(self, alarm: dict[str, Any]) -> tuple[str, str, str]:
        dimensions = self._cloudwatch._dims_key(_dimensions(alarm))
        return alarm["Namespace"], alarm["MetricName"], dimensions


def _measured(metric: str, messages: list[dict[str, Any]], now: float) -> float:
    """Return how many messages are visible, or how long the oldest has been there, in seconds."""
    if metric == _AGE:
        return max((now - message["sent_at"] for message in messages), default=0.0)
    return float(sum(message["visible_at"] <= now for message in messages))


def _dimensions(alarm: dict[str, Any]) -> dict[str, str]:
    return {each["Name"]: each["Value"] for each in alarm.get("Dimensions") or []}
