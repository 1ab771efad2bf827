"""Idempotency-Key: the same key with the same body names the same run.

    Powertools' record          the key's row              what the caller gets
    ──────────────────          ─────────────              ────────────────────
    none                        none                       a new run; both are written
    none (expired, deleted)     run 1                      run 1
    in progress                 none, for 2 s              409, try again
    in progress                 run 1, within 2 s          run 1
    in progress (caller died)   run 1                      run 1
    completed: run 1            run 1                      run 1

The row decides, for it is written in the run's own transaction; the record in front saves the
work of a second submission while the first is under way.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from onward.app.submitting.submit_run import KeyOfRequest, KeyTaken
from onward.aws.codec import dumps
from onward.aws.idempotency import InFlight, NoAnswer
from onward.domain.errors import IdempotencyInProgress, IdempotencyKeyReused, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.app.service import Service
    from onward.aws.tenants import SubmitKey
    from onward.domain.model import Json

MAX_KEY: Final = 255

_PAUSES: Final = (0.05, 0.1, 0.2, 0.35, 0.55, 0.75)
"""Seconds, 2 in all."""

_QUOTED: Final = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_BARE: Final = re.compile(r"[!#-+\--:<-\[\]-~]+")


def read_key(header: str) -> str:
    """Return the key in an `Idempotency-Key` header: a structured-field string, or bare.

    A string is quoted printable ASCII (RFC 8941, 3.3.3); a bare key has no space, quote, comma,
    semicolon or backslash. `"k"` and `k` are the same key. Raises RequestError for anything
    else, also for two headers, which a gateway joins by a comma.
    """
    text = header.strip()
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        key = re.sub(r"\\(.)", r"\1", quoted[1])
    elif _BARE.fullmatch(text):
        key = text
    else:
        raise RequestError('Idempotency-Key is one string, "quoted" or bare printable ASCII')
    if not 1 <= len(key) <= MAX_KEY:
        raise RequestError(f"Idempotency-Key has 1 to {MAX_KEY} characters")
    return key


def key_of_request(header: str, body: Json) -> KeyOfRequest:
    """Return what identifies a request: order of members and white space make no difference."""
    digest = sha256(dumps(body).encode()).hexdigest()
    return KeyOfRequest(sha256(read_key(header).encode()).hexdigest(), digest)


def submit_once(service: Service, tenant: str, key: KeyOfRequest, submit: Callable[[], str]) -> str:
    """Return the id of the key's run, made by `submit` unless there is one.

    Raises IdempotencyKeyReused when it has another body's run, IdempotencyInProgress when the
    first request is under way and does not commit within 2 s, or whatever `submit` raises but
    KeyTaken.
    """

    def work() -> dict[str, Any]:
        held = _found(service, tenant, key) or _submitted(submit, key)
        return {"run_id": held[0], "digest": held[1]}

    try:
        answer = service.once(f"{tenant}/{key.key}", work)
    except InFlight:
        found = _awaited(service, tenant, key)
        if found is None:
            raise IdempotencyInProgress(
                "the first request with this Idempotency-Key is under way"
            ) from None
        answer = {"run_id": found[0], "digest": found[1]}
    except NoAnswer:
        answer = work()
    if answer["digest"] != key.digest:
        raise IdempotencyKeyReused("this Idempotency-Key came before with another body")
    return str(answer["run_id"])


def _awaited(service: Service, tenant: str, key: KeyOfRequest) -> tuple[str, str] | None:
    """Return the key's run once its row is there; None when it takes longer than the pauses.

    A commit takes some 20 ms, so callers who race with the first one are all answered.
    """
    found = _found(service, tenant, key)
    for pause in _PAUSES:
        if found is not None:
            break
        service.sleep(pause)
        found = _found(service, tenant, key)
    return found


def _found(service: Service, tenant: str, key: KeyOfRequest) -> tuple[str, str] | None:
    held = service.tenants.submitted(tenant, key.key, service.clock())
    return None if held is None else _pair(held)


def _submitted(submit: Callable[[], str], key: KeyOfRequest) -> tuple[str, str]:
    try:
        return submit(), key.digest
    except KeyTaken as taken:
        return _pair(taken.held)


def _pair(held: SubmitKey) -> tuple[str, str]:
    return held.run_id, held.digest
