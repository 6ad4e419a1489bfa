"""What a response or an exception shows, whichever package it comes from.

Exceptions are read by what they carry: a status and the names of their base classes (`models.sdk_errors`), a body, the system error at
the end of the chain. The text is for recognising faults only; nothing of it is ever shown.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stepwell.errors import errors_within
from stepwell.models.sdk_errors import TIMEOUTS, UNREACHABLE, class_names, status_of

Connection = Literal[
    "refused", "unknown host", "certificate", "not tls", "proxy", "timeout", "not http", "not json", "unreachable"
]

_NO_HOST = ("name or service not known", "nodename nor servname", "getaddrinfo failed", "temporary failure in name resolution")


@dataclass(frozen=True)
class Evidence:
    """What is known about a failure."""

    status: int | None = None
    text: str = ""
    """The body or the message, in small letters."""
    headers: Mapping[str, str] = field(default_factory=dict)
    connection: Connection | None = None
    error: str | None = None
    """The class of an exception."""
    certificate: int | None = None
    """OpenSSL's number for what is wrong with a certificate."""

    @property
    def is_web_page(self) -> bool:
        return "text/html" in self.headers.get("content-type", "") or self.text.lstrip().startswith(("<!doctype html", "<html"))


def evidence_of(error: BaseException) -> Evidence:
    """What an exception and its causes show."""
    chain = list(errors_within(error))
    status = next((found for found in map(status_of, chain) if found), None)
    response = next((found for each in chain if (found := getattr(each, "response", None)) is not None), None)
    text = " ".join(part for each in chain for part in _texts(each)).lower()
    certificate = next((each.verify_code for each in chain if isinstance(each, ssl.SSLCertVerificationError)), None)
    connection = None if status else _connection(chain, text)
    return Evidence(status, text, _headers(response), connection, type(error).__name__, certificate)


def _texts(error: BaseException) -> Iterator[str]:
    yield str(error)
    for name in ("body", "details", "error"):
        found = getattr(error, name, None)
        if isinstance(found, str | Mapping | list):
            yield str(found)


def _headers(response: Any) -> Mapping[str, str]:
    headers: Any = getattr(response, "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _connection(chain: list[BaseException], text: str) -> Connection | None:
    names = frozenset[str]().union(*map(class_names, chain))
    signs: tuple[tuple[Connection, bool], ...] = (
        ("certificate", "SSLCertVerificationError" in names),
        ("not tls", any(isinstance(each, ssl.SSLError) for each in chain) or "wrong_version_number" in text),
        ("proxy", "ProxyError" in names),
        ("unknown host", any(isinstance(each, socket.gaierror) for each in chain) or any(sign in text for sign in _NO_HOST)),
        ("timeout", bool(names & TIMEOUTS) or "TimeoutError" in names),
        (
            "refused",
            "ConnectionRefusedError" in names or "connection refused" in text or "all connection attempts failed" in text,
        ),
        ("not http", "RemoteProtocolError" in names or "ReadError" in names),
        ("not json", "JSONDecodeError" in names or "APIResponseValidationError" in names),
        ("unreachable", "ConnectError" in names or isinstance(chain[0], OSError) or bool(names & UNREACHABLE)),
    )
    return next((kind for kind, holds in signs if holds), None)
