"""API keys: `ow_<tenant>_<random>`, stored as SHA-256 only.

Whether a key still opens anything is asked of its row at each request, consistently, and every
two seconds while a request is held: a key that was revoked is refused by whatever asks next.
Nothing remembers a key in between. That is a read of half a kilobyte a request (a quarter of a
dollar for a million where reads cost most, some milliseconds each), and no time at which one
process believes a key that another has refused.
"""

from __future__ import annotations

import hmac
import re
import threading
from base64 import urlsafe_b64encode
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from onward.aws.tenants import Holder
from onward.domain.access import ApiKey, key_id_of
from onward.domain.errors import Forbidden, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from onward.aws.api_keys import ApiKeys
    from onward.aws.tenants import Tenants

TENANT: Final = re.compile(r"[a-z0-9-]{1,32}")
ROLE: Final = re.compile(r"submitter|operator|worker|approver(:[a-z0-9-]{1,32})?")
KEY_ID: Final = re.compile(r"key_[0-9a-f]{20}")
MAX_SUBJECT: Final = 128

SUBMITTING: Final = frozenset({"submitter", "operator"})
OPERATING: Final = frozenset({"operator"})

USE_SECONDS: Final = 60
"""How exactly it is known when a key was last used."""

HELD_SECONDS: Final = 2.0
"""How long a request that is held goes on without asking for its key again."""

_SECRET_BYTES: Final = 24
_KEPT: Final = 256
_KEY: Final = re.compile(rf"ow_({TENANT.pattern})_[A-Za-z0-9_-]{{16,128}}")
_BEARER: Final = re.compile(r"Bearer +(\S+)", re.IGNORECASE)


def new_key(tenant: str, entropy: Callable[[int], bytes]) -> str:
    """Return the text of a fresh key; it opens nothing until it is stored."""
    secret = urlsafe_b64encode(entropy(_SECRET_BYTES)).decode().rstrip("=")
    return f"ow_{tenant}_{secret}"


def store_key(
    keys: ApiKeys,
    text: str,
    subject: str,
    roles: Iterable[str],
    now: float,
    expires_at: float | None = None,
) -> ApiKey:
    """Store a key's hash, and return the key as it was stored.

    Raises ValueError for a tenant, subject, role or expiry that no key can carry.
    """
    held, shape = frozenset(roles), _KEY.fullmatch(text)
    if shape is None:
        raise ValueError(f"a tenant matches {TENANT.pattern}")
    if not held or not all(ROLE.fullmatch(role) for role in held):
        raise ValueError(f"roles match {ROLE.pattern}")
    if not 1 <= len(subject) <= MAX_SUBJECT or not subject.isprintable():
        raise ValueError(f"a subject has 1 to {MAX_SUBJECT} printable characters")
    if expires_at is not None and expires_at <= now:
        raise ValueError("a key expires in the future")
    digest = _digest(text)
    key = ApiKey(key_id_of(digest), shape[1], subject, held, digest, now, expires_at)
    if not keys.put(key):
        raise ValueError(f"there is a key {key.key_id} already")
    return key


def issue_key(
    keys: ApiKeys,
    tenant: str,
    subject: str,
    roles: Iterable[str],
    entropy: Callable[[int], bytes],
    now: float,
    expires_at: float | None = None,
) -> tuple[str, ApiKey]:
    """Store a new key and return its text, which nobody can read again; raises ValueError."""
    text = new_key(tenant, entropy)
    return text, store_key(keys, text, subject, roles, now, expires_at)


def lasting_key(
    keys: ApiKeys,
    known: str | None,
    tenant: str,
    subject: str,
    roles: Iterable[str],
    entropy: Callable[[int], bytes],
    now: float,
) -> str:
    """Return a key that opens something: the known one, or a fresh one if that was revoked."""
    text = known or new_key(tenant, entropy)
    held = keys.get(tenant, key_id_of(_digest(text)))
    if held is not None and held.state(now) == "active":
        return text
    if held is not None:
        text = new_key(tenant, entropy)
    store_key(keys, text, subject, roles, now)
    return text


def adopt_keys(keys: ApiKeys, tenants: Tenants, tenant: str, now: float) -> list[str]:
    """Let keys of a release that kept them with the runs open as they did; return their ids.

    Nobody reads them there any more: what may write runs could have made itself a key. Those that
    were adopted before, and perhaps revoked since, stay as they are.
    """
    adopted = []
    for digest, holder in tenants.old_keys(tenant):
        key_id = key_id_of(digest)
        if keys.put(ApiKey(key_id, tenant, holder.subject, holder.roles, digest, now)):
            adopted.append(key_id)
    return adopted


def authorise(holder: Holder, roles: frozenset[str]) -> None:
    """Raise Forbidden unless the key has one of the roles."""
    if not holder.roles & roles:
        raise Forbidden(f"this needs the role {' or '.join(sorted(roles))}")


def approves(holder: Holder) -> bool:
    """Whether a key may approve anything at all."""
    return any(role == "approver" or role.startswith("approver:") for role in holder.roles)


def may_approve(holder: Holder, groups: Sequence[str]) -> bool:
    """Whether a key may approve an action: of one of these groups, or of none as any approver."""
    if not groups:
        return approves(holder)
    return any(f"approver:{group}" in holder.roles for group in groups)


def authorise_approver(holder: Holder) -> None:
    """Raise Forbidden unless the key may approve something; its step says which groups."""
    if not approves(holder):
        raise Forbidden("this needs a role approver, or approver:<group>")


def aside(work: Callable[[], object]) -> None:
    """Begin work that nobody waits for and whose failure nobody hears of.

    Lambda halts a process once it has answered: what is under way then goes on with the next
    request, or is lost.
    """

    def quietly() -> None:
        with suppress(Exception):
            work()

    threading.Thread(target=quietly, daemon=True).start()


class Doorkeeper:
    """Tells who is calling, by asking the key's row each time."""

    def __init__(
        self,
        keys: ApiKeys,
        clock: Callable[[], float],
        later: Callable[[Callable[[], object]], object] = aside,
    ) -> None:
        """`later` begins the noting of a key's use, for which no request waits."""
        self.keys: Final = keys
        self._clock = clock
        self._later = later
        self._noted: dict[str, float] = {}

    def authenticate(self, authorization: str | None) -> Holder:
        """Return the holder of the key in an Authorization header; raises Unauthenticated.

        The row is found by a part of the key's hash, and the whole of it compared in constant
        time: how long that takes says nothing of how much of a guess was right.
        """
        bearer = _BEARER.fullmatch((authorization or "").strip())
        if bearer is None:
            raise Unauthenticated("send the header Authorization: Bearer <key>")
        shape = _KEY.fullmatch(bearer[1])
        if shape is None:
            raise Unauthenticated("this is not an Onward key")
        digest = _digest(shape[0])
        key = self.keys.get(shape[1], key_id_of(digest))
        if key is None or not hmac.compare_digest(key.digest, digest):
            raise Unauthenticated("nobody issued this key")
        holder = self._admitted(key)
        self._note_use(key)
        return holder

    def admit(self, tenant: str, key_id: str) -> Holder:
        """Return the holder of a key that was seen before; raises Unauthenticated."""
        key = self.keys.get(tenant, key_id) if KEY_ID.fullmatch(key_id) else None
        if key is None:
            raise Unauthenticated("nobody issued this key")
        return self._admitted(key)

    def admits(self, tenant: str, key_id: str) -> bool:
        """Whether a key that was seen before still opens anything."""
        try:
            self.admit(tenant, key_id)
        except Unauthenticated:
            return False
        return True

    def remembering(self) -> Callable[[str, str], bool]:
        """Return `admits` for what asks for the same keys again and again: two seconds apart."""
        known: dict[tuple[str, str], tuple[float, bool]] = {}

        def admits(tenant: str, key_id: str) -> bool:
            at, found = known.get((tenant, key_id), (-HELD_SECONDS, False))
            if not 0 <= self._clock() - at < HELD_SECONDS:
                if len(known) >= _KEPT:
                    known.clear()
                at, found = self._clock(), self.admits(tenant, key_id)
                known[tenant, key_id] = at, found
            return found

        return admits

    def _admitted(self, key: ApiKey) -> Holder:
        state = key.state(self._clock())
        if state == "revoked":
            raise Unauthenticated("this key was revoked")
        if state == "expired":
            raise Unauthenticated("this key has expired")
        return Holder(key.tenant, key.subject, key.roles, key.key_id)

    def _note_use(self, key: ApiKey) -> None:
        """Have it written down that a key was used, unless that is known well enough.

        A process tries once a minute a key, also where the table took nothing.
        """
        now = self._clock()
        since = now - USE_SECONDS
        if max(key.last_used_at or 0.0, self._noted.get(key.key_id, 0.0)) > since:
            return
        if len(self._noted) >= _KEPT:
            self._noted.clear()
        self._noted[key.key_id] = now
        self._later(lambda: self.keys.used(key, now, since))


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()
