"""What is chosen at synthesis: `-c onward:<key>=<value>`, or the same keys in cdk.json."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from constructs import Node

PREFIX: Final = "onward:"

_CONCURRENCY: Final = 1000
"""The default quota of concurrent invocations a region; new accounts begin with 10."""

_STAGE: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,31}|")
_ORIGIN: Final = r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?"
_SWITCH: Final = re.compile(r"[01]?")
_NUMBER: Final = re.compile(r"[0-9]{0,9}")
_FORMS: Final = {
    "stage": _STAGE,
    "protect": _SWITCH,
    "drills": _SWITCH,
    "tracing": _SWITCH,
    "cors_origins": re.compile(rf"({_ORIGIN}(,{_ORIGIN})*)?"),
    "local_endpoints": _SWITCH,
    "webhook_ports": re.compile(r"([1-9][0-9]{0,4}(,[1-9][0-9]{0,4})*)?"),
    "retention_days": _NUMBER,
    "audit_days": re.compile(r"([1-9][0-9]{0,4})?"),
    **dict.fromkeys(
        (
            "max_running",
            "max_steps",
            "max_children",
            "max_input_bytes",
            "max_active_runs",
            "max_active_steps",
        ),
        re.compile(r"([1-9][0-9]{0,11})?"),
    ),
    "concurrency": _NUMBER,
    "waiting_slots": _NUMBER,
    "state": re.compile(r"destroy|keep|"),
    "sandbox_without_filter": re.compile(r"refuse|alarm|"),
    "tags": re.compile(r"([^=,]+=[^=,]*(,[^=,]+=[^=,]*)*)?"),
}
"""What a value must look like, where not everything is as good as everything else."""


class ContextRefused(ValueError):
    """A context key is unknown, or its value is not of its form; the text names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A field is a key of the context, with `-` for `_`. Empty is the default.

    `stage`: the stack is called `Onward-<stage>`, so that several live in one account.
    `account`, `region`: where it is deployed to; without, where the credentials point.
    `tags`: `key=value,key=value`, on everything that can be tagged.
    `protect`: "1" protects stack and tables from deletion; to be set once the first deployment
    stands, for a protected table cannot be rolled back.
    `state`: "destroy" deletes the data together with the stack.
    `email`: who is told of alarms; AWS asks them to confirm.
    `concurrency`: how many functions the account may run at once, by its quota; 1000 where it is
    not said. An alarm rings at four fifths.
    `waiting_slots`: how many requests may be held at once for the next event (3): each takes one
    of the account's concurrent invocations for up to 20 s. The others are asked to come again.
    `retention_days`: how long logs and checkpoints are kept after the end; without, for ever.
    `audit_days`: how long it is kept what operators did; without, 400.
    `max_running`: runs that are driven at a time; a tenant may have half of them, the others of
    its runs stay queued.
    `max_steps`, `max_children`, `max_input_bytes`: what one run may cost: planned steps (at most
    500), children of its fan-outs, bytes of all its inputs.
    `max_active_runs`, `max_active_steps`: what one tenant may have that has not ended: runs, and
    steps and children of those.
    `model`: ids of Bedrock models or inference profiles, separated by commas; without any,
    workflows follow rules.
    `layer`: "none" where the functions find their dependencies in the environment, or the path of
    an archive that was built elsewhere.
    `sandbox_without_filter`: what is done where the kernel takes no seccomp filter. "refuse": no
    code is run; "alarm", the default, for Lambda is not known to take one: it is run under the
    other locks, and rings.
    `cors_origins`: pages of which origins may call the HTTP API, separated by commas; none is the
    default.
    `tracing`: "1" has X-Ray trace functions and driver.
    `drills`: "1" lets tools inject faults.
    `local_endpoints`: "1" lets webhooks go to private addresses.
    `webhook_ports`: ports that webhooks may have, separated by commas; by default those of
    `onward.settings`. On the loopback, where that is allowed, they may have any.
    """

    stage: str = ""
    account: str = ""
    region: str = ""
    tags: str = ""
    protect: str = ""
    state: str = ""
    email: str = ""
    concurrency: str = ""
    waiting_slots: str = ""
    retention_days: str = ""
    audit_days: str = ""
    max_running: str = ""
    max_steps: str = ""
    max_children: str = ""
    max_input_bytes: str = ""
    max_active_runs: str = ""
    max_active_steps: str = ""
    model: str = ""
    layer: str = ""
    sandbox_without_filter: str = ""
    cors_origins: str = ""
    tracing: str = ""
    drills: str = ""
    local_endpoints: str = ""
    webhook_ports: str = ""

    def __post_init__(self) -> None:
        for name, form in _FORMS.items():
            if not form.fullmatch(value := getattr(self, name)):
                raise ContextRefused(f"{key_of(name)}={value!r}: must match {form.pattern}")
        if self.protect == "1" and self.state == "destroy":
            raise ContextRefused(f"{key_of('protect')}=1 forbids {key_of('state')}=destroy")

    @property
    def stack_name(self) -> str:
        """The name of the stack; everything that an account has once is called after it."""
        return f"Onward-{self.stage}" if self.stage else "Onward"

    @property
    def tag_pairs(self) -> dict[str, str]:
        """Keys and values of the tags."""
        pairs = (tag.split("=", 1) for tag in self.tags.split(",") if tag)
        return {key.strip(): value.strip() for key, value in pairs}

    @property
    def origins(self) -> list[str]:
        """Whose pages may call the HTTP API."""
        return [origin for origin in self.cors_origins.split(",") if origin]

    @property
    def keeps_data(self) -> bool:
        """Whether tables and bucket outlive the stack."""
        return self.state != "destroy"

    @property
    def concurrency_limit(self) -> int:
        """The account's quota of concurrent invocations."""
        return int(self.concurrency or _CONCURRENCY)

    @property
    def protects(self) -> bool:
        """Whether stack and tables refuse to be deleted."""
        return self.protect == "1"


def key_of(name: str) -> str:
    """Return the context key of a field."""
    return PREFIX + name.replace("_", "-")


def read_context(node: Node) -> Context:
    """Return what was given to an app; raises ContextRefused on a key that is not ours."""
    given: dict[str, Any] = {
        key: value for key, value in node.get_all_context().items() if key.startswith(PREFIX)
    }
    known = {key_of(field.name): field.name for field in fields(Context)}
    if unknown := sorted(given.keys() - known.keys()):
        raise ContextRefused(
            f"unknown context {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
    return Context(**{known[key]: str(value or "") for key, value in given.items()})
