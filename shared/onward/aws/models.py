"""Language models on Amazon Bedrock, asked through Converse.

answers (200)                                   the input of the tool that the model must call
ThrottlingException, ServiceQuotaExceeded…      RateLimited, with Retry-After where it is named
ModelNotReady, ModelTimeout, ModelError, 5xx,
no connection, no reply in time                 Transient
AccessDenied…, no or expired credentials        PermissionDenied
ValidationException, ResourceNotFound…          InvalidInput: the same call fails the same way
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from onward.domain.answers import ModelAnswer
from onward.domain.errors import (
    Fatal,
    InvalidInput,
    PermissionDenied,
    RateLimited,
    StepError,
    Transient,
)
from onward.domain.model import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.domain.model import Json

CONNECT_SECONDS: Final = 5
LEAST_SECONDS: Final = 1.0
MOST_TOKENS: Final = 4096
"""Of one answer: what the smallest current models can give."""

ANSWER: Final = "answer"

_THROTTLED: Final = frozenset(
    {"ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException"}
)
_PASSING: Final = frozenset(
    {"ModelNotReadyException", "ModelTimeoutException", "ModelErrorException"}
)
_DENIED: Final = frozenset(
    {
        "AccessDeniedException",
        "ExpiredTokenException",
        "InvalidSignatureException",
        "UnrecognizedClientException",
    }
)
_SERVER_ERROR: Final = 500
_REFUSED: Final = frozenset({"guardrail_intervened", "content_filtered"})
_FAULTS: Final = {
    "max_tokens": f"it was cut off after {MOST_TOKENS} tokens; answer more briefly",
    "model_context_window_exceeded": "it did not fit beside the question; answer more briefly",
}


class BedrockModel:
    """One model or inference profile; every call is one attempt (`connect` makes its client)."""

    def __init__(self, name: str, connect: Callable[[float], Any] | None = None) -> None:
        """Ask the model of that id or ARN; `connect` is given the seconds to wait for a reply."""
        self.name = name
        self._connect = connect or runtime

    def ask(self, system: str, prompt: str, schema: dict[str, Json], seconds: float) -> ModelAnswer:
        """Ask for a call of one tool, whose input is the answer; `seconds` bounds the wait.

        Raises:
            StepError: by the table above; Fatal when the model refuses to answer.
        """
        if seconds < LEAST_SECONDS:
            raise Transient(f"too little time is left to ask {self.name}")
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            reply = self._connect(seconds).converse(**_request(self.name, system, prompt, schema))
        except ClientError as error:
            raise _explained(error, self.name) from error
        except BotoCoreError as error:
            raise _unanswered(error, self.name) from error
        return _answer(reply, self.name)


def runtime(seconds: float) -> Any:
    """Return a client that waits so long for a reply and never repeats a call.

    A repeated call is a paid one, and the step's own retries know its deadline. The time-out
    belongs to the client, so each call has its own; the parsed service model is shared.
    """
    from botocore.config import Config

    config = Config(
        connect_timeout=min(CONNECT_SECONDS, seconds),
        read_timeout=seconds,
        retries={"mode": "standard", "total_max_attempts": 1},
        tcp_keepalive=True,
    )
    return _session().client("bedrock-runtime", config=config)


@cache
def _session() -> Any:
    from boto3.session import Session

    return Session()


def _request(name: str, system: str, prompt: str, schema: dict[str, Json]) -> dict[str, Any]:
    tool = {
        "name": ANSWER,
        "description": "Give the answer.",
        "inputSchema": {"json": schema},
    }
    return {
        "modelId": name,
        "system": [{"text": system}],
        "messages": [{"role": "user", "content": [{"text": prompt}]}],
        "inferenceConfig": {"maxTokens": MOST_TOKENS},
        "toolConfig": {"tools": [{"toolSpec": tool}], "toolChoice": {"tool": {"name": ANSWER}}},
    }


def _answer(reply: dict[str, Any], name: str) -> ModelAnswer:
    stopped = reply.get("stopReason", "")
    if stopped in _REFUSED:
        raise Fatal(f"{name} did not answer: {stopped}")
    spent = reply.get("usage", {})
    usage = Usage(int(spent.get("inputTokens", 0)), int(spent.get("outputTokens", 0)))
    content = reply.get("output", {}).get("message", {}).get("content", [])
    calls = [block["toolUse"] for block in content if "toolUse" in block]
    if stopped in _FAULTS:
        return ModelAnswer(None, usage, _FAULTS[stopped])
    if not calls:
        return ModelAnswer(None, usage, f"the tool {ANSWER!r} was not called")
    return ModelAnswer(calls[0]["input"], usage)


def _explained(error: Any, name: str) -> StepError:
    """Return what a refusal means for the step."""
    told = error.response["Error"]
    said = f"{name}: {told.get('Message') or told['Code']}"
    meta = error.response.get("ResponseMetadata", {})
    if told["Code"] in _THROTTLED:
        return RateLimited(said, meta.get("HTTPHeaders", {}).get("retry-after", ""))
    if told["Code"] in _DENIED:
        return PermissionDenied(said)
    if told["Code"] in _PASSING or meta.get("HTTPStatusCode", 0) >= _SERVER_ERROR:
        return Transient(said)
    return InvalidInput(said)


def _unanswered(error: Exception, name: str) -> StepError:
    """Return what a call without a reply means for the step."""
    from botocore.exceptions import (
        ConnectionError as Unconnected,
    )
    from botocore.exceptions import (
        CredentialRetrievalError,
        HTTPClientError,
        NoCredentialsError,
        PartialCredentialsError,
    )

    said = f"{name}: {error}"
    if isinstance(error, NoCredentialsError | PartialCredentialsError | CredentialRetrievalError):
        return PermissionDenied(said)
    passing = isinstance(error, HTTPClientError | Unconnected)
    return Transient(said) if passing else InvalidInput(said)
