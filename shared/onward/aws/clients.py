"""boto3 clients, made on first use and kept; boto3 itself is imported with the first.

The defaults of boto3 wait 60 s for a reply and then try again, longer than our functions live
(reference: boto/boto3#1104), so both are set here.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

CONNECT_SECONDS: Final = 2
READ_SECONDS: Final = 10
ATTEMPTS: Final = 3
"""Tries in all, the first one included; `max_attempts` would count what comes after it."""

CONNECTIONS: Final = 16
"""As many as there are reads at once (`app.in_parallel`); boto3 keeps 10."""

FRAME_SECONDS: Final = 4
"""How long a socket may take to accept a frame: the others of its run wait."""

FUNCTION_SECONDS: Final = 90
"""How long an invoked function may take to answer: longer than the time-out of `run_sandbox`."""


@cache
def client(service: str, endpoint: str | None = None) -> Any:
    """Return the process's client of a service; without an endpoint AWS_ENDPOINT_URL counts."""
    import boto3
    from botocore.config import Config

    # What must not become two because its reply is late; who asked for it is who tries again.
    once = {"lambda": FUNCTION_SECONDS, "apigatewaymanagementapi": FRAME_SECONDS}
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=once.get(service, READ_SECONDS),
        retries={"mode": "standard", "total_max_attempts": 1 if service in once else ATTEMPTS},
        tcp_keepalive=True,
        max_pool_connections=CONNECTIONS,
        signature_version="s3v4" if service == "s3" else None,
        s3={"addressing_style": "path"} if service == "s3" else None,
    )
    return boto3.client(service, endpoint_url=endpoint, config=config)
