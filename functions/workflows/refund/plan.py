"""The workflows `refund` and `refund-unkeyed`; they differ in how the payment is kept single."""

from __future__ import annotations

from typing import Any

from onward.sdk import Step, Tool, Workflow, ref

from workflows.refund.models import RefundRequest
from workflows.refund.tools import (
    book,
    book_unsafe,
    check_stock,
    close_case,
    create_number,
    decide,
    notify_customer,
    read_order,
    release_stock,
    update_account,
    verify_document,
)


def _told(**members: Any) -> dict[str, Any]:
    """Return a step's input together with what it may have to rehearse."""
    rehearsed = {name: ref(f"input.{name}") for name in ("faults", "receiver_url")}
    return rehearsed | {name: ref(path) for name, path in members.items()}


def _steps(pay: Tool) -> list[Step]:
    order: dict[str, Any] = {"order": "steps.order"}
    paid = order | {"amount": "steps.decide.amount", "reference": "steps.number.reference"}
    evidence = order | {"stock": "steps.stock", "document": "steps.document"}
    return [
        Step("order", read_order, _told(order_id="input.order_id")),
        Step("stock", check_stock, _told(**order)),
        Step("document", verify_document, _told(**order)),
        Step("decide", decide, _told(**evidence)),
        Step("number", create_number, _told(**order, amount="steps.decide.amount")),
        Step("release", release_stock, _told(**paid)),
        Step("book", pay, _told(**paid), after=["release"]),
        Step("notify", notify_customer, _told(**paid), after=["book"]),
        Step("account", update_account, _told(**paid), after=["notify"]),
        Step("close", close_case, _told(**paid), after=["account"]),
    ]


refund = Workflow("refund", version=1, input=RefundRequest, steps=_steps(book))
refund_unkeyed = Workflow(
    "refund-unkeyed", version=1, input=RefundRequest, steps=_steps(book_unsafe)
)
