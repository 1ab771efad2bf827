"""What can go wrong between a caller and the service.

ClientError
├── Unsendable          nothing was sent: the request is none that HTTP and JSON can carry
├── OnwardProblem       the service answered with a problem (RFC 9457), or its gateway did
└── ServiceUnreachable  nobody answered, or somebody who is not Onward
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onward.documents.runs import ProblemFault


class ClientError(Exception):
    """The root of everything that the client raises."""


class Unsendable(ClientError):
    """A value, key or name that cannot be sent; the message names its place. Nothing was sent."""


class OnwardProblem(ClientError):
    """The service refused. `code` is stable and meant for programs, `errors` names every fault."""

    def __init__(
        self,
        code: str,
        status: int,
        detail: str,
        errors: Sequence[ProblemFault] = (),
        *,
        retryable: bool = False,
        as_of_seq: int | None = None,
    ) -> None:
        """Keep the problem document's members; `as_of_seq`: where a log can be taken up again."""
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.status = status
        self.detail = detail
        self.errors = list(errors)
        self.retryable = retryable
        self.as_of_seq = as_of_seq


class ServiceUnreachable(ClientError):
    """No answer from Onward. A request may or may not have been carried out."""
