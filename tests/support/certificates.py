"""The usual certificates are read once in a process: 30 ms for each HTTP client is the largest part of many tests that have one.

Every HTTP client makes a context of its own for TLS, with some 140 certificates, also if it only ever talks to loopback. Contexts can be
shared, and here they are; with other certificates or another purpose, each is made anew. Importing this module does it, because Python's
fork server can be told to import, and nothing else.
"""

from __future__ import annotations

import os
import ssl
from functools import cache
from typing import Any

import certifi

_make = ssl.create_default_context


@cache
def _shared(cafile: str) -> ssl.SSLContext:
    return _make(cafile=cafile)


def _create_default_context(purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH, **which: Any) -> ssl.SSLContext:
    usual = (certifi.where(), os.environ.get("SSL_CERT_FILE"))
    if purpose is ssl.Purpose.SERVER_AUTH and which.keys() == {"cafile"} and which["cafile"] in usual:
        return _shared(which["cafile"])
    return _make(purpose, **which)


ssl.create_default_context = _create_default_context
_shared(certifi.where())
