"""Turns the addresses of local model servers, as people write them, into URLs.

Accepts the same forms as Ollama: `host`, `host:port`, `:port`, `0.0.0.0`, with or without `http://` or `https://`, IPv6 in brackets, a
path at the end. For a client, an address to listen on (`0.0.0.0`, `::`) means this machine.
"""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from stepwell.errors import ConfigurationError

_LISTEN_ON_ALL = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  read as a client's address, nothing binds


def server_url(address: str | None, *, default_port: int, default_path: str = "", variable: str) -> str:
    """The URL for an address. `variable` names the setting in errors, which never contain the address itself (it may contain a
    password)."""
    text = (address or "").strip().rstrip("/")
    with_scheme = "://" in text
    try:
        parts = urlsplit(text if with_scheme else f"http://{text}")
        port = parts.port
    except ValueError as error:
        raise _refusal(variable) from error
    if parts.scheme not in ("http", "https") or any(character.isspace() for character in text):
        raise _refusal(variable)
    if port is None and not with_scheme:
        port = default_port
    return f"{parts.scheme}://{_netloc(parts, port)}{parts.path or default_path}"


def _netloc(parts: SplitResult, port: int | None) -> str:
    host = parts.hostname or ""
    host = _LISTEN_ON_ALL.get(host, host)
    bracketed = f"[{host}]" if ":" in host else host
    user, at, _ = parts.netloc.rpartition("@")
    return f"{user}{at}{bracketed}" + (f":{port}" if port is not None else "")


def _refusal(variable: str) -> ConfigurationError:
    return ConfigurationError(
        f"{variable} is not an address of a server. Write it as 'host', 'host:port' or 'http://host:port', "
        "for example 'http://127.0.0.1:11434'."
    )
