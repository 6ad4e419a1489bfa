"""Where a webhook may go. A run's owner names an address and *we* call it from inside the network, so it has to be guarded.

An address is checked twice. `check_webhook_url` checks what the text shows, when the run is admitted, so that the caller hears of it at
once. `resolve` looks up the name's addresses just before a call and gives those to connect to: every one of them must be allowed, and
the sender must connect to one of them and not look up the name again, because it may lead elsewhere the second time.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from stepwell.errors import ConfigurationError, FetchRefusedError, InvalidRequestError
from stepwell.settings import Secret
from stepwell.tools.web.addresses import is_public, literal_address, read_url

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

_LONGEST_URL = 2048
_NOWHERE = frozenset({"invalid", "onion"})
"""Ends of names that no resolver knows (RFC 6761, RFC 7686)."""
_NO_SUCH_HOST = "The webhook names a host that cannot exist. Check its spelling: 'https://host/path'."
_RESOLVE_TIMEOUT_S = 5.0


async def _ask_resolver(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@dataclass(frozen=True)
class WebhookRules:
    """What is allowed beyond `https` to public addresses. An allowed host or network may also be called by plain `http`."""

    allow_http: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    secret: Secret | None = None
    """Signs what is sent, so that the receiver can tell that it is from here."""
    resolve: Resolve = field(default=_ask_resolver, repr=False)

    @classmethod
    def allowing(cls, allowed: Sequence[str], *, allow_http: bool = False, secret: Secret | None = None) -> WebhookRules:
        """From a list of host names, addresses and networks (`10.1.0.0/16`)."""
        hosts, networks = set(), []
        for text in allowed:
            try:
                networks.append(ip_network(text.strip("[]"), strict=False))
            except ValueError:
                if "/" in text or ":" in text:
                    raise ConfigurationError(
                        f"'{text}' is not a host, address or network that webhooks could go to. Write 'hooks.example' or '10.1.0.0/16'."
                    ) from None
                hosts.add(text.lower())
        return cls(allow_http, frozenset(hosts), tuple(networks), secret)


def check_webhook_url(url: str, rules: WebhookRules) -> SplitResult:
    """Raise `InvalidRequestError` for an address that is wrong by its text alone."""
    parts = _split(url)
    host = (parts.hostname or "").lower()
    literal = literal_address(host)
    listed = host in rules.allowed_hosts or (literal is not None and _in(literal, rules.allowed_networks))
    if not listed and host.rpartition(".")[2] in _NOWHERE:
        raise InvalidRequestError(_NO_SUCH_HOST)
    local_name = host == "localhost" or host.endswith(".localhost")
    if not listed and not local_name and literal is not None and not is_public(literal):
        raise InvalidRequestError(
            "The webhook's address is not a public one. An operator can allow it with STEPWELL_WEBHOOK_ALLOW."
        )
    if local_name and not listed and not any(network.is_loopback for network in rules.allowed_networks):
        raise InvalidRequestError(
            "The webhook leads to the server itself. An operator can allow it with STEPWELL_WEBHOOK_ALLOW."
        )
    if parts.scheme == "http" and not (rules.allow_http or listed or local_name):
        raise InvalidRequestError("The webhook must begin with 'https://': what a run gives is not sent in the open.")
    return parts


async def resolve(parts: SplitResult, rules: WebhookRules) -> list[str]:
    """The addresses to connect to. `InvalidRequestError` when one of them is not allowed; `OSError` when there is none."""
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    literal = literal_address(host)
    async with asyncio.timeout(_RESOLVE_TIMEOUT_S):
        texts = [str(literal)] if literal else await rules.resolve(host, port)
    addresses = [ip_address(text.split("%")[0]) for text in texts]
    if not addresses:
        raise OSError("the name has no address")
    if host not in rules.allowed_hosts:
        for address in addresses:
            if not is_public(address) and not _in(address, rules.allowed_networks):
                raise InvalidRequestError("The webhook's name leads to an address that is not public.")
    return [str(address) for address in addresses]


def _split(url: str) -> SplitResult:
    """The address as it will be called: its name in ASCII, the rest percent-encoded. What can never be reached is refused here, and not
    by the resolver or the client at every attempt."""
    if url.startswith("/"):
        raise InvalidRequestError("The webhook is a path without a host. Give the whole address: 'https://host/path'.")
    if len(url) > _LONGEST_URL or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
        raise InvalidRequestError(f"The webhook must be an address of at most {_LONGEST_URL} characters without spaces.")
    try:
        given = urlsplit(url)
        parts = urlsplit(str(read_url(url)))
    except FetchRefusedError as error:
        if error.reason == "credentials":
            raise InvalidRequestError(
                "The webhook carries a user name or password. Leave it out; check the signature header instead."
            ) from error
        raise InvalidRequestError("The webhook must be an address like 'https://host/path'.") from error
    except ValueError as error:
        raise InvalidRequestError("The webhook is not an address that can be read: 'https://host/path' is one.") from error
    if not _is_host(given.netloc, parts.hostname or ""):
        raise InvalidRequestError(_NO_SUCH_HOST)
    return parts


def _is_host(netloc: str, host: str) -> bool:
    if "[" in netloc:  # only IPv6 stands in brackets, and a zone means something on one machine only
        return ":" in host and re.fullmatch(r"\[[^%\]]*\](:[0-9]*)?", netloc) is not None
    if literal_address(host) is not None:
        return True
    return all(_is_label(label) for label in host.split("."))


def _is_label(label: str) -> bool:
    if label.startswith("-") or label.endswith("-") or (label[2:4] == "--" and not label.startswith("xn--")):
        return False
    try:
        label.encode("ascii").decode("idna")
    except UnicodeError:
        return False
    return True


def _in(address: Address, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
