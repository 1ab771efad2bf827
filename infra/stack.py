"""The whole service: what it is made of, and who may do what to which part."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aws_cdk import Annotations, Environment, Stack
from aws_cdk import aws_lambda as lambda_
from onward.sdk.catalogue import load_catalogue
from onward.sdk.check import warnings
from onward.settings import Settings

from infra import bundle
from infra.alarms import Alarms
from infra.context import read_context
from infra.dashboard import Dashboard
from infra.driver import Driven, Driver
from infra.function import ARCHITECTURE, RUNTIME, Function, Package
from infra.http import TIMEOUT as HTTP_TIMEOUT
from infra.http import Http
from infra.live import MESSAGE_TIMEOUT, PUSH_TIMEOUT, Handlers, Live, Wakes
from infra.outbox import NOTIFY_TIMEOUT, START_TIMEOUT, Outbox
from infra.outputs import write_outputs
from infra.patrol import TIMEOUT as PATROL_TIMEOUT
from infra.patrol import Patrol
from infra.queries import save_queries
from infra.state import State
from infra.tracing import trace
from infra.wiring import connect, grant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constructs import Construct

SANDBOX_TIMEOUT: Final = 85
"""Seconds: a minute for the code, the rest to start a child, at the first time twice."""

AUDIT_DAYS: Final = "400"
"""How long the audit log is kept unless the context says otherwise: a year and a month."""
WAITING_SLOTS: Final = "3"
"""Requests that may be held at once, of the ten invocations that a new account may run."""


STEP_MEMORY: Final = 1769
"""MB: one whole CPU, so that what the first attempt imports costs no more than at its init."""


class OnwardStack(Stack):
    """Onward in one stack, as its context says."""

    def __init__(self, scope: Construct, identifier: str) -> None:
        self.context: Final = read_context(scope.node)
        super().__init__(
            scope,
            identifier,
            stack_name=self.context.stack_name,
            env=Environment(
                account=self.context.account or None, region=self.context.region or None
            ),
            tags=self.context.tag_pairs,
            termination_protection=self.context.protects,
        )
        keep, protect = self.context.keeps_data, self.context.protects
        self.functions: Final[list[Function]] = []
        self.state: Final = State(self, "State", keep=keep, protect=protect)
        self.outbox: Final = Outbox(self, "Outbox")
        self.wakes: Final = Wakes(self, "Wakes")
        self.live: Final = Live(self, "Sockets")
        self._function_package: Final = self._package()
        self.run_sandbox: Final = self._function(
            "run_sandbox",
            {"sandbox_without_filter": self._without_filter()},
            timeout=SANDBOX_TIMEOUT,
            memory=1024,
        )
        self.driven: Final = self._driven()
        self.driver: Final = Driver(self, "Driver", self.driven)
        self.version: Final = self.driven.execute_step.current_version.function_arn
        self.patrol: Final = Patrol(self, "Rounds")
        self.patrol_function: Final = self._patrol_function()
        self.notify: Final = self._notify()
        self.http_api: Final = self._http_api()
        self.start_run: Final = self._start_run()
        self.publish_outbox: Final = self._publish_outbox()
        self.sockets: Final = self._socket_functions()
        self.push_events: Final = self._push_events()
        self.http: Final = Http(self, "Http", self.http_api, self.context.origins)
        connect(self)
        grant(self)
        self.alarms: Final = Alarms(self, "Alarms", email=self.context.email)
        self.dashboard: Final = Dashboard(self, "Dashboard")
        self._watch()
        save_queries(self)
        if self.context.tracing == "1":
            trace(self)
        write_outputs(self)

    def _driven(self) -> Driven:
        return Driven(
            execute_step=self._function(
                "execute_step",
                self._catalogue()
                | self._ending()
                | {
                    "model_id": self.context.model,
                    "sandbox_function": self.run_sandbox.function_arn,
                },
                timeout=self._step_timeout(),
                memory=STEP_MEMORY,
            ),
            recover=self._function("recover", self._ending(), timeout=60),
            settle=self._function("settle", self._ending(), timeout=60, memory=STEP_MEMORY),
            park=self._function("park", self._data(), timeout=60),
        )

    def _patrol_function(self) -> Function:
        return self._function(
            "patrol",
            self._ending()
            | {
                "driver_arn": self.driver.machine.state_machine_arn,
                "start_queue_url": self.outbox.start.queue_url,
                "cursors_table": self.state.cursors.table_name,
                "patrol_parameter": self.patrol.interval.parameter_name,
                "retention_days": self.context.retention_days or "0",
                "max_running": self.context.max_running,
            },
            timeout=PATROL_TIMEOUT,
        )

    def _http_api(self) -> Function:
        return self._function(
            "http_api",
            self._catalogue()
            | self._ending()
            | {
                "execute_step_version": self.version,
                "patrol_function": self.patrol_function.function_arn,
                "notify_function": self.notify.function_arn,
                "notify_dead_url": self.outbox.notify_dead.queue_url,
                **self._webhooks(),
                "cursors_table": self.state.cursors.table_name,
                "socket_url": self.live.stage.url,
                "audit_days": self.context.audit_days or AUDIT_DAYS,
                "max_steps": self.context.max_steps,
                "max_children": self.context.max_children,
                "max_input_bytes": self.context.max_input_bytes,
                "max_active_runs": self.context.max_active_runs,
                "max_active_steps": self.context.max_active_steps,
                "waiting_slots": self.context.waiting_slots or WAITING_SLOTS,
            }
            | self._access(),
            timeout=HTTP_TIMEOUT,
        )

    def _start_run(self) -> Function:
        return self._function(
            "start_run",
            self._data()
            | {
                "driver_arn": self.driver.machine.state_machine_arn,
                "max_running": self.context.max_running,
            },
            timeout=START_TIMEOUT,
        )

    def _publish_outbox(self) -> Function:
        return self._function(
            "publish_outbox",
            {
                "start_queue_url": self.outbox.start.queue_url,
                "notify_queue_url": self.outbox.notify.queue_url,
                "notify_slow_url": self.outbox.notify_slow.queue_url,
                "live_queue_url": self.wakes.queue.queue_url,
                "runs_table": self.state.runs.table_name,
            },
            timeout=30,
        )

    def _notify(self) -> Function:
        return self._function(
            "notify",
            {
                "runs_table": self.state.runs.table_name,
                "notify_queue_url": self.outbox.notify.queue_url,
                "notify_slow_url": self.outbox.notify_slow.queue_url,
                "notify_dead_url": self.outbox.notify_dead.queue_url,
                **self._webhooks(),
            }
            | self._access(),
            timeout=NOTIFY_TIMEOUT,
            goes_round=True,
        )

    def _push_events(self) -> Function:
        return self._function(
            "push_events",
            {
                "runs_table": self.state.runs.table_name,
                "artifacts_bucket": self.state.artifacts.bucket_name,
                "cursors_table": self.state.cursors.table_name,
                "live_queue_url": self.wakes.queue.queue_url,
                "socket_url": self.live.stage.url,
            }
            | self._access(),
            timeout=PUSH_TIMEOUT,
            goes_round=True,
        )

    def _socket_functions(self) -> Handlers:
        cursors = {"cursors_table": self.state.cursors.table_name}
        opening = cursors | self._access()
        message = opening | {
            "runs_table": self.state.runs.table_name,
            "live_queue_url": self.wakes.queue.queue_url,
            "socket_url": self.live.stage.url,
        }
        return Handlers(
            authorize=self._function("authorize", opening, timeout=10),
            connect=self._function("ws_connect", opening, timeout=MESSAGE_TIMEOUT),
            message=self._function("ws_message", message, timeout=MESSAGE_TIMEOUT),
            disconnect=self._function("ws_disconnect", cursors, timeout=MESSAGE_TIMEOUT),
        )

    def _function(
        self,
        name: str,
        values: Mapping[str, str],
        *,
        timeout: int,
        memory: int = 512,
        goes_round: bool = False,
    ) -> Function:
        made = Function(
            self,
            name,
            self._function_package,
            values,
            timeout=timeout,
            memory=memory,
            goes_round=goes_round,
        )
        self.functions.append(made)
        return made

    def _data(self) -> dict[str, str]:
        return {
            "runs_table": self.state.runs.table_name,
            "artifacts_bucket": self.state.artifacts.bucket_name,
        }

    def _ending(self) -> dict[str, str]:
        return self._data() | {
            "notify_queue_url": self.outbox.notify.queue_url,
            "live_queue_url": self.wakes.queue.queue_url,
        }

    def _access(self) -> dict[str, str]:
        return {"access_table": self.state.access.table_name}

    def _step_timeout(self) -> int:
        """Return seconds: what outlives the longest tool, as runs are told when submitted."""
        catalogue = load_catalogue(drills=self.context.drills == "1")
        for number, text in enumerate(warnings(catalogue)):
            Annotations.of(self).add_warning_v2(f"onward:check-{number}", text)
        return catalogue.function_seconds

    def _webhooks(self) -> dict[str, str]:
        return {
            "allow_local_endpoints": "1" if self.context.local_endpoints == "1" else "0",
            "webhook_ports": self.context.webhook_ports or Settings().webhook_ports,
        }

    def _without_filter(self) -> str:
        return self.context.sandbox_without_filter or "alarm"

    def _catalogue(self) -> dict[str, str]:
        return self._data() | {
            "drills": "1" if self.context.drills == "1" else "0",
            "idempotency_table": self.state.idempotency.table_name,
        }

    def _package(self) -> Package:
        with tempfile.TemporaryDirectory() as scratch:
            code = bundle.build_code(Path(scratch))
            asset = lambda_.Code.from_asset(str(code.path), asset_hash=code.digest)
            # The asset is copied when a function binds it, so bind it while the archive exists.
            asset.bind(self)
            return Package(code=asset, layers=self._layers())

    def _layers(self) -> Sequence[lambda_.ILayerVersion]:
        chosen = self.context.layer
        if chosen == "none":
            return []
        if chosen:
            code = lambda_.Code.from_asset(chosen)
        else:
            built = bundle.build_layer(bundle.ROOT / "cdk.out", ARCHITECTURE)
            code = lambda_.Code.from_asset(str(built.path), asset_hash=built.digest)
        return [
            lambda_.LayerVersion(
                self,
                "Dependencies",
                code=code,
                compatible_runtimes=[RUNTIME],
                description="Locked dependencies of Onward's functions",
            )
        ]

    def _watch(self) -> None:
        outbox, wakes, page = self.outbox, self.wakes, self.dashboard
        self.alarms.watch(self)
        page.show_runs()
        page.show_delivery(
            self.publish_outbox,
            (outbox.start, *outbox.deliveries, wakes.queue),
            (*outbox.dead_letters, wakes.dead),
        )
        page.show_functions(self.functions)
        page.show_driver(self.driver, self.http, self.live)
        page.show_limits((self.start_run, self.notify, self.push_events), self.state.tables)
