"""Which service the commands talk to: the environment's, else the local stack's."""

from __future__ import annotations

import json
import os
from pathlib import Path

from onward.cli.exits import WrongUse
from onward.client import Onward, ServiceUnreachable

DEFAULT_STATE = Path(".onward")
STATE_FILE = "stack.json"


def connect() -> Onward:
    """Return a client for ONWARD_API_URL, or for the stack that `onward up` started here.

    Raises:
        WrongUse: ONWARD_API_URL is set and ONWARD_API_KEY is not.
        ServiceUnreachable: neither names a service.
    """
    url, key = os.environ.get("ONWARD_API_URL"), os.environ.get("ONWARD_API_KEY")
    if url:
        if not key:
            raise WrongUse("ONWARD_API_URL is set, but ONWARD_API_KEY is not")
        return Onward(url, key)
    stack = _local_stack()
    return Onward(stack["api_url"], key or stack["api_key"])


def _local_stack() -> dict[str, str]:
    path = DEFAULT_STATE / STATE_FILE
    try:
        stack: dict[str, str] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ServiceUnreachable(
            "no stack is running here: start one with `onward up`, "
            "or name a service with ONWARD_API_URL and ONWARD_API_KEY"
        ) from error
    return stack
