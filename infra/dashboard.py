"""One page: what runs do, what is recovered, what waits, and what the parts cost in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct
from onward.metrics import Metric

from infra.alarms.readings import (
    account_concurrency,
    counted,
    indexes,
    oldest,
    recursions,
    socket_errors,
    stream_age,
    table_throttles,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from aws_cdk import aws_dynamodb as dynamodb
    from aws_cdk import aws_sqs as sqs

    from infra.driver import Driver
    from infra.function import Function
    from infra.http import Http
    from infra.live import Live

_HALF: Final = 12
_FIVE: Final = Duration.minutes(5)


class Dashboard(Construct):
    """Graphs in rows of two, each added by who knows its metrics."""

    def __init__(self, scope: Construct, identifier: str) -> None:
        super().__init__(scope, identifier)
        self.page: Final = cloudwatch.Dashboard(self, "Page", default_interval=Duration.hours(3))

    def show_runs(self) -> None:
        """What commits say: ends, latency, and everything that did not go straight."""
        runs = (Metric.RUNS_STARTED, Metric.RUNS_SUCCEEDED, Metric.RUNS_FAILED)
        detours = (
            Metric.STEPS_RETRIED,
            Metric.RECOVERIES,
            Metric.RESTARTS,
            Metric.NEEDS_RECONCILIATION,
            Metric.DUPLICATES_SUSPECTED,
            Metric.LOOKS_GIVEN_UP,
            Metric.PERMISSION_FAILURES,
            Metric.ENDPOINTS_DISABLED,
            Metric.PATROL_REPAIRS,
            Metric.PATROL_FAILURES,
            Metric.RUNS_RESTING,
            Metric.SANDBOX_UNFILTERED,
        )
        seconds = {
            name: counted(self, Metric.STEP_SECONDS, statistic)
            for name, statistic in {"median": "p50", "95 of 100": "p95", "longest": "max"}.items()
        }
        self._row(
            ("Runs", {metric.value: counted(self, metric) for metric in runs}),
            ("Seconds from a step's first claim to its checkpoint", seconds),
        )
        beats = {"rounds": counted(self, Metric.PATROL_BEATS)}
        steps = (Metric.STEPS_SUCCEEDED, Metric.STEPS_FAILED)
        self._row(
            ("Steps", {metric.value: counted(self, metric) for metric in steps}),
            ("Detours", {metric.value: counted(self, metric) for metric in detours}),
            ("Rounds of the patrol", beats),
        )

    def show_delivery(
        self, publisher: Function, busy: Sequence[sqs.Queue], dead: Sequence[sqs.Queue]
    ) -> None:
        """What waits between a commit and whoever must hear of it."""
        queues = (*busy, *dead)
        self._row(
            ("Messages in queues", {queue.node.id: visible(queue) for queue in queues}),
            ("Seconds the oldest message waits", {queue.node.id: oldest(queue) for queue in busy}),
            ("Milliseconds the stream lags behind", {"oldest": stream_age(publisher)}),
        )
        lag = {
            name: counted(self, Metric.DELIVERY_SECONDS, statistic)
            for name, statistic in {"median": "p50", "95 of 100": "p95", "longest": "max"}.items()
        }
        unsynced = {"longest": counted(self, Metric.UNSYNCED_SECONDS, "max")}
        self._row(
            ("Seconds from an event to its acknowledgement", lag),
            ("Seconds since the end of a run that was not heard", unsynced),
        )

    def show_functions(self, functions: Sequence[Function]) -> None:
        """Errors and refusals by function, and how long they take."""
        failed = {f"{f.node.id} failed": f.metric_errors(period=_FIVE) for f in functions}
        refused = {f"{f.node.id} throttled": f.metric_throttles(period=_FIVE) for f in functions}
        took = {f.node.id: f.metric_duration(statistic="p95", period=_FIVE) for f in functions}
        self._row(
            ("Invocations that failed or were throttled", failed | refused),
            ("Milliseconds an invocation takes (95 of 100)", took),
        )

    def show_limits(self, consumers: Sequence[Function], tables: Sequence[dynamodb.Table]) -> None:
        """What AWS refuses or cuts: concurrency, chains of invocations, requests for tables."""
        throttled = {
            f"{table.node.id} {index or 'itself'} {kind}": table_throttles(table, kind, index)
            for table in tables
            for index in ("", *indexes(table))
            for kind in ("Read", "Write")
        }
        taken = {"concurrency taken": account_concurrency()}
        cut = {f"{function.node.id} cut": recursions(function) for function in consumers}
        self._row(
            ("Throttled requests for tables and indexes", throttled),
            ("The account's concurrency, and chains that Lambda cut", taken | cut),
        )

    def show_driver(self, driver: Driver, http: Http, live: Live) -> None:
        """Executions and requests."""
        machine = driver.machine
        executions = {
            "started": machine.metric_started(period=_FIVE),
            "succeeded": machine.metric_succeeded(period=_FIVE),
            "failed": machine.metric_failed(period=_FIVE),
            "aborted": machine.metric_aborted(period=_FIVE),
            "timed out": machine.metric_timed_out(period=_FIVE),
            "throttled": machine.metric_throttled(period=_FIVE),
        }
        requests = {
            "requests": http.api.metric_count(period=_FIVE, statistic="sum"),
            "refused": http.api.metric_client_error(period=_FIVE, statistic="sum"),
            "failed": http.api.metric_server_error(period=_FIVE, statistic="sum"),
            "sockets failed": socket_errors(live),
        }
        self._row(("Executions of the driver", executions), ("Requests", requests))

    def _row(self, *graphs: tuple[str, Mapping[str, Any]]) -> None:
        self.page.add_widgets(
            *(
                cloudwatch.GraphWidget(
                    title=title,
                    width=_HALF,
                    left=[metric.with_(label=label) for label, metric in metrics.items()],
                )
                for title, metrics in graphs
            )
        )
