"""Close the sockets that a revoked key opened.

    revoking    key refused ─► queue "close" ─► push_events reads the key's sockets, hangs up
    opening     the socket's row ─► is the key refused? ─► the handshake is answered

Whichever comes first, one of the two sees the other: a row that was written too late for the
reader is followed by a look at a key that is refused by then. Whatever slips through all the same
is told at its next frame or event, which ask for the key as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from onward.domain.errors import OnwardError

if TYPE_CHECKING:
    from collections.abc import Callable

    from onward.aws.key_sockets import KeySockets

OPENING_SECONDS: Final = 6.0
"""How long a handshake may take: until then a socket that is not there may still open."""


class StillOpening(OnwardError):
    """A socket's handshake is under way: it can be closed once it is over."""


def close_sockets(
    held: KeySockets, hang_up: Callable[[str], bool], tenant: str, key_id: str, now: float
) -> int:
    """Close what a key opened and return how many sockets were open.

    Raises StillOpening, after all others were closed, where somebody has to look again.
    """
    closed, opening = 0, 0
    for socket in held.of(tenant, key_id):
        if hang_up(socket.connection):
            closed += 1
        elif now - socket.connected_at < OPENING_SECONDS:
            opening += 1
            continue
        held.forget(tenant, key_id, socket.connection)
    if opening:
        raise StillOpening(f"{opening} sockets of {key_id} are being opened")
    return closed
