"""What the tests of several modules stand on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.bedrock import Bedrock, serve


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bedrock]:
    """Amazon Bedrock on loopback, which botocore finds by its environment."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    for served in serve():
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", served.url)
        yield served
