"""How hosts are spelled, which paths need no sign-in, and where a request is below a prefix."""

from __future__ import annotations

from collections.abc import MutableMapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from starlette.requests import HTTPConnection

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine in a URL or a `Host` header."""

Address = IPv4Address | IPv6Address
EVERYTHING = "*"
"""Stands for all hosts in a list of hosts."""

PUBLIC_PATHS = frozenset(
    {"/", "/ok", "/ready", "/info", "/openapi.json", "/docs", "/login", "/login/oidc", "/login/callback", "/logout", "/api/me"}
)
"""Paths that are served without sign-in; they show no user's data."""


def path_of(scope: MutableMapping[str, Any]) -> str:
    """The path that a request asks for, without the prefix below which everything is served (`http.mount_prefix`)."""
    return str(scope["path"]).removeprefix(scope.get("root_path") or "") or "/"


def address_of(request: HTTPConnection, public_url: str | None) -> str:
    """The address of this server, as others reach it, with the prefix and without a slash at the end."""
    if public_url is None:
        return str(request.base_url).rstrip("/")
    prefix = str(request.scope.get("root_path") or "")
    return public_url if public_url.endswith(prefix) else public_url + prefix


def read_network(text: str) -> IPv4Network | IPv6Network:
    """Parses a network; a single address counts as a network. `ValueError` for anything else, including host names."""
    return ip_network(text, strict=False)


def read_address(text: str) -> Address | None:
    """Parses an address, with or without a port; an IPv4-mapped IPv6 address becomes IPv4. `None` for anything else."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
