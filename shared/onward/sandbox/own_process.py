"""What the process that starts children does to itself first: nothing of it is theirs to read.

A child runs under the same user. `/proc/PID/environ`, `/proc/PID/mem` and ptrace(2) of a process
that is dumpable are open to that user; of one that is not, to root alone. The credentials go
besides, from the mapping and from the memory that `/proc/PID/environ` shows.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

CREDENTIALS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
)
"""Variables with which the AWS SDKs find credentials, or where to ask for them."""

_PR_SET_DUMPABLE: Final = 4


class NotHidden(RuntimeError):
    """The kernel did not take it: nothing is run then."""


def hide() -> None:
    """Make this process unreadable to its children and take its credentials away, for good.

    Raises NotHidden. What needs credentials has to have read them before, and keeps its copy.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _overwrite(libc)
    for name in CREDENTIALS:
        os.environ.pop(name, None)
    zero = ctypes.c_ulong(0)
    if libc.prctl(_PR_SET_DUMPABLE, zero, zero, zero, zero):
        raise NotHidden(os.strerror(ctypes.get_errno()))


def _overwrite(libc: ctypes.CDLL) -> None:
    """Overwrite the values where they lie: unsetenv(3) only forgets where that is."""
    entries = ctypes.POINTER(ctypes.c_void_p).in_dll(libc, "environ")
    prefixes = tuple(f"{name}=".encode() for name in CREDENTIALS)
    place = 0
    while address := entries[place]:
        text = ctypes.string_at(address)
        if text.startswith(prefixes):
            name = text.index(b"=") + 1
            ctypes.memset(address + name, 0, len(text) - name)
        place += 1
