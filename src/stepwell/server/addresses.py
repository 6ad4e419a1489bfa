"""Where a server listens if nothing else is said, and how this machine is written."""

from __future__ import annotations

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8123
DEFAULT_URL = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""This machine as it is written in a URL or a `Host` header."""
