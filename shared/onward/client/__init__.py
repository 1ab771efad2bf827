"""The HTTP client of Onward's API: what the command line and your own programs call."""

from onward.client.aio import AsyncOnward
from onward.client.api import Onward
from onward.client.errors import ClientError, OnwardProblem, ServiceUnreachable, Unsendable
from onward.client.feed import ENDS
from onward.documents.runs import (
    ArtifactView,
    CloudEvent,
    EventPage,
    ProblemFault,
    RunRow,
    RunTicketView,
    Snapshot,
    SocketTicketView,
    StepView,
)
from onward.domain.events import INTERRUPTIONS, NAMESPACE

__all__ = [
    "ENDS",
    "INTERRUPTIONS",
    "NAMESPACE",
    "ArtifactView",
    "AsyncOnward",
    "ClientError",
    "CloudEvent",
    "EventPage",
    "Onward",
    "OnwardProblem",
    "ProblemFault",
    "RunRow",
    "RunTicketView",
    "ServiceUnreachable",
    "Snapshot",
    "SocketTicketView",
    "StepView",
    "Unsendable",
]
