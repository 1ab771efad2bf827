"""The HTTP client of Onward's API: what the command line and your own programs call."""

from onward.client.aio import AsyncOnward
from onward.client.api import Onward
from onward.client.errors import ClientError, OnwardProblem, ServiceUnreachable, Unsendable
from onward.client.feed import ENDS
from onward.client.shapes import (
    Artifact,
    Event,
    Fault,
    Page,
    RunRow,
    RunTicket,
    Snapshot,
    SocketTicket,
    StepView,
)
from onward.domain.events import INTERRUPTIONS, NAMESPACE

__all__ = [
    "ENDS",
    "INTERRUPTIONS",
    "NAMESPACE",
    "Artifact",
    "AsyncOnward",
    "ClientError",
    "Event",
    "Fault",
    "Onward",
    "OnwardProblem",
    "Page",
    "RunRow",
    "RunTicket",
    "ServiceUnreachable",
    "Snapshot",
    "SocketTicket",
    "StepView",
    "Unsendable",
]
