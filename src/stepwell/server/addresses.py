"""How hosts are spelled, and which paths need no sign-in."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine in a URL or a `Host` header."""

Address = IPv4Address | IPv6Address
EVERYTHING = "*"
"""Stands for all hosts in a list of hosts."""

PUBLIC_PATHS = frozenset(
    {"/", "/ok", "/ready", "/info", "/openapi.json", "/docs", "/login", "/login/oidc", "/login/callback", "/logout", "/api/me"}
)
"""Paths that are served without sign-in; they show no user's data."""


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
