"""Parses environment variables one by one: returns a value, or raises an error that names the variable.

It does not know what the variables are for; they come from `stepwell.settings`. The command line needs this module for `--help`, so it
imports others only when it needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from stepwell.errors import ConfigurationError

T = TypeVar("T")


class Variables:
    """The variables that are set. An empty one counts as not set."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    def text(self, name: str) -> str | None:
        return self._texts.get(name, "").strip() or None

    def listing(self, name: str) -> tuple[str, ...]:
        """Values separated by commas."""
        return tuple(part.strip() for part in (self.text(name) or "").split(",") if part.strip())

    def switch(self, name: str) -> bool:
        return self.choice(name, {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}, False)

    def choice(self, name: str, choices: Mapping[str, T], default: T) -> T:
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in choices:
            raise ConfigurationError(f"{name} is '{text}'; it can be {', '.join(choices)}.")
        return choices[text.lower()]

    def whole(self, name: str, default: T, *, least: int = 1, most: int = 2**40) -> int | T:
        """A whole number within bounds."""
        text = self.text(name)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or not least <= int(text[:20]) <= most:
            raise ConfigurationError(f"{name} is '{text}'; it must be a whole number from {least} to {most}.")
        return int(text)

    def address(self, name: str) -> str | None:
        """An http(s) address, without a trailing slash. Plain http is allowed only for this machine."""
        text = self.text(name)
        if text is None:
            return None
        try:
            parts = urlsplit(text)
            loopback = is_loopback(parts.hostname or "")
        except ValueError as error:
            raise ConfigurationError(f"{name} is not an address: {error}.") from error
        if not parts.hostname or parts.username or not (parts.scheme == "https" or (parts.scheme == "http" and loopback)):
            raise ConfigurationError(f"{name} must be an https:// address without a user name (http:// only for this machine).")
        return text.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether `host` is a loopback name or address."""
    from ipaddress import ip_address

    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
