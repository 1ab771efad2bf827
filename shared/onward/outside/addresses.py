"""Which addresses a webhook may have: no way into the network that we ourselves stand in.

Names are resolved here, and the connection goes to an address that was checked: a name that
resolves to something else a moment later (DNS rebinding) changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
    Addresses: TypeAlias = list[tuple[int, tuple[str, int]]]

MAX_URL: Final = 2048

PORTS: Final = frozenset({80, 443, 8080, 8443})
"""Where webhooks are received unless the stack says otherwise: elsewhere something else listens,
which a request of ours may make do what we do not know."""

_DEFAULT_PORT: Final = {"http": 80, "https": 443}
_METADATA: Final = frozenset({ipaddress.IPv6Address("fd00:ec2::254")})
_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/96")
"""IPv4 inside IPv6 by NAT64 (RFC 6052); the other such forms `ipaddress` knows itself."""


class AddressRefused(ValueError):
    """Nothing may be sent there; the text says why."""


class NameUnknown(OSError):
    """The name resolves to nothing, at least now."""


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"


def parse(url: str, *, local: bool) -> Target:
    """Take a URL apart; raises AddressRefused for what no webhook has.

    Only https, and http where the stack allows local addresses: there nobody listens in.
    """
    if len(url) > MAX_URL or not url.isprintable() or not url.isascii() or " " in url:
        raise AddressRefused(f"a URL has at most {MAX_URL} printable ASCII characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefused(str(error)) from error
    if parts.scheme not in ({"http", "https"} if local else {"https"}):
        raise AddressRefused("the URL begins with https://")
    if not parts.hostname:
        raise AddressRefused("the URL has no host")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise AddressRefused("the URL has neither user, password nor fragment")
    path = parts.path or "/"
    path = f"{path}?{parts.query}" if parts.query else path
    return Target(parts.scheme, parts.hostname, port or _DEFAULT_PORT[parts.scheme], path)


def resolve(target: Target, *, local: bool, ports: frozenset[int] = PORTS) -> Addresses:
    """Return the addresses of a target as (family, socket address).

    Raises AddressRefused when any of them is one that a webhook must not have, or its port is
    none of those allowed (any is on the loopback, where that is allowed); NameUnknown when there
    are none.
    """
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NameUnknown(f"{target.host} does not resolve") from error
    addresses = []
    for family, _, _, _, address in found:
        if family not in {socket.AF_INET, socket.AF_INET6}:
            continue
        text = str(address[0])
        check(_plain(text), local=local)
        addresses.append((int(family), (text, target.port)))
    if not addresses:
        raise NameUnknown(f"{target.host} has no address")
    if target.port not in ports and not (local and loopback(addresses)):
        listed = ", ".join(map(str, sorted(ports)))
        raise AddressRefused(f"webhooks are not sent to port {target.port}, only to {listed}")
    return addresses


def loopback(addresses: Addresses) -> bool:
    """Whether all addresses are this machine's own."""
    return all(_unwrapped(_plain(address[0])).is_loopback for _, address in addresses)


def _plain(text: str) -> Address:
    """Return an address without the zone that a link-local one may bear."""
    return ipaddress.ip_address(text.split("%", 1)[0])


def check(address: Address, *, local: bool) -> None:
    """Raise AddressRefused unless an address is public, or local where that is allowed.

    Link-local ones are refused anywhere, and so is a private one of IPv6: the metadata services
    of the cloud live there.
    """
    real = _unwrapped(address)
    site_local = isinstance(real, ipaddress.IPv6Address) and real.is_site_local
    never = real.is_link_local or real.is_multicast or real.is_unspecified or real.is_reserved
    if never or site_local or real in _METADATA:
        raise AddressRefused(f"{address} is not an address that webhooks are sent to")
    if not real.is_global and not (local and (real.is_private or real.is_loopback)):
        raise AddressRefused(f"{address} is not a public address")


def _unwrapped(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 one stands for, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
    return address if inner is None else inner
