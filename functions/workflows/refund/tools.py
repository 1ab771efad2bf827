"""The steps of a refund: four reads, and six writes with a policy each.

`number`, `notify`, `account` and `close` go to receivers that honour a key, `release` to one that
honours fences, and `book` to one that writes again whenever it is told to: it is asked first.
`book_unsafe` is `book` without the question.
"""

from __future__ import annotations

from decimal import Decimal
from hashlib import sha256
from typing import Final

from onward.sdk import (
    Applied,
    InvalidInput,
    NotApplied,
    OutcomeUnknown,
    Retry,
    StepContext,
    Unsure,
    tool,
)

from workflows.drills.faults import allow_receiver, die, due, strike
from workflows.refund.desk import Desk
from workflows.refund.models import (
    AboutOrder,
    Decision,
    Document,
    Evidence,
    Order,
    OrderWanted,
    Receipt,
    Rehearsed,
    Stock,
    Write,
)

RETRY: Final = Retry(attempts=8, base=0.25, cap=4.0)
TIMEOUT: Final = 30

PROMPT: Final = 8
"""A model that has not answered by then will not."""

SETTLES_AFTER: Final = 2.0


def _rehearse(ctx: StepContext, request: Rehearsed) -> None:
    if request.receiver_url:
        allow_receiver(ctx, request.receiver_url)
    strike(due(ctx, request.faults), writes=False)


def _digit(text: str, below: int) -> int:
    """Return a number that is always the same for a text: the shop is made up."""
    return sha256(text.encode()).digest()[0] % below


@tool(effect="read", timeout=TIMEOUT, retry=RETRY)
def read_order(ctx: StepContext, request: OrderWanted) -> Order:
    """Look the order up."""
    _rehearse(ctx, request)
    price = Decimal(10 + _digit(request.order_id, 90))
    customer = f"customer-{_digit(request.order_id, 10)}"
    return Order(order_id=request.order_id, customer=customer, item="lamp", price=price)


@tool(effect="read", timeout=TIMEOUT, retry=RETRY)
def check_stock(ctx: StepContext, request: AboutOrder) -> Stock:
    """See whether the goods came back."""
    _rehearse(ctx, request)
    return Stock(item=request.order.item, returned=1, reserved=1)


@tool(effect="read", timeout=TIMEOUT, retry=RETRY)
def verify_document(ctx: StepContext, request: AboutOrder) -> Document:
    """See whether the proof of purchase is genuine."""
    _rehearse(ctx, request)
    return Document(number=f"D-{request.order.order_id}", valid=True)


@tool(effect="read", timeout=PROMPT, retry=RETRY)
def decide(ctx: StepContext, request: Evidence) -> Decision:
    """Decide what is paid back; costs what a model would, and answers as one might."""
    _rehearse(ctx, request)
    ctx.usage(1200, 80, "rehearsed")
    if not (request.stock.returned and request.document.valid):
        raise InvalidInput("there is nothing to refund: no goods, or no proof of purchase")
    return Decision(amount=request.order.price, reason="goods returned, proof valid")


def _write(ctx: StepContext, request: Write, action: str) -> Receipt:
    fault = due(ctx, request.faults)
    strike(fault, writes=True)
    receipt = Desk(ctx, request, action).write(fault)
    if fault is not None and fault.kind == "die_after_send":
        die()
    return receipt


@tool(effect="write", idempotency="native", timeout=TIMEOUT, retry=RETRY)
def create_number(ctx: StepContext, request: Write) -> Receipt:
    """Take a refund number."""
    return _write(ctx, request, "number")


@tool(effect="write", idempotency="fenced", timeout=TIMEOUT, retry=RETRY)
def release_stock(ctx: StepContext, request: Write) -> Receipt:
    """Put the goods back on sale."""
    return _write(ctx, request, "release")


def find_booking(ctx: StepContext, request: Write) -> Applied | NotApplied | Unsure:
    """Ask the books whether they have this payment."""
    try:
        found = Desk(ctx, request, "book").find()
    except (OSError, OutcomeUnknown) as error:
        return Unsure(f"the books do not answer: {error}")
    return NotApplied() if found is None else Applied(found, keys=(ctx.idempotency_key,))


@tool(
    effect="write",
    idempotency="probe",
    probe=find_booking,
    settles_after=SETTLES_AFTER,
    timeout=TIMEOUT,
    retry=RETRY,
)
def book(ctx: StepContext, request: Write) -> Receipt:
    """Pay back, at a receiver that pays as often as it is told to but can be asked."""
    return _write(ctx, request, "book")


@tool(
    effect="write",
    idempotency="none",
    settles_after=SETTLES_AFTER,
    timeout=TIMEOUT,
    retry=RETRY,
)
def book_unsafe(ctx: StepContext, request: Write) -> Receipt:
    """Pay back, at a receiver that can only be told."""
    return _write(ctx, request, "book")


@tool(effect="write", idempotency="native", timeout=TIMEOUT, retry=RETRY)
def notify_customer(ctx: StepContext, request: Write) -> Receipt:
    """Tell the customer."""
    return _write(ctx, request, "notify")


@tool(effect="write", idempotency="native", timeout=TIMEOUT, retry=RETRY)
def update_account(ctx: StepContext, request: Write) -> Receipt:
    """Change the customer's balance."""
    return _write(ctx, request, "account")


@tool(effect="write", idempotency="native", timeout=TIMEOUT, retry=RETRY)
def close_case(ctx: StepContext, request: Write) -> Receipt:
    """Close the case."""
    return _write(ctx, request, "close")
