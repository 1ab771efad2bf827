"""Domain objects as DynamoDB items, in the client's own attribute form.

Scalars are attributes; everything with structure is one JSON string, so that a float never
has to become a Decimal (boto/boto3#665). What is empty or None is absent. `schema` is the
version of the row's shape.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from onward.domain.effects import Effect, EffectState
from onward.domain.incidents import Interruption
from onward.domain.model import (
    Cursor,
    Event,
    Failing,
    Failure,
    Fan,
    Payload,
    Run,
    RunStatus,
    Step,
    StepStatus,
    Usage,
    Wait,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.domain.model import Json

Item: TypeAlias = "dict[str, dict[str, Any]]"

SCHEMA: Final = {"N": "1"}


def dumps(value: object) -> str:
    """Return compact JSON; the same value gives the same text."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def iso(seconds: float) -> str:
    """Return epoch seconds as RFC 3339 in UTC with milliseconds; sorts as text."""
    text = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def epoch(text: str) -> float:
    """Return the epoch seconds of an RFC 3339 time."""
    return datetime.fromisoformat(text).timestamp()


def attribute(value: object) -> dict[str, Any] | None:
    """Encode one value; None when it is to be absent."""
    if value is None or (isinstance(value, dict | list | tuple | str) and not value):
        return None
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return {"N": repr(value)}
    if isinstance(value, str):
        return {"S": str(value)}
    return {"S": dumps(value)}


def item(values: Mapping[str, object]) -> Item:
    """Encode named values."""
    encoded = {name: attribute(value) for name, value in values.items()}
    return {name: value for name, value in encoded.items() if value is not None}


def plain(encoded: Item) -> dict[str, Any]:
    """Decode an item to strings, numbers and booleans."""
    return {name: _scalar(value) for name, value in encoded.items()}


def _scalar(value: dict[str, Any]) -> Any:
    ((kind, held),) = value.items()
    if kind == "N":
        return float(held) if set(held) & {".", "e", "E"} else int(held)
    return held


def payload_item(name: str, payload: Payload) -> Item:
    """Encode one payload under a name."""
    return item(_payload(name, payload))


def _payload(name: str, payload: Payload | None) -> dict[str, object]:
    if payload is None:
        return {}
    at_rest: dict[str, object] = {name: payload.text, f"{name}_ref": payload.ref}
    return at_rest | {f"{name}_refused": payload.refused, f"{name}_size": payload.size}


def read_payload(name: str, row: dict[str, Any]) -> Payload | None:
    """Decode one payload; None when the row has none under the name."""
    if name not in row and f"{name}_ref" not in row:
        return None
    ref, refused = row.get(f"{name}_ref"), row.get(f"{name}_refused")
    return Payload(row.get(name), ref, refused, row.get(f"{name}_size"))


def optional(row: dict[str, Any], name: str, decode: Callable[[Any], Any]) -> Any:
    """Decode a JSON attribute, if the row has it."""
    return decode(json.loads(row[name])) if name in row else None


def _scalars(model: type, structured: set[str]) -> tuple[str, ...]:
    """Return the fields of a model that are attributes as they are."""
    return tuple(field.name for field in fields(model) if field.name not in structured)


def _usage(row: dict[str, Any]) -> Usage:
    return Usage(*json.loads(row["usage"])) if "usage" in row else Usage()


def _lost(row: dict[str, Any]) -> Interruption | None:
    found: Interruption | None = optional(row, "lost", lambda lost: Interruption(**lost))
    return found


def _failing(said: dict[str, Any]) -> Failing:
    failure = Failure(**said["failure"])
    return Failing(failure, said["step_id"], said.get("cancelled", False))


def _bill(usage: Usage) -> list[int]:
    return [usage.input_tokens, usage.output_tokens] if usage.total else []


_RUN_SCALARS: Final = _scalars(
    Run,
    {
        "status",
        "created_at",
        "frontier",
        "ready",
        "fans",
        "extended",
        "open",
        "waiting",
        "failing",
        "usage",
        "lost",
        "looks",
    },
)


def run_item(run: Run) -> Item:
    """Encode the run row without its keys."""
    values: dict[str, object] = {name: getattr(run, name) for name in _RUN_SCALARS}
    values |= {
        "status": run.status.value,
        "created_at": iso(run.created_at),
        "frontier": run.frontier,
        "ready": [[c.of, c.at, c.end] for c in run.ready],
        "fans": {key: [f.total, f.next, f.done] for key, f in run.fans.items()},
        "extended": {key: [f.total, f.next, f.done] for key, f in run.extended.items()},
        "open": run.open,
        "waiting": {s: [w.kind.value, w.until] for s, w in run.waiting.items()},
        "failing": run.failing and asdict(run.failing),
        "usage": _bill(run.usage),
        "lost": run.lost and asdict(run.lost),
        "looks": run.looks,
    }
    return item(values)


def read_run(encoded: Item) -> Run:
    """Decode a run row."""
    row = plain(encoded)

    def held(name: str, empty: Any) -> Any:
        return json.loads(row[name]) if name in row else empty

    return Run(
        **{name: row[name] for name in _RUN_SCALARS if name in row},
        status=RunStatus(row["status"]),
        created_at=epoch(row["created_at"]),
        frontier=held("frontier", {}),
        ready=tuple(Cursor(*c) for c in held("ready", [])),
        fans={key: Fan(*f) for key, f in held("fans", {}).items()},
        extended={key: Fan(*f) for key, f in held("extended", {}).items()},
        open=held("open", {}),
        waiting={s: Wait(StepStatus(k), u) for s, (k, u) in held("waiting", {}).items()},
        failing=optional(row, "failing", _failing),
        usage=_usage(row),
        lost=_lost(row),
        looks=held("looks", {}),
    )


_STEP_SCALARS: Final = _scalars(
    Step, {"status", "input", "output", "error", "usage", "lost", "added"}
)


def step_item(step: Step) -> Item:
    """Encode a step row without its keys."""
    values: dict[str, object] = {name: getattr(step, name) for name in _STEP_SCALARS}
    values |= _payload("input", step.input) | _payload("output", step.output)
    values |= {
        "status": step.status.value,
        "error": step.error and asdict(step.error),
        "usage": _bill(step.usage),
        "lost": step.lost and asdict(step.lost),
        "added": list(step.added),
    }
    return item(values)


def read_step(encoded: Item) -> Step:
    """Decode a step row."""
    row = plain(encoded)
    return Step(
        **{name: row[name] for name in _STEP_SCALARS if name in row},
        status=StepStatus(row["status"]),
        input=read_payload("input", row),
        output=read_payload("output", row),
        error=optional(row, "error", lambda e: Failure(**e)),
        usage=_usage(row),
        lost=_lost(row),
        added=tuple(json.loads(row.get("added", "[]"))),
    )


_EFFECT_SCALARS: Final = _scalars(Effect, {"state", "receipt"})


def effect_item(effect: Effect) -> Item:
    """Encode a ledger row without its keys."""
    values: dict[str, object] = {name: getattr(effect, name) for name in _EFFECT_SCALARS}
    return item(values | {"state": effect.state.value} | _payload("receipt", effect.receipt))


def read_effect(encoded: Item) -> Effect:
    """Decode a ledger row."""
    row = plain(encoded)
    return Effect(
        **{name: row[name] for name in _EFFECT_SCALARS if name in row},
        state=EffectState(row["state"]),
        receipt=read_payload("receipt", row),
    )


def event_item(event: Event, commit_id: str, tenant: str) -> Item:
    """Encode an event; the commit id tells later whose commit it was.

    The tenant is for whoever reads the stream: its record is all they have of the run.
    """
    data: dict[str, Json] = event.data
    return item(
        {
            "seq": event.seq,
            "type": event.type,
            "at": event.at,
            "data": data,
            "start": event.start,
            "commit": commit_id,
            "tenant": tenant,
        }
    )


def read_event(encoded: Item) -> Event:
    """Decode an event."""
    row = plain(encoded)
    data = json.loads(row.get("data", "{}"))
    return Event(row["seq"], row["type"], float(row["at"]), data, row.get("start"))
