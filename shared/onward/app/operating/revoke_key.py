"""A tenant's keys as its operators see them, and the end of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.app.access.keys import KEY_ID, OPERATING
from onward.app.live.wake_live import closing
from onward.app.operating.audit import audited
from onward.aws.codec import iso
from onward.domain.errors import Conflict, Contended, KeyNotFound, LastOperatorKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from onward.app.service import Service
    from onward.aws.tenants import Holder
    from onward.documents.operating import KeyList, KeyView
    from onward.domain.access import ApiKey

_ID_BYTES: Final = 8
_PAUSES: Final = (0.05, 0.1, 0.2, 0.4)
"""Seconds, full jitter: a key's use is noted in one short write."""


def list_keys(service: Service, tenant: str) -> KeyList:
    """Return a tenant's keys, the oldest first: all but the keys themselves."""
    now = service.clock()
    return {"keys": [_view(key, now) for key in service.door.keys.of(tenant)]}


def revoke_key(service: Service, holder: Holder, key_id: str, comment: str, *, last: bool) -> None:
    """Revoke a key: nothing that begins after this is let in by it, nor by its tickets.

    Its open sockets are closed by an order in the queue of `push_events`. Asked again, it orders
    that again and changes nothing. The tenant's last key of an operator is revoked with `last`
    only: without one nobody can revoke, resume or resolve until a key is issued with AWS
    credentials. Raises KeyNotFound, also for another tenant's, and LastOperatorKey.
    """
    keys = service.door.keys
    key = keys.get(holder.tenant, key_id) if KEY_ID.fullmatch(key_id) else None
    if key is None:
        raise KeyNotFound(f"there is no key {key_id}")
    if key.revoked_at is None:
        if not last and _is_last(key, keys.of(holder.tenant), service.clock()):
            raise LastOperatorKey(
                f"{key_id} is the last key of an operator; say last=true to revoke it all the same"
            )
        entry = audited(service, holder, "key.revoke", key_id, comment)
        beside = [service.audit.write(entry)]
        settled(service, lambda: keys.revoke(key, service.clock(), beside))
    once = service.entropy(_ID_BYTES).hex()
    service.live().send_ordered([closing(holder.tenant, key_id, once)])


def settled(service: Service, write: Callable[[], bool]) -> bool:
    """Return what a small transaction came to, tried again where it met another.

    Raises Contended.
    """
    for pause in (*_PAUSES, None):
        try:
            return write()
        except Conflict as conflict:
            if pause is None:
                raise Contended("the rows kept being written by others") from conflict
            service.sleep(pause * service.chance())
    raise AssertionError  # the last pause is None


def _is_last(key: ApiKey, keys: Iterable[ApiKey], now: float) -> bool:
    """Whether a key is of an operator, and no other that is valid is."""
    operators = {k.key_id for k in keys if k.roles & OPERATING and k.state(now) == "active"}
    return operators == {key.key_id}


def _view(key: ApiKey, now: float) -> KeyView:
    return {
        "id": key.key_id,
        "subject": key.subject,
        "roles": sorted(key.roles),
        "state": key.state(now),
        "created_at": iso(key.created_at),
        "expires_at": _time(key.expires_at),
        "last_used_at": _time(key.last_used_at),
        "revoked_at": _time(key.revoked_at),
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else iso(seconds)
