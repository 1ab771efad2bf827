"""API keys: who holds one, and when it opens nothing any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ID_DIGITS: Final = 20
"""Hexadecimal digits of a key's hash in its id: 80 bits, of which no two keys share all."""

KEY_ID_PREFIX: Final = "key_"


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is stored: all but the key. Times are epoch seconds.

    `digest` is the SHA-256 of the key's text. `last_used_at` is coarse: written at most once a
    minute, and lost where the table was busy.
    """

    key_id: str
    tenant: str
    subject: str
    roles: frozenset[str]
    digest: str
    created_at: float
    expires_at: float | None = None
    last_used_at: float | None = None
    revoked_at: float | None = None

    def state(self, now: float) -> str:
        """Return `active`, `expired` or `revoked`; a key opens nothing at and after its expiry."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "active"


def key_id_of(digest: str) -> str:
    """Return the public name of a key from its SHA-256 in hexadecimal.

    Taken from the hash, so that a key leads to its row and the row's id leads back to nothing:
    what is hashed has 192 random bits.
    """
    return KEY_ID_PREFIX + digest[:ID_DIGITS]
