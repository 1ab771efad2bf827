"""Events in words: a line each for a log or a pipe, and what was recovered from what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from onward.domain.events import NAMESPACE

if TYPE_CHECKING:
    from onward.client import CloudEvent

VERSION_MISSING: Final = "version_missing"
"""The code of a step that waits because nothing that is there may run it."""

_LOST: Final = {
    "Runtime.ExitError": "worker died",
    "Runtime.OutOfMemory": "worker ran out of memory",
    "Sandbox.Timedout": "worker was stopped at its time-out",
    "States.Timeout": "worker did not answer in time",
    "timed_out": "worker was out of time, and ended",
    "execution_lost": "its execution died",
    "lane_lost": "its lane was lost",
}
_RESTARTED: Final = {
    "execution_dead": "its execution died",
    "execution_closed": "its execution died",
    "attempt_overdue": "an attempt was long overdue",
    "handoff": "its execution had grown long",
}
_FOUND_OUT: Final = {"applied": "its write happened", "not_applied": "its write did not happen"}
_NOT_RUN: Final = {
    "applied": "gave its result by hand",
    "not_applied": "says its version is back",
    "abandon": "gave it up, for want of its version",
}
"""Answers for a step whose version of the worker was gone: nothing of it ran."""

_PLANNED: Final = frozenset({None, "wait_over", "handoff"})
"""Causes for which a run goes on without anything having been wrong."""


def kind(event: CloudEvent) -> tuple[str, str]:
    """Return whether an event is of the run or of a step, and what happened."""
    subject, _, what = event["type"].removeprefix(NAMESPACE).partition(".")
    return subject, what


def clock(event: CloudEvent) -> str:
    """Return when it happened, as the log's own clock says."""
    return event["time"][11:19]


def sentence(event: CloudEvent) -> str:
    """Tell one event in one line."""
    data = event["data"]
    told = recovery(event)
    reason = data.get("message") or ("" if told else data.get("cause"))
    return f"{clock(event)}  {told or _plainly(event)}{f' - {reason}' if reason else ''}"


def is_recovery(event: CloudEvent) -> bool:
    """Whether something had gone wrong that is being made good."""
    if kind(event) == ("run", "resumed"):
        return event["data"].get("cause") not in _PLANNED
    return bool(recovery(event))


def recovery(event: CloudEvent) -> str:
    """Tell an interruption and what became of it; nothing for any other event."""
    data, step = event["data"], f"step {event['data'].get('step_id', '')}"
    match kind(event):
        case ("step", "taken_over"):
            return f"{step}: {_lost(data)}, attempt {data.get('attempt')} took over"
        case ("step", "outcome_unknown"):
            return f"{step}: outcome unknown, its receiver is asked{until(data.get('probed_at'))}"
        case ("step", "reconciled"):
            return f"{step}: {_found_out(data)}"
        case ("run", "resumed"):
            return f"run {_resumed(data)}"
    return ""


def time_at(seconds: float) -> datetime | None:
    """Return a time (epoch seconds); None for one that no calendar reaches."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def until(seconds: float | None, word: str = "at") -> str:
    """Return a time (epoch seconds) as the log would show it; nothing for none."""
    at = None if seconds is None else time_at(seconds)
    return "" if at is None else f" {word} {at:%H:%M:%S}"


def _lost(data: dict[str, Any]) -> str:
    cause = str(data.get("cause", ""))
    unnamed = "worker died" if data.get("dead_for_sure") else "worker was lost"
    return _LOST.get(cause, f"{unnamed} ({cause})")


def _found_out(data: dict[str, Any]) -> str:
    outcome, by = str(data.get("outcome")), data.get("by")
    if data.get("code") == VERSION_MISSING and outcome in _NOT_RUN:
        return f"{by} {_NOT_RUN[outcome]}"
    found = _FOUND_OUT.get(outcome)
    if found is None:
        return f"{by} gave it up, whether it wrote stays unknown"
    return f"its receiver says {found}" if by == "probe" else f"{by} says {found}"


def _resumed(data: dict[str, Any]) -> str:
    cause, generation = data.get("cause"), data.get("generation")
    if cause == "resumed_by_operator":
        return f"resumed by {data.get('by')}, from its checkpoints"
    if cause == "wait_over":
        return "goes on, the wait is over"
    if cause is None:
        return "goes on"
    return (
        f"restarted: {_RESTARTED.get(str(cause), str(cause))}, generation {generation} takes over"
    )


def _plainly(event: CloudEvent) -> str:
    data = event["data"]
    subject, what = kind(event)
    name = "run" if subject == "run" else str(data.get("step_id", subject))
    if (subject, what) == ("effect", "duplicate_suspected"):
        return f"{name}: its receiver seems to hold the write twice; look there"
    if what == "progress":
        return f"{name} {float(data.get('fraction') or 0):.0%} {data.get('note', '')}".rstrip()
    if (subject, what) == ("run", "waiting"):
        return f"run waits: {_waits(data)}"
    words = [name, what.replace("_", " ")]
    if data.get("children") is not None:
        words.append(f"({data['children']} children)")
    elif what != "retrying" and int(data.get("attempt") or 1) > 1:
        words.append(f"(attempt {data['attempt']})")
    if "delay_seconds" in data:
        delay = float(data["delay_seconds"])
        words.append(f"in {delay:.1f} s" if delay else "at once")
    return " ".join(words)


def _waits(data: dict[str, Any]) -> str:
    steps = [
        f"step {wait.get('step_id')} {wait.get('status')}{until(wait.get('until'), 'until')}"
        for wait in data.get("steps", [])
    ]
    return ", ".join(steps) or str(data.get("status", ""))
