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


@cache
def client(service: str) -> Any:
    """Return the process's client of a service; an endpoint comes from AWS_ENDPOINT_URL."""
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"mode": "standard", "max_attempts": ATTEMPTS},
        tcp_keepalive=True,
        signature_version="s3v4" if service == "s3" else None,
        s3={"addressing_style": "path"} if service == "s3" else None,
    )
    return boto3.client(service, config=config)
