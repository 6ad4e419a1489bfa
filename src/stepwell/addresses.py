"""Where a server listens by default, and where commands look for it."""

from __future__ import annotations

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8123
DEFAULT_URL = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"
