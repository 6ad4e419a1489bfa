"""Keep keys and passwords out of the trail: what is written down is for readers. What counts as one is `stepwell.secrets`' affair."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from stepwell.errors import EvidenceError
from stepwell.secrets.names import is_secret_header, is_secret_parameter

REDACTED = "REDACTED"
_USER = re.compile(r"//[^/?#@\s]*@")


def without_password(url: str) -> str:
    """The address, or what should be one, with its user name and password blotted out; it still shows that there were some."""
    return _USER.sub(f"//{REDACTED}@", url)


def without_secrets(url: str) -> str:
    """The address without user name, password, fragment, and the values of parameters that are keys."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise EvidenceError("A request goes to an address that is none. Check addresses before they are requested.") from error
    host = parts.netloc.rpartition("@")[2]
    query = parts.query
    pairs = parse_qsl(query, keep_blank_values=True)
    if any(is_secret_parameter(name) for name, _ in pairs):
        query = urlencode([(name, REDACTED if is_secret_parameter(name) else value) for name, value in pairs], quote_via=quote)
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def without_secret_headers(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an answer; in its `headers` (a mapping, or a list of pairs), if it has some, no cookie and no key."""
    headers = data.get("headers")
    if isinstance(headers, list | tuple):
        return {**data, "headers": [pair for pair in headers if not is_secret_header(str(pair[0]))]}
    if not isinstance(headers, Mapping):
        return dict(data)
    return {**data, "headers": {name: value for name, value in headers.items() if not is_secret_header(str(name))}}
