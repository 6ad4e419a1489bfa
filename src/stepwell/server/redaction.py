"""Takes secrets out of text: API keys, tokens, `Authorization` and cookies. For logs, as a filter on every handler.

The last line of defence, not the first: nothing of ours puts a secret into a log. Libraries and tracebacks might.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

_HIDDEN = "[hidden]"
_SECRETS = (
    (re.compile(r"\bsw_([0-9a-f]{12})_[A-Za-z0-9_-]{20,}"), rf"sw_\1_{_HIDDEN}"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*"), _HIDDEN),
    (
        re.compile(r"(?i)\b((?:proxy-)?authorization[\"']?\s*[:=,]\s*b?[\"']?\s*(?:bearer|basic)\s+)[^\s\"',;)]+"),
        rf"\1{_HIDDEN}",
    ),
    (re.compile(r"(?i)\b(x-api-key[\"']?\s*[:=,]\s*b?[\"']?\s*)[^\s\"',;)]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]{16,}"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)\b(stepwell_(?:session|sign_in)=)[^\s\"';,]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"(?i)([?&](?:code|state|key|token|access_token|id_token)=)[^\s\"'&#]+"), rf"\1{_HIDDEN}"),
    (re.compile(r"\b((?:sk|pk|rk)-(?:[a-z]+-)*)[A-Za-z0-9_-]{20,}"), rf"\1{_HIDDEN}"),
)


def redact(text: str) -> str:
    """The text without secrets of a known form."""
    for form, instead in _SECRETS:
        text = form.sub(instead, text)
    return text


class RedactSecrets(logging.Filter):
    """Redacts the message, what is filled into it, and the traceback of each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        # Filled in first: a secret among the arguments would otherwise be put in after us.
        message = record.getMessage()
        redacted = redact(message)
        if redacted != message:
            record.msg, record.args = redacted, None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


def redact_handlers(handlers: Iterable[logging.Handler]) -> None:
    """On handlers, because a filter on a logger does not see what its children log."""
    for handler in handlers:
        if not any(isinstance(each, RedactSecrets) for each in handler.filters):
            handler.addFilter(RedactSecrets())
