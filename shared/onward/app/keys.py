"""API keys: `ow_<tenant>_<random>`, stored as SHA-256 only."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onward.aws.tenants import Holder
from onward.domain.errors import Forbidden, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onward.aws.tenants import Tenants

TENANT: Final = re.compile(r"[a-z0-9-]{1,32}")
ROLE: Final = re.compile(r"submitter|operator|worker|approver(:[a-z0-9-]{1,32})?")
KEPT_SECONDS: Final = 60
"""How long a process goes on believing a key that was withdrawn meanwhile."""

SUBMITTING: Final = frozenset({"submitter", "operator"})
OPERATING: Final = frozenset({"operator"})

_SECRET_BYTES: Final = 24
_KEPT: Final = 256
_KEY: Final = re.compile(rf"ow_({TENANT.pattern})_[A-Za-z0-9_-]{{16,128}}")
_BEARER: Final = re.compile(r"Bearer +(\S+)", re.IGNORECASE)


def issue_key(
    tenants: Tenants,
    tenant: str,
    subject: str,
    roles: Iterable[str],
    entropy: Callable[[int], bytes],
) -> str:
    """Store a new key and return its text, which nobody can read again.

    Raises ValueError for a tenant or role that no key can carry.
    """
    held = frozenset(roles)
    if not TENANT.fullmatch(tenant):
        raise ValueError(f"a tenant matches {TENANT.pattern}")
    if not held or not all(ROLE.fullmatch(role) for role in held):
        raise ValueError(f"roles match {ROLE.pattern}")
    secret = urlsafe_b64encode(entropy(_SECRET_BYTES)).decode().rstrip("=")
    text = f"ow_{tenant}_{secret}"
    tenants.put_key(_digest(text), Holder(tenant, subject, held))
    return text


def authorise(holder: Holder, roles: frozenset[str]) -> None:
    """Raise Forbidden unless the key has one of the roles."""
    if not holder.roles & roles:
        raise Forbidden(f"this needs the role {' or '.join(sorted(roles))}")


class Doorkeeper:
    """Tells who is calling; a key that was found is kept for a minute, one that was not never."""

    def __init__(self, tenants: Tenants, clock: Callable[[], float]) -> None:
        """Start knowing nobody."""
        self._tenants = tenants
        self._clock = clock
        self._known: dict[str, tuple[Holder, float]] = {}

    def authenticate(self, authorization: str | None) -> Holder:
        """Return the holder of the key in an Authorization header; raises Unauthenticated.

        The lookup is by the key's hash, so its time says nothing of how much of a guess was
        right.
        """
        bearer = _BEARER.fullmatch((authorization or "").strip())
        if bearer is None:
            raise Unauthenticated("send the header Authorization: Bearer <key>")
        key = _KEY.fullmatch(bearer[1])
        if key is None:
            raise Unauthenticated("this is not an Onward key")
        return self._find(key[1], _digest(key[0]))

    def _find(self, tenant: str, digest: str) -> Holder:
        now = self._clock()
        known = self._known.get(digest)
        if known is not None and now < known[1]:
            return known[0]
        holder = self._tenants.key(tenant, digest)
        if holder is None:
            raise Unauthenticated("nobody issued this key")
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[digest] = (holder, now + KEPT_SECONDS)
        return holder


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()
