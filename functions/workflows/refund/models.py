"""What the steps of a refund hand on."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, ConfigDict, Field

from workflows.drills.faults import Faults


class Rehearsed(BaseModel):
    """What every step may be told besides its work, where drills are allowed."""

    faults: Faults = Field(default_factory=dict)
    receiver_url: str = ""


class RefundRequest(Rehearsed):
    """Which order to refund. Without `receiver_url` the artifact store keeps the papers."""

    model_config = ConfigDict(extra="forbid")

    order_id: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")


class OrderWanted(Rehearsed):
    """Look an order up."""

    order_id: str


class Order(BaseModel):
    """What was bought; `price` in EUR."""

    order_id: str
    customer: str
    item: str
    price: Decimal


class AboutOrder(Rehearsed):
    """Look at something that belongs to an order."""

    order: Order


class Stock(BaseModel):
    """How many pieces came back, and are reserved for this order."""

    item: str
    returned: int
    reserved: int


class Document(BaseModel):
    """The proof of purchase."""

    number: str
    valid: bool


class Evidence(AboutOrder):
    """All there is to decide on."""

    stock: Stock
    document: Document


class Decision(BaseModel):
    """What is paid back (EUR), and why."""

    amount: Decimal
    reason: str


class Write(AboutOrder):
    """One change of the outside; `amount` in EUR, `reference` of the refund once it has one."""

    amount: Decimal = Decimal(0)
    reference: str = ""


class Receipt(BaseModel):
    """What the outside calls the change that it made."""

    reference: str
    action: str
    order_id: str
