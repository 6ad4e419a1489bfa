"""Where a webhook may go. A run's owner chooses an address, but *we* call it from inside our network, so not every address may be allowed.

An address is checked twice. `check_webhook_url` checks the text when the run is admitted, so that the caller learns of a problem at once.
`resolve` looks up the name's addresses just before a call and returns those to connect to: every one of them must be allowed, and the
sender must connect to one of them without looking up the name again, because the name may lead elsewhere the second time.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from stepwell.errors import ConfigurationError, FetchRefusedError, InvalidRequestError
from stepwell.runs.graphs.project.webhooks import ProjectWebhooks
from stepwell.settings import Secret
from stepwell.tools.web.addresses import Address, Resolve, ask_resolver, is_public, literal_address, read_url

_LONGEST_URL = 2048
_NOWHERE = frozenset({"invalid", "onion"})
"""Top-level names that no resolver knows (RFC 6761, RFC 7686)."""
_NO_SUCH_HOST = "The webhook names a host that cannot exist. Check its spelling: 'https://host/path'."
_NOT_HERE = (
    "The webhook leads to the server itself, which the project excludes (webhooks.url.disable_loopback). Name another host."
)
_RESOLVE_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class WebhookRules:
    """What is allowed besides `https` to public addresses. Allowed hosts and networks may also be called by plain `http`."""

    allow_http: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    secret: Secret | None = None
    """Signs messages, so that the receiver can verify that they come from here."""
    resolve: Resolve = field(default=ask_resolver, repr=False)
    project: ProjectWebhooks = field(default_factory=ProjectWebhooks)
    """What the project that is served asks for besides."""

    def narrowed_by(self, project: ProjectWebhooks) -> WebhookRules:
        """These rules, with what a project asks for. What it does not want to be called is no longer allowed."""
        networks = () if project.no_private else self.allowed_networks
        hosts = frozenset() if project.no_private else self.allowed_hosts
        http = self.allow_http and not project.require_https
        return replace(self, project=project, allowed_networks=networks, allowed_hosts=hosts, allow_http=http)

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
    """Raise `InvalidRequestError` for an address whose text alone is invalid."""
    parts = _split(url)
    host = (parts.hostname or "").lower()
    _check_project(url, parts, rules.project)
    literal = literal_address(host)
    listed = host in rules.allowed_hosts or (literal is not None and _in(literal, rules.allowed_networks))
    if not listed and host.rpartition(".")[2] in _NOWHERE:
        raise InvalidRequestError(_NO_SUCH_HOST)
    local_name = host == "localhost" or host.endswith(".localhost")
    if rules.project.no_loopback and (local_name or (literal is not None and _is_here(literal))):
        raise InvalidRequestError(_NOT_HERE)
    if not listed and not local_name and literal is not None and not is_public(literal):
        raise InvalidRequestError(
            "The webhook's address is not a public one. An operator can allow it with STEPWELL_WEBHOOK_ALLOW."
        )
    if local_name and not listed and not any(network.is_loopback for network in rules.allowed_networks):
        raise InvalidRequestError(
            "The webhook leads to the server itself. An operator can allow it with STEPWELL_WEBHOOK_ALLOW."
        )
    if parts.scheme == "http" and not (rules.allow_http or listed or local_name):
        raise InvalidRequestError("The webhook must begin with 'https://': a run's results are not sent unencrypted.")
    return parts


def _check_project(url: str, parts: SplitResult, project: ProjectWebhooks) -> None:
    if project.disabled:
        raise InvalidRequestError(
            "Webhooks are disabled on this server. Send the request without 'webhook', and wait for the run."
        )
    if project.require_https and parts.scheme != "https":
        raise InvalidRequestError("The webhook must begin with 'https://'.")
    if not project.allows_host(parts.hostname or ""):
        raise InvalidRequestError(
            f"The webhook's host is not among those that the project allows: {', '.join(project.domains)}."
        )
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if project.ports and port not in project.ports:
        raise InvalidRequestError(f"The webhook's port is {port}; the project allows {', '.join(map(str, project.ports))}.")
    if project.max_url_length is not None and len(url) > project.max_url_length:
        raise InvalidRequestError(f"The webhook's address may have at most {project.max_url_length} characters.")


async def resolve(parts: SplitResult, rules: WebhookRules) -> list[str]:
    """The addresses to connect to. `InvalidRequestError` if one of them is not allowed; `OSError` if there is none."""
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    literal = literal_address(host)
    async with asyncio.timeout(_RESOLVE_TIMEOUT_S):
        texts = [str(literal)] if literal else await rules.resolve(host, port)
    addresses = [ip_address(text.split("%")[0]) for text in texts]
    if not addresses:
        raise OSError("the name has no address")
    if rules.project.no_loopback and any(_is_here(address) for address in addresses):
        raise InvalidRequestError(_NOT_HERE)
    if host not in rules.allowed_hosts:
        for address in addresses:
            if not is_public(address) and not _in(address, rules.allowed_networks):
                raise InvalidRequestError("The webhook's name leads to an address that is not public.")
    return [str(address) for address in addresses]


def _split(url: str) -> SplitResult:
    """The address as it will be called: its name in ASCII, the rest percent-encoded. Addresses that can never be reached are refused here,
    rather than by the resolver or the client at every attempt."""
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
        raise InvalidRequestError("The webhook is not a valid address. Write it like 'https://host/path'.") from error
    if not _is_host(given.netloc, parts.hostname or ""):
        raise InvalidRequestError(_NO_SUCH_HOST)
    return parts


def _is_host(netloc: str, host: str) -> bool:
    if "[" in netloc:  # only IPv6 addresses have brackets; one with a zone is only valid on one machine
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


def _is_here(address: Address) -> bool:
    """Whether an address leads to this machine, also in IPv6's way to write an IPv4 address."""
    plain = (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
    return plain.is_loopback or plain.is_unspecified


def _in(address: Address, networks: Sequence[IPv4Network | IPv6Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
