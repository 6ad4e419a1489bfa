"""Where a server listens by default, how this machine is written, and which paths anybody may ask for."""

from __future__ import annotations

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8123
DEFAULT_URL = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""This machine as it is written in a URL or a `Host` header."""

PUBLIC_PATHS = frozenset(
    {"/", "/ok", "/ready", "/info", "/openapi.json", "/docs", "/login", "/login/oidc", "/login/callback", "/logout", "/api/me"}
)
"""Answered to anybody. They show nothing that belongs to a user."""
