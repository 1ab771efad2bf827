"""What never changes after a run was submitted, as DynamoDB items."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from onward.aws.codec import dumps, item, optional, payload_item, plain, read_payload
from onward.domain.model import Payload, PlannedStep, Policy
from onward.domain.submission import Submission
from onward.domain.waits import ApprovalTerms, OnExpiry, WaitTerms

if TYPE_CHECKING:
    from onward.aws.codec import Item


def plan_item(step: PlannedStep) -> Item:
    """Encode a planned step without its keys."""
    return item(
        {
            "key": step.key,
            "tool": step.tool,
            "entry": step.entry,
            "input": dumps(step.input),
            "needs": list(step.needs),
            "singles": list(step.singles),
            "joins": [list(join) for join in step.joins],
            "for_each": step.for_each,
            "optional": step.optional or None,
            "expands": step.expands or None,
            "policy": asdict(step.policy) if step.tool else None,
            "when": step.when,
            "approval": step.approval and asdict(step.approval),
            "wait": step.wait and asdict(step.wait),
        }
    )


def read_planned(encoded: Item) -> PlannedStep:
    """Decode a planned step."""
    row = plain(encoded)
    return PlannedStep(
        key=row["key"],
        tool=row.get("tool", ""),
        entry=row.get("entry", ""),
        input=json.loads(row["input"]),
        needs=tuple(json.loads(row.get("needs", "[]"))),
        singles=tuple(json.loads(row.get("singles", "[]"))),
        joins=tuple((key, count) for key, count in json.loads(row.get("joins", "[]"))),
        for_each=optional(row, "for_each", lambda template: template),
        optional=row.get("optional", False),
        expands=row.get("expands", False),
        policy=optional(row, "policy", lambda policy: Policy(**policy)) or Policy(),
        when=optional(row, "when", lambda condition: condition),
        approval=optional(row, "approval", _approval_terms),
        wait=optional(row, "wait", _wait_terms),
    )


def _approval_terms(said: dict[str, Any]) -> ApprovalTerms:
    lists = {name: tuple(said[name]) for name in ("groups", "editable")}
    return ApprovalTerms(**said | lists | {"on_expiry": OnExpiry(said["on_expiry"])})


def _wait_terms(said: dict[str, Any]) -> WaitTerms:
    return WaitTerms(**said | {"on_expiry": OnExpiry(said["on_expiry"])})


def submission_item(submission: Submission) -> Item:
    """Encode what was asked for."""
    values: dict[str, object] = {"labels": submission.labels, "subject": submission.subject}
    return item(values) | payload_item("input", submission.input)


def read_submission(encoded: Item) -> Submission:
    """Decode what was asked for."""
    row = plain(encoded)
    payload = read_payload("input", row) or Payload("null")
    return Submission(payload, json.loads(row.get("labels", "{}")), row.get("subject", ""))
