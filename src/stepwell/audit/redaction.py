"""Keep keys and passwords out of the trail: what is written down is for readers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from stepwell.errors import EvidenceError

REDACTED = "REDACTED"
_PARAMETER_NAMES = (
    "key api_key apikey api-key token access_token auth password passwd secret client_secret signature sig x-amz-signature "
    "x-amz-credential x-amz-security-token subscription-key session sessionid"
)
_PARAMETERS = frozenset(_PARAMETER_NAMES.split())
_HEADER_NAMES = "authorization proxy-authorization cookie set-cookie x-api-key api-key x-subscription-token"
_USER = re.compile(r"//[^/?#@\s]*@")
_HEADERS = frozenset(_HEADER_NAMES.split())


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
    if any(name.casefold() in _PARAMETERS for name, _ in pairs):
        query = urlencode(
            [(name, REDACTED if name.casefold() in _PARAMETERS else value) for name, value in pairs], quote_via=quote
        )
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def without_secret_headers(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an answer; in its `headers` (a mapping, or a list of pairs), if it has some, no cookie and no key."""
    headers = data.get("headers")
    if isinstance(headers, list | tuple):
        return {**data, "headers": [pair for pair in headers if str(pair[0]).casefold() not in _HEADERS]}
    if not isinstance(headers, Mapping):
        return dict(data)
    return {**data, "headers": {name: value for name, value in headers.items() if str(name).casefold() not in _HEADERS}}
