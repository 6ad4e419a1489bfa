"""Where a server listens if nothing else is said, and which hosts are this machine.

The command line reads it for `--help`, so nothing is imported here before it is needed.
"""

from __future__ import annotations

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8123
DEFAULT_URL = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""This machine as it is written in a URL or a `Host` header."""


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, reached from this machine only."""
    from ipaddress import ip_address

    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
