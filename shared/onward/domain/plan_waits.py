"""What a plan says of waits and conditions: checked with every fault named, and read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from onward.domain.condition import condition_fault
from onward.domain.duration import moment_of, seconds_of
from onward.domain.errors import Fault
from onward.domain.template import escaped, is_reference
from onward.domain.waits import ApprovalTerms, OnExpiry, WaitTerms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onward.domain.model import Json

WAIT_KEYS: Final = frozenset({"wait_for", "sleep", "sleep_until"})
GROUP: Final = re.compile(r"[a-z0-9-]{1,32}")
SIGNAL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_LENGTH: Final = "seconds, or such as 90s, 15m, 2h, 3d, 1w, at most a year"
_APPROVAL: Final = frozenset({"groups", "expires", "on_expiry", "editable", "not_submitter"})
_SIGNAL: Final = frozenset({"signal", "key", "schema", "expires", "on_expiry"})
_NO_TOOL: Final = ("tool", "input", "timeout", "approval")


def check_waits(
    step: Mapping[str, Json], fields: frozenset[str] | None, at: str, faults: list[Fault]
) -> None:
    """Check the members of a step that make it wait; `fields` are its tool's inputs, if known."""
    if "when" in step and (wrong := condition_fault(step["when"])):
        faults.append(Fault(f"{at}/when", wrong))
    if "approval" in step:
        faults.extend(_of_approval(step["approval"], fields, f"{at}/approval"))
    kinds = sorted(WAIT_KEYS & step.keys())
    if not kinds:
        return
    others = (*kinds[1:], *(name for name in _NO_TOOL if name in step))
    faults.extend(
        Fault(f"{at}/{other}", f"a step with {kinds[0]!r} has no {other!r}") for other in others
    )
    if "wait_for" in step:
        faults.append(Fault(f"{at}/wait_for", "'wait_for' is not available yet"))
        faults.extend(_of_signal(step["wait_for"], f"{at}/wait_for"))
    if "sleep" in step and seconds_of(step["sleep"]) is None:
        faults.append(Fault(f"{at}/sleep", f"sleep is {_LENGTH}"))
    until = step.get("sleep_until")
    if "sleep_until" in step and not is_reference(until) and moment_of(until) is None:
        faults.append(
            Fault(f"{at}/sleep_until", "sleep_until is a reference, RFC 3339 or epoch seconds")
        )


def approval_terms(document: Json) -> ApprovalTerms | None:
    """Read a checked `approval`; None when there is none."""
    if not isinstance(document, dict):
        return None
    return ApprovalTerms(
        groups=_texts(document.get("groups")),
        expires=seconds_of(document.get("expires")),
        on_expiry=OnExpiry(str(document.get("on_expiry", OnExpiry.FAIL))),
        editable=_texts(document.get("editable")),
        not_submitter=document.get("not_submitter") is True,
    )


def wait_terms(step: Mapping[str, Json]) -> tuple[WaitTerms | None, Json]:
    """Read what a checked step waits for, and the template of what it is resolved to.

    A signal's `key`, and `until` of a time that a reference says; `{}` for a sleep.
    """
    signal = step.get("wait_for")
    if isinstance(signal, dict):
        terms = WaitTerms(
            signal=str(signal["signal"]),
            schema=signal.get("schema"),
            expires=seconds_of(signal.get("expires")),
            on_expiry=OnExpiry(str(signal.get("on_expiry", OnExpiry.FAIL))),
        )
        return terms, {"key": signal["key"]}
    if "sleep" in step:
        return WaitTerms(seconds=seconds_of(step["sleep"])), {}
    if "sleep_until" in step:
        return WaitTerms(), {"until": step["sleep_until"]}
    return None, step.get("input", {})


def templates(step: Mapping[str, Json]) -> list[tuple[str, Json]]:
    """Return the parts of a step's document that may hold references, by their pointers."""
    found = [("/input", step.get("input", {}))]
    if "when" in step:
        found.append(("/when", step["when"]))
    signal = step.get("wait_for")
    if isinstance(signal, dict) and "key" in signal:
        found.append(("/wait_for/key", signal["key"]))
    if "sleep_until" in step:
        found.append(("/sleep_until", step["sleep_until"]))
    return found


def _of_approval(document: Json, fields: frozenset[str] | None, at: str) -> Iterable[Fault]:
    if not isinstance(document, dict):
        yield Fault(at, "approval is an object; {} asks any approver")
        return
    yield from _unknown(document, _APPROVAL, at)
    yield from _names(document, "groups", GROUP, at)
    yield from _expiry(document, (OnExpiry.FAIL, OnExpiry.REJECT), at)
    if not isinstance(document.get("not_submitter", False), bool):
        yield Fault(f"{at}/not_submitter", "not_submitter is true or false")
    yield from _names(document, "editable", re.compile(r"(?s).{1,256}"), at)
    for index, name in enumerate(_texts(document.get("editable"))):
        if fields is not None and name not in fields:
            yield Fault(f"{at}/editable/{index}", f"the tool has no input {name!r}")


def _of_signal(document: Json, at: str) -> Iterable[Fault]:
    if not isinstance(document, dict):
        yield Fault(at, 'wait_for is an object: {"signal": …, "key": …}')
        return
    yield from _unknown(document, _SIGNAL, at)
    name = document.get("signal")
    if not isinstance(name, str) or not SIGNAL.fullmatch(name):
        yield Fault(f"{at}/signal", f"a signal's name matches {SIGNAL.pattern}")
    key = document.get("key")
    if not is_reference(key) and (not isinstance(key, str) or not key):
        yield Fault(f"{at}/key", "key is a text or a reference")
    if not isinstance(document.get("schema", {}), dict):
        yield Fault(f"{at}/schema", "schema is a JSON Schema, an object")
    yield from _expiry(document, (OnExpiry.FAIL, OnExpiry.SKIP), at)


def _unknown(document: Mapping[str, Json], known: frozenset[str], at: str) -> Iterable[Fault]:
    for name in sorted(document.keys() - known):
        yield Fault(f"{at}/{escaped(name)}", f"unknown key {name!r}")


def _expiry(
    document: Mapping[str, Json], allowed: tuple[OnExpiry, ...], at: str
) -> Iterable[Fault]:
    if "expires" in document and seconds_of(document["expires"]) is None:
        yield Fault(f"{at}/expires", f"expires is {_LENGTH}")
    names = [kind.value for kind in allowed]
    if document.get("on_expiry", OnExpiry.FAIL) not in names:
        yield Fault(f"{at}/on_expiry", f"on_expiry is one of {', '.join(names)}")


def _names(
    document: Mapping[str, Json], member: str, pattern: re.Pattern[str], at: str
) -> Iterable[Fault]:
    value = document.get(member, [])
    if not isinstance(value, list):
        yield Fault(f"{at}/{member}", f"{member} is a list of texts")
        return
    for index, name in enumerate(value):
        if not isinstance(name, str) or not pattern.fullmatch(name):
            yield Fault(f"{at}/{member}/{index}", f"not a name ({pattern.pattern})")


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str))
