"""Other functions of ours, invoked for their answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from onward.aws.codec import dumps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onward.domain.model import Json


class FunctionFailed(RuntimeError):
    """The function raised, died or ran into its time-out; the text says which."""


def invoke_version(client: Any, arn: str, document: Mapping[str, Json]) -> None:
    """Have one version of a function work on its own; its answer is for nobody."""
    body = dumps(document).encode()
    client.invoke(FunctionName=arn, InvocationType="Event", Payload=body)


class Function:
    """One function, by its name or ARN."""

    def __init__(self, client: Callable[[], Any], name: str) -> None:
        """`client` returns a boto3 Lambda client; it is called when there is something to do."""
        self._client = client
        self._name = name

    def invoke(self, document: Mapping[str, Json]) -> dict[str, Any]:
        """Invoke once and return the answer, an object; raises FunctionFailed.

        What botocore raises means that it is unknown whether the function ran.
        """
        answer = self._client().invoke(
            FunctionName=self._name,
            InvocationType="RequestResponse",
            Payload=dumps(document).encode(),
        )
        body = json.loads(answer["Payload"].read() or b"null")
        if answer.get("FunctionError") or not isinstance(body, dict):
            told = body if isinstance(body, dict) else {}
            name, text = told.get("errorType", "no answer"), told.get("errorMessage", "")
            raise FunctionFailed(f"{name}: {text}")
        return body
