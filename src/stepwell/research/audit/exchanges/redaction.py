"""Keeps keys and passwords out of the trail, because others will read it. `stepwell.secrets` decides what counts as a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from stepwell.errors import EvidenceError
from stepwell.secrets.names import is_secret_header, is_secret_parameter
from stepwell.secrets.text import HIDDEN, hide_secrets

REDACTED = "REDACTED"
_USER = re.compile(r"//[^/?#@\s]*@")


def without_password(url: str) -> str:
    """The address, valid or not, with user name and password redacted; it still shows that there were some."""
    return _USER.sub(f"//{REDACTED}@", url)


def without_secrets_in_url(url: str) -> str:
    """The address without user name, password, fragment, values of parameters that are keys, and keys of a known form elsewhere."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise EvidenceError("A request has an address that cannot be read. Check addresses before you request them.") from error
    host = parts.netloc.rpartition("@")[2]
    query = parts.query
    pairs = parse_qsl(query, keep_blank_values=True)
    if any(is_secret_parameter(name) for name, _ in pairs):
        query = urlencode([(name, REDACTED if is_secret_parameter(name) else value) for name, value in pairs], quote_via=quote)
    return hide_secrets(urlunsplit((parts.scheme, host, parts.path, query, ""))).replace(HIDDEN, REDACTED)


def without_secret_headers(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an answer with cookies and keys removed from its `headers` (a mapping, or a list of pairs), and keys of a known form
    hidden everywhere else, such as in a redirect address or an error."""
    headers = data.get("headers")
    if isinstance(headers, list | tuple):
        data = {**data, "headers": [pair for pair in headers if not is_secret_header(str(pair[0]))]}
    elif isinstance(headers, Mapping):
        data = {**data, "headers": {name: value for name, value in headers.items() if not is_secret_header(str(name))}}
    return {name: hide_in(value) for name, value in data.items()}


def hide_in(value: Any) -> Any:
    """The value with secrets of a known form hidden in all of its texts."""
    if isinstance(value, str):
        return hide_secrets(value)
    if isinstance(value, Mapping):
        return {name: hide_in(inner) for name, inner in value.items()}
    return [hide_in(inner) for inner in value] if isinstance(value, list | tuple) else value
