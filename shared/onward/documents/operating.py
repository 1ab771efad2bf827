"""What operators see: webhooks, keys, the audit log, recovery; and the catalogue."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from onward.documents.schema import Described, JsonSchema, Time


class EndpointView(TypedDict):
    """A subscription. Its secret is shown when it is made or rotated, and never again.

    `pending`: its address has not agreed yet to get webhooks (CloudEvents HTTP 1.1 Web Hooks, 4).
    """

    id: str
    url: str
    event_types: list[str]
    status_url: str | None
    created_at: Time
    status: Annotated[str, Described(enum=["pending", "enabled", "disabled"])]
    enabled: bool
    pending_because: str | None
    disabled_at: Time | None
    disabled_because: str | None
    timeouts_in_a_row: int
    secret: NotRequired[str]
    previous_valid_until: NotRequired[Time]


class EndpointList(TypedDict):
    """All of a tenant's subscriptions."""

    endpoints: list[EndpointView]


class DeliveryTry(TypedDict):
    """One request: when, about which event, and what came of it."""

    at: Time
    sequence: int
    outcome: str


class DeliveryView(TypedDict):
    """How far an endpoint has got with a run. `dead`: its wake-up is among the dead letters."""

    run_id: str
    endpoint_id: str
    state: Annotated[str, Described(enum=["pending", "synced", "dead"])]
    acked_seq: int
    attempts: int
    last_error: str | None
    next_try: Time | None
    dead_since: Time | None
    given_up: bool
    tries: list[DeliveryTry]


class DeliveryList(TypedDict):
    """Deliveries of one run, or the dead ones of all, oldest first."""

    deliveries: list[DeliveryView]


class Redriven(TypedDict):
    """How many deliveries are tried again."""

    redriven: int


class KeyView(TypedDict):
    """A key, without the key: that was shown when it was issued. `last_used_at` is coarse."""

    id: str
    subject: str
    roles: list[str]
    state: Annotated[str, Described(enum=["active", "expired", "revoked"])]
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None
    revoked_at: Time | None


class KeyList(TypedDict):
    """All of a tenant's keys, the oldest first; an expired one stays for thirty days."""

    keys: list[KeyView]


class AuditEntryView(TypedDict):
    """One action of an operator. `target` names what it was done to."""

    at: Time
    action: str
    target: str
    key_id: str
    subject: str
    comment: str


class AuditEntryPage(TypedDict):
    """A page of entries, newest first, and where the next one begins."""

    entries: list[AuditEntryView]
    next_page_token: str | None


class IncidentCause(TypedDict):
    """Interruptions of one kind: which steps they hit most, and what recovery saved."""

    cause: str
    count: int
    typical_steps: list[str]
    resume_median_seconds: float
    resume_max_seconds: float
    tokens_saved: int
    duplicates_prevented: int


class RecoveryStats(TypedDict):
    """Incidents of the last days, the most frequent cause first."""

    days: int
    causes: list[IncidentCause]


class PatrolRound(TypedDict):
    """How many runs the patrol looked at, its repairs by kind, and whether others are left."""

    looked: int
    repairs: dict[str, int]
    more: NotRequired[bool]


class RetryPolicyView(TypedDict):
    """Tries in all, and the back-off in seconds."""

    attempts: int
    base: float
    cap: float


class ToolView(TypedDict):
    """A tool that plans can use; times in seconds. `expands`: it may add steps to its run."""

    name: str
    description: str
    effect: Annotated[str, Described(enum=["read", "write"])]
    idempotency: Annotated[str, Described(enum=["native", "probe", "fenced", "none"])] | None
    key_ttl: float | None
    settles_after: float | None
    timeout: int
    retry: RetryPolicyView
    expands: bool
    input_schema: JsonSchema
    output_schema: JsonSchema


class ToolList(TypedDict):
    """All tools by name."""

    tools: list[ToolView]


class WorkflowView(TypedDict):
    """A workflow that runs can name; `plan` is what they begin with."""

    name: str
    version: int
    input_schema: JsonSchema
    output_schema: JsonSchema
    plan: dict[str, Any]


class WorkflowList(TypedDict):
    """All workflows by name."""

    workflows: list[WorkflowView]
