"""What a function reads from its environment, once per cold start.

A stdlib dataclass on purpose: every handler imports this module on its cold path.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "ONWARD_"

_DATA: Final = frozenset({"runs_table", "artifacts_bucket"})

_CATALOGUE: Final = frozenset({"drills", "idempotency_table"})
"""For whoever loads the catalogue, and remembers what it answered."""

_LIMITS: Final = frozenset(
    {"max_steps", "max_children", "max_input_bytes", "max_active_runs", "max_active_steps"}
)
"""What one run may cost, and one tenant have at a time; for whoever takes new runs."""

_ENDING: Final = frozenset({"notify_queue_url", "live_queue_url"})
"""For whoever may commit a run's end, and then wakes those who listen."""

FUNCTION_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "http_api": _DATA
    | _CATALOGUE
    | {
        "execute_step_version",
        "patrol_function",
        "notify_queue_url",
        "notify_dead_url",
        "allow_local_endpoints",
        "webhook_ports",
        "cursors_table",
        "live_queue_url",
        "socket_url",
        "access_table",
        "audit_days",
        "notify_function",
        "waiting_slots",
    }
    | _LIMITS,
    "start_run": _DATA | {"driver_arn", "max_running"},
    "execute_step": _DATA | _CATALOGUE | {"model_id", "sandbox_function"} | _ENDING,
    "run_sandbox": frozenset({"sandbox_without_filter"}),
    "recover": _DATA | _ENDING,
    "settle": _DATA | _ENDING,
    "park": _DATA,
    "publish_outbox": frozenset(
        {"start_queue_url", "notify_queue_url", "notify_slow_url", "live_queue_url", "runs_table"}
    ),
    "notify": frozenset(
        {
            "runs_table",
            "access_table",
            "notify_queue_url",
            "notify_slow_url",
            "notify_dead_url",
            "allow_local_endpoints",
            "webhook_ports",
        }
    ),
    "patrol": _DATA
    | {
        "driver_arn",
        "start_queue_url",
        "notify_queue_url",
        "live_queue_url",
        "cursors_table",
        "patrol_parameter",
        "retention_days",
        "max_running",
    },
    "authorize": frozenset({"cursors_table", "access_table"}),
    "ws_connect": frozenset({"cursors_table", "access_table"}),
    "ws_message": frozenset(
        {"runs_table", "cursors_table", "live_queue_url", "socket_url", "access_table"}
    ),
    "ws_disconnect": frozenset({"cursors_table"}),
    "push_events": _DATA | {"cursors_table", "live_queue_url", "socket_url", "access_table"},
}
"""Which function is given which fields. The template fills exactly these.

Nothing that the driver invokes may name the driver: in one stack that is a cycle.
"""

OPTIONAL: Final = frozenset({"model_id", "max_running", *_LIMITS})
"""Fields that may be empty: what they switch on is then absent, a limit is the library's own."""


class SettingMissing(LookupError):
    """A function's environment lacks a variable that it needs."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One field per variable `ONWARD_<FIELD>`; a field that was not given is empty."""

    runs_table: str = ""
    idempotency_table: str = ""
    artifacts_bucket: str = ""
    cursors_table: str = ""
    access_table: str = ""
    start_queue_url: str = ""
    notify_queue_url: str = ""
    notify_slow_url: str = ""
    notify_dead_url: str = ""
    live_queue_url: str = ""
    socket_url: str = ""
    driver_arn: str = ""
    execute_step_version: str = ""
    sandbox_function: str = ""
    sandbox_without_filter: str = ""
    patrol_function: str = ""
    notify_function: str = ""
    patrol_parameter: str = ""
    waiting_slots: str = "0"
    allow_local_endpoints: str = "0"
    webhook_ports: str = "80,443,8080,8443"
    retention_days: str = "0"
    audit_days: str = ""
    drills: str = "0"
    model_id: str = ""
    max_running: str = ""
    max_steps: str = ""
    max_children: str = ""
    max_input_bytes: str = ""
    max_active_runs: str = ""
    max_active_steps: str = ""

    @property
    def allows_drills(self) -> bool:
        """Whether tools that inject faults may be called on this stack."""
        return self.drills == "1"

    @property
    def runs_filtered_only(self) -> bool:
        """Whether the sandbox refuses to run code where the kernel takes no filter."""
        return self.sandbox_without_filter == "refuse"

    @property
    def allows_local(self) -> bool:
        """Whether webhooks may go to this machine and network; never on a stack in the cloud."""
        return self.allow_local_endpoints == "1"

    def number(self, field: str) -> int | None:
        """Return a field that holds a whole number; None where the library's own counts."""
        held = str(getattr(self, field))
        return int(held) if held else None

    @property
    def allowed_ports(self) -> frozenset[int]:
        """Ports that webhooks may have, which `webhook_ports` separates by commas."""
        return frozenset(int(port) for port in self.webhook_ports.split(","))

    @property
    def retention_seconds(self) -> int:
        """How long a run's log is kept after its end; 0 for ever."""
        return int(self.retention_days) * 86_400

    @property
    def audit_seconds(self) -> int:
        """How long an entry of the audit log is kept."""
        return int(self.audit_days) * 86_400

    @property
    def held_requests(self) -> int:
        """How many requests may be held at once until there is an event for them."""
        return int(self.waiting_slots)

    @property
    def model_names(self) -> tuple[str, ...]:
        """Ids of the language models, which `model_id` separates by commas; empty without any."""
        return tuple(name for part in self.model_id.split(",") if (name := part.strip()))


def variable(field: str) -> str:
    """Return the name of the environment variable that fills a field."""
    return PREFIX + field.upper()


def read(function: str, environ: Mapping[str, str]) -> Settings:
    """Return the settings of one function; raises SettingMissing naming each absent variable."""
    fields = FUNCTION_FIELDS[function]
    given = {field: environ.get(variable(field), "") for field in fields}
    missing = sorted(variable(field) for field in fields - OPTIONAL if not given[field])
    if missing:
        raise SettingMissing(f"{function} needs {', '.join(missing)}")
    return Settings(**given)


@cache
def settings(function: str) -> Settings:
    """Return the settings of the function that this process runs, read once."""
    return read(function, os.environ)
