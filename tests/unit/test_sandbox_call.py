"""How a step reaches the sandbox: one invocation, whatever becomes of it."""

from __future__ import annotations

import io
import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody
from botocore.stub import Stubber
from onward.app.driving.classify import classify
from onward.app.driving.run_code import RemoteSandbox
from onward.aws.clients import ATTEMPTS, FUNCTION_SECONDS, client
from onward.aws.functions import Function
from onward.sdk import CodeFailed, InvalidInput, SandboxUnavailable

NAME = "arn:aws:lambda:us-east-1:000000000000:function:sandbox"
CODE = "def run(d): return d"


@pytest.fixture
def aws() -> Stubber:
    """AWS' side of the call, which answers what a test tells it to and nothing twice."""
    lambda_ = boto3.client(
        "lambda", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )
    stubber = Stubber(lambda_)
    stubber.activate()
    return stubber


def answers(aws: Stubber, document: Any, error: str | None = None) -> RemoteSandbox:
    body = json.dumps(document).encode()
    answer = {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body))}
    job = {"code": CODE, "data": ["é"], "memory": 128, "timeout": 5}
    asked = {
        "FunctionName": NAME,
        "InvocationType": "RequestResponse",
        "Payload": json.dumps(job, separators=(",", ":"), ensure_ascii=False).encode(),
    }
    aws.add_response("invoke", answer | ({"FunctionError": error} if error else {}), asked)
    return RemoteSandbox(Function(lambda: aws.client, NAME).invoke)


def test_the_value_of_the_answer_is_returned(aws: Stubber) -> None:
    """The job goes there as it was given."""
    sandbox = answers(aws, {"ok": True, "value": 7, "stdout": "", "seconds": 0.1})

    assert 7 == sandbox(CODE, ["é"], timeout=5, memory=128)
    aws.assert_no_pending_responses()


def test_a_fault_of_the_code_is_the_steps_error(aws: Stubber) -> None:
    """With everything that a repair needs."""
    error = {"kind": "raised", "message": "KeyError: 'x'", "line": 4}
    sandbox = answers(aws, {"ok": False, "error": error, "stdout": "so far\n", "seconds": 0.1})

    with pytest.raises(CodeFailed, match=r"raised, line 4\): KeyError: 'x'; printed: …so far"):
        sandbox(CODE, ["é"], timeout=5, memory=128)


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"errorType": "Sandbox.Timedout", "errorMessage": "after 85 seconds"}, "Unhandled"),
        ({"errorType": "Runtime.ExitError", "errorMessage": ""}, "Unhandled"),
        (None, None),
    ],
)
def test_a_function_that_fails_says_nothing_of_the_code(
    aws: Stubber, document: Any, error: str | None
) -> None:
    """The step may try again."""
    sandbox = answers(aws, document, error)

    with pytest.raises(SandboxUnavailable) as failed:
        sandbox(CODE, ["é"], timeout=5, memory=128)
    assert classify(failed.value, writes=False, now=0.0).retryable


def test_a_busy_account_is_tried_again_by_the_step(aws: Stubber) -> None:
    """It is told as it came, for the one table of errors."""
    aws.add_client_error("invoke", "TooManyRequestsException", http_status_code=429)
    sandbox = RemoteSandbox(Function(lambda: aws.client, NAME).invoke)

    with pytest.raises(ClientError) as busy:
        sandbox(CODE, 1)
    assert "rate_limited" == classify(busy.value, writes=False, now=0.0).code


def test_a_job_out_of_bounds_is_not_sent() -> None:
    """There is no client, and none is asked for."""
    with pytest.raises(InvalidInput):
        RemoteSandbox(Function(lambda: 1 / 0, NAME).invoke)(CODE, 1, timeout=61)


def test_the_call_waits_for_the_function_and_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second try of botocore's own would run the code twice."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    config = client("lambda").meta.config

    assert (FUNCTION_SECONDS, 1) == (config.read_timeout, config.retries["total_max_attempts"])
    assert ATTEMPTS == client("dynamodb").meta.config.retries["total_max_attempts"]
