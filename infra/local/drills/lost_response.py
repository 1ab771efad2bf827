"""The write happened and the reply did not; or the write lands after its sender died."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from onward.client import OnwardProblem

from infra.local.drills.finding import claims

if TYPE_CHECKING:
    from collections.abc import Iterator

    from infra.local.drills.finding import Finding, Watched
    from infra.local.drills.stage import Refund, Stage

NAME: Final = "lost-response"

UNKEYED: Final = "refund-unkeyed"
ASKS: Final = "onward.step.needs_reconciliation"


@dataclass(frozen=True, slots=True)
class Case:
    """A write, by how it is kept single, and what happens to it."""

    name: str
    step: str
    fault: dict[str, Any]


LOST: Final = {"kind": "lost_reply"}
LATE: Final = {"kind": "late_landing", "seconds": 1.0}

BY_ITSELF: Final = (
    Case("native", "number", LOST),
    Case("native, lands late", "number", LATE),
    Case("fenced", "release", LOST),
    Case("fenced, lands late", "release", LATE),
    Case("probe", "book", LOST),
    Case("probe, lands late", "book", LATE),
    Case("probe, never sent", "book", {"kind": "die_before"}),
)
"""These are found out without anybody's help."""


def rehearse(stage: Stage) -> Iterator[Finding]:
    """One effect each; and where nobody can tell, nobody claims to know."""
    submitted = [(case, stage.submit({case.step: case.fault})) for case in BY_ITSELF]
    asked = [
        ("none", "applied", stage.submit({"book": LOST}, UNKEYED)),
        (
            "none, never sent",
            "not_applied",
            stage.submit({"book": {"kind": "die_before"}}, UNKEYED),
        ),
        ("none, lands late", "applied", stage.submit({"book": LATE}, UNKEYED)),
    ]
    for case, refund in submitted:
        yield _alone(stage, case, refund)
    for name, outcome, refund in asked:
        yield _by_hand(stage, name, outcome, refund)


def _alone(stage: Stage, case: Case, refund: Refund) -> Finding:
    watched = stage.finish(refund)
    probed = case.step == "book"
    found = watched.kinds["step.reconciled"]
    sent_never = case.fault["kind"] == "die_before"
    broken = claims(
        [
            (watched.kinds["step.needs_reconciliation"] == 0, "a person was asked"),
            (not probed or watched.kinds["step.outcome_unknown"] >= 1, "never called unknown"),
            (not probed or sent_never or found == 1, f"{found} answers of the probe in the log"),
        ]
    )
    arrivals = _lines(stage, watched, case.step, "arrival")
    return stage.judge(NAME, case.name, watched, broken, [f"requests that arrived: {arrivals}"])


def _by_hand(stage: Stage, name: str, outcome: str, refund: Refund) -> Finding:
    """The run stops and says so; it goes on by what a person found out at the receiver."""
    stopped = stage.follow(refund, lambda event: event["type"] == ASKS)
    paused = stage.onward.get(refund.run_id)
    counts = stage.outside.counts(refund.order_id).get("book", {})
    doubt = next((row for row in _ledger(stage, refund) if row["step_id"] == "book"), None)
    if stopped is None or doubt is None:
        silent = [
            "the run did not stop to ask" if stopped is None else "the ledger has no such write"
        ]
        return stage.judge(NAME, name, stage.watched(refund), silent)
    receipt = stage.outside.receipt(doubt["key"])
    _resolve(stage, refund, outcome, receipt)
    watched = stage.finish(refund)
    order = [event["type"].removeprefix("onward.step.") for event in _about_book(watched)]
    before = order.index("reconciled") if "reconciled" in order else 0
    broken = claims(
        [
            (paused["status"] == "needs_reconciliation", f"it was {paused['status']} meanwhile"),
            (doubt["state"] == "unknown", f"the ledger called it {doubt['state']}"),
            ((receipt is not None) == (outcome == "applied"), "the outside says otherwise"),
            (counts.get("effect", 0) == (outcome == "applied"), "effects before the answer"),
            (not {"succeeded", "failed"} & set(order[:before]), "an end nobody verified"),
        ]
    )
    seen = f"stopped and asked, told {outcome}, then went on"
    return stage.judge(NAME, name, watched, broken, [seen])


def _resolve(stage: Stage, refund: Refund, outcome: str, receipt: dict[str, str] | None) -> None:
    """Answer; "not applied" is taken only when nothing can land any more, so say it until then."""

    def accepted() -> bool:
        try:
            stage.onward.resolve(refund.run_id, "book", outcome, receipt)
        except OnwardProblem as problem:
            if problem.code != "not_waiting" or outcome != "not_applied":
                raise
            return False
        return True

    stage.wait(accepted, "the answer is accepted")


def _about_book(watched: Watched) -> list[Any]:
    return [event for event in watched.events if event["data"].get("step_id") == "book"]


def _ledger(stage: Stage, refund: Refund) -> list[Any]:
    rows: list[Any] = stage.onward.effects(refund.run_id)["effects"]
    return rows


def _lines(stage: Stage, watched: Watched, step: str, what: str) -> int:
    return stage.outside.counts(watched.order_id).get(step, {}).get(what, 0)
