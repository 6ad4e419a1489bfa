"""Which page a browser's request comes from, told by `Origin`. Only browsers send it, and a page cannot forge it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit


def from_own_page(headers: Mapping[str, str], public_url: str | None) -> bool:
    """The request was made by a page of this very server: same host and port, not merely the same site."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return is_own(origin, headers.get("host", ""), public_url)


def is_own(origin: str, host: str, public_url: str | None) -> bool:
    """Compares with how the request was addressed; behind a proxy also with how the server is called from outside."""
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        return False
    if public_url and origin.lower() == "{0.scheme}://{0.netloc}".format(urlsplit(public_url)).lower():
        return True
    return parts.netloc.lower() == host.lower()
