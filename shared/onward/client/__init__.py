"""The HTTP client of Onward's API: what the command line and your own programs call."""

from onward.client.aio import AsyncOnward
from onward.client.api import Onward
from onward.client.errors import ClientError, OnwardProblem, ServiceUnreachable, Unsendable
from onward.client.feed import ENDS
from onward.documents.runs import (
    ApprovalView,
    ArtifactView,
    CloudEvent,
    DecisionView,
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
    "ApprovalView",
    "ArtifactView",
    "AsyncOnward",
    "ClientError",
    "CloudEvent",
    "DecisionView",
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
