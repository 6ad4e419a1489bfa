"""Removes secrets from the log. `stepwell.secrets` decides what is a secret.

This is the last line of defence, not the first: our own code logs no secrets, but libraries and tracebacks might.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from stepwell.secrets.names import is_secret
from stepwell.secrets.text import HIDDEN, hide_secrets

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}


def extras_of(record: logging.LogRecord) -> dict[str, Any]:
    """A record's fields besides the standard ones."""
    return {name: value for name, value in record.__dict__.items() if name not in _STANDARD}


def hide_in_record(record: logging.LogRecord, known: Collection[str] = ()) -> None:
    """Remove secrets from the message, its arguments and the traceback; those in `known` also from the extra fields."""
    # Format it first: otherwise a secret among the arguments would be inserted after us.
    message = record.getMessage()
    hidden = hide_secrets(message, known)
    if hidden != message:
        record.msg, record.args = hidden, None
    if record.exc_info and not record.exc_text:
        record.exc_text = logging.Formatter().formatException(record.exc_info)
    if record.exc_text:
        record.exc_text = hide_secrets(record.exc_text, known)
    if record.stack_info:
        record.stack_info = hide_secrets(record.stack_info, known)
    if known:
        record.__dict__.update({name: clean(value, known) for name, value in extras_of(record).items()})


def clean_field(name: str, value: Any, known: Collection[str] = ()) -> Any:
    """A field's value: hidden if its name marks it as a secret, otherwise with secrets removed from its texts."""
    return HIDDEN if value and is_secret(name, value) else clean(value, known)


def clean(value: Any, known: Collection[str] = ()) -> Any:
    """A value with secrets removed from its texts."""
    if isinstance(value, str):
        return hide_secrets(value, known)
    if isinstance(value, Mapping):
        return {name: clean_field(str(name), inner, known) for name, inner in value.items()}
    return [clean(inner, known) for inner in value] if isinstance(value, list | tuple) else value
