"""One record of the log as one line: JSON for machines, words for a terminal. Secrets of a known form are taken out of both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

import orjson

from stepwell.server.redaction import RedactSecrets, redact

LogFormat = Literal["auto", "json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]
Line = Callable[[logging.LogRecord], bytes]

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}
_SHORTENED = {"run_id": "run", "thread_id": "thread", "graph_id": "graph", "request_id": "request"}
_NOT_ON_A_TERMINAL = frozenset({"assistant_id", "owner_hash"})
_OURS = frozenset({"run_id", "thread_id", "assistant_id", "graph_id", "owner_hash", "request_id", "status", "route"})
"""Never a secret: made or checked by us. Looking through them for one took most of a line's time."""
_ID_LENGTH = 8
_redact = RedactSecrets()


def json_line(record: logging.LogRecord) -> bytes:
    """`{"time", "level", "logger", "message", ...}`; what was given as `extra` follows, and `exception` with its traceback."""
    _redact.filter(record)
    fields = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage(),
        **extras_of(record),
    }
    if record.exc_text:
        fields["exception"] = record.exc_text
    return orjson.dumps(fields, default=_as_text, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)


def text_line(record: logging.LogRecord) -> bytes:
    """For somebody who looks on: the time of day, the level if it is worth a look, words, and short ids."""
    _redact.filter(record)
    moment = datetime.fromtimestamp(record.created).astimezone()
    level = "" if record.levelno == logging.INFO else f"{record.levelname} "
    parts = [f"{moment:%H:%M:%S} {level}{record.getMessage()}"]
    parts += [f"{_SHORTENED.get(name, name)}={_short(name, value)}" for name, value in _shown(record).items()]
    trace = f"\n{record.exc_text}" if record.exc_text else ""
    return ("  ".join(parts) + trace + "\n").encode(errors="backslashreplace")


def extras_of(record: logging.LogRecord) -> dict[str, Any]:
    """What a record carries beside the standard fields, without secrets."""
    given = {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
    return {name: value if name in _OURS else _clean(value) for name, value in given.items()}


def _shown(record: logging.LogRecord) -> Mapping[str, Any]:
    return {name: value for name, value in extras_of(record).items() if name not in _NOT_ON_A_TERMINAL and value is not None}


def _short(name: str, value: Any) -> str:
    return str(value)[:_ID_LENGTH] if name.endswith("_id") else f"{value:.4g}" if isinstance(value, float) else str(value)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _clean(inner) for name, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list | tuple) else value


def _as_text(value: Any) -> str:
    return redact(str(value))
