"""Checks addresses that come from outside: from a model, a page, a redirect or a user.

An address is checked twice. `read_url` checks the text. `resolve` looks up the name just before a connection and returns the addresses
to connect to: every one must be public, and the caller must connect to one of them without asking again, because a name may resolve
differently the second time.

This module makes no connections. It uses only the standard library, so that other layers can share it.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import quote, urljoin, urlsplit

from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.tools.documents.robots_rules import LONGEST_URL

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\Z")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "home.arpa", "lan", "onion")

_NAT64 = ip_network("64:ff9b::/96")
# Python's own tables have changed between patch versions; these networks are always refused.
_NEVER = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's internal service at an address that looks public
        "::/96", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
        "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip


async def ask_resolver(host: str, port: int) -> list[str]:
    """The system resolver's answer for a name."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class Url:
    """A parsed address. The connection is made from these parts, so that no second parser can find another host in the text."""

    scheme: str
    host: str
    """Lower case, without brackets; a name in its ASCII form."""
    port: int
    target: str
    """Path and query, as sent."""

    @property
    def authority(self) -> str:
        """The value of the `Host` header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return self.origin + self.target


@dataclass(frozen=True)
class AddressRules:
    """Where requests may go: by `http` and `https`, to the two usual ports of public addresses, and to what an operator adds."""

    ports: Collection[int] = frozenset({80, 443})
    resolve: Resolve = field(default=ask_resolver, repr=False)
    resolve_timeout_s: float = 5.0


def read_url(text: str) -> Url:
    """The parts of an address. Raises `FetchRefusedError` for an invalid address, or one that we do not follow."""
    if len(text) > LONGEST_URL or any(ord(letter) <= 32 or ord(letter) == 127 for letter in text) or "\\" in text:
        raise FetchRefusedError(f"An address has at most {LONGEST_URL} characters, no spaces and no backslash.", "url")
    try:
        parts = urlsplit(text)
        port = parts.port
        host = _ascii_host(parts.hostname or "")
    except (ValueError, UnicodeError) as error:
        raise FetchRefusedError("The address cannot be read. It needs https, a host and a path.", "url") from error
    if parts.scheme not in _PORTS:
        raise FetchRefusedError(f"Only https and http are fetched, not '{parts.scheme[:20]}:'.", "scheme")
    if not host or port == 0:
        raise FetchRefusedError("The address names no host. It needs https, a host and a path.", "url")
    if parts.username is not None or parts.password is not None:
        raise FetchRefusedError("The address carries a user name or password. Leave it out.", "credentials")
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]|") if parts.query else ""
    return Url(parts.scheme, host, port or _PORTS[parts.scheme], target + query)


def read_hop(current: Url, location: str) -> Url:
    """Where a `Location` header leads; raises `FetchRefusedError` like `read_url`."""
    try:
        text = urljoin(str(current), location.strip()).split("#")[0]
    except ValueError as error:
        raise FetchRefusedError("It leads to an address that cannot be read.", "url") from error
    return read_url(text)


def check_url(url: Url, rules: AddressRules) -> None:
    """Raise `FetchRefusedError` for an address that is visibly not allowed, without resolving it."""
    if url.port not in rules.ports:
        allowed = ", ".join(str(port) for port in sorted(rules.ports))
        raise FetchRefusedError(f"Port {url.port} of '{url.host}' is not allowed. Allowed ports: {allowed}.", "port")
    literal = literal_address(url.host)
    if literal is not None and not is_public(literal):
        raise FetchRefusedError(f"'{url.host}' is not a public address. Only the public web is fetched.", "address")
    if literal is None and any(url.host == name or url.host.endswith("." + name) for name in _LOCAL_NAMES):
        raise FetchRefusedError(f"'{url.host}' is a name inside a network. Only the public web is fetched.", "address")


async def resolve(host: str, port: int, rules: AddressRules, *, inside: bool = False) -> list[str]:
    """The addresses to connect to. The name is resolved once, and refused if one address is not public, unless the operator named it."""
    literal = literal_address(host)
    try:
        async with asyncio.timeout(rules.resolve_timeout_s):
            texts = [str(literal)] if literal else list(await rules.resolve(host, port))
    except TimeoutError as error:
        raise FetchFailedError(f"The name '{host}' was not resolved in {rules.resolve_timeout_s:g} s.", "time") from error
    except OSError as error:
        raise FetchFailedError(f"The name '{host}' has no address.", "network") from error
    # A zone ('fe80::1%eth0') names the interface; only link-local addresses have one, and those are refused.
    addresses = [ip_address(text.split("%")[0]) for text in texts]
    if not addresses:
        raise FetchFailedError(f"The name '{host}' has no address.", "network")
    if not inside and not all(is_public(address) for address in addresses):
        raise FetchRefusedError(f"The name '{host}' leads to an address that is not public.", "address")
    return [str(address) for address in addresses]


def is_public(address: Address) -> bool:
    """Whether anyone can reach the address. IPv6 forms that carry an IPv4 address are refused, except for NAT64's own prefix: through it
    IPv6-only networks see the whole public IPv4 web, so for that prefix the IPv4 address inside decides."""
    if isinstance(address, IPv6Address) and address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if any(address.version == network.version and address in network for network in _NEVER):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def literal_address(host: str) -> Address | None:
    """The host as an IP address, if it is one. Like the system's resolver, this also accepts '127.1', '0x7f000001' and '2130706433'."""
    try:
        return ip_address(host.split("%")[0])
    except ValueError:
        if not re.fullmatch(r"[0-9a-fx.]+", host):
            return None
    try:
        return IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return None


def _ascii_host(given: str) -> str:
    """A plain name, or an address in its usual form; otherwise raises `ValueError` or `FetchRefusedError`. Some programs read anything that
    ends in a number as an address, and each reads `00127.0.0.1`, `0x7f.1` or digits of another script in its own way."""
    host = given.lower()
    if ":" in host:
        return str(ip_address(host.split("%")[0]))
    if not host.isascii():
        host = host.encode("idna").decode("ascii")
    host = host.removesuffix(".")
    if len(host) > 253 or (host and not _NAME.match(host)):
        raise ValueError("not a host name")
    if _NUMBER.fullmatch(host.rpartition(".")[2]) and not _is_usual(given):
        raise FetchRefusedError(
            "The address is a number in an unusual form. Write it as four numbers: 93.184.216.34.", "address"
        )
    return host


def _is_usual(host: str) -> bool:
    try:
        return str(IPv4Address(host)) == host
    except ValueError:
        return False
