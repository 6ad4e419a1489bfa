"""Formats a log record as one line: JSON for machines, text for a terminal. Secrets of a known form are removed from both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from stepwell.secrets.text import hide_secrets
from stepwell.server.monitoring.redaction import clean_field, extras_of, hide_in_record

Line = Callable[[logging.LogRecord], bytes]

_SHORTENED = {"run_id": "run", "thread_id": "thread", "graph_id": "graph", "request_id": "request"}
_NOT_ON_A_TERMINAL = frozenset({"assistant_id", "owner_hash"})
_OURS = frozenset({"run_id", "thread_id", "assistant_id", "graph_id", "owner_hash", "request_id", "status", "route"})
"""Fields that we create or validate. They contain no secrets, so they are not searched, which took most of the time for a line."""
_ID_LENGTH = 8
RUNS = "stepwell.runs"
"""The logger with one record per run that ended."""
_ENDS = {
    "success": "finished",
    "error": "failed",
    "timeout": "ran out of time",
    "interrupted": "was stopped",
    "given up": "was handed back",
}
_LAYOUT = "\n\t"
"""Control characters that a traceback may keep."""


def json_line(record: logging.LogRecord) -> bytes:
    """`{"time", "level", "logger", "message", ...}`, followed by the `extra` fields, and `exception` with its traceback."""
    hide_in_record(record)
    fields = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": record.getMessage(),
        **_extras(record),
    }
    if record.exc_text:
        fields["exception"] = record.exc_text
    return orjson.dumps(fields, default=_as_text, option=orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE)


def text_line(record: logging.LogRecord) -> bytes:
    """For a terminal: the time of day, the level unless it is INFO, and the message with short ids; the end of a run as a sentence."""
    hide_in_record(record)
    moment = datetime.fromtimestamp(record.created).astimezone()
    level = "" if record.levelno == logging.INFO else f"{record.levelname} "
    fields = _choose_fields(record)
    if record.name == RUNS and "seconds" in fields:
        parts = [f"{moment:%H:%M:%S} {_end_of_run(fields)}"]
    else:
        parts = [f"{moment:%H:%M:%S} {level}{record.getMessage()}"]
        parts += [f"{_SHORTENED.get(name, name)}={_short(name, value)}" for name, value in fields.items()]
    trace = f"\n{_harmless(record.exc_text, keep=_LAYOUT)}" if record.exc_text else ""
    return (_harmless("  ".join(parts)) + trace + "\n").encode(errors="backslashreplace")


def _end_of_run(fields: Mapping[str, Any]) -> str:
    """`research finished in 4.2 s · 3,210 tokens · $0.0123 · run 01234567`"""
    questions = fields.get("questions")
    ended = (
        f"waits for {questions} answer{'' if questions == 1 else 's'}" if questions else _ENDS.get(fields["status"], "ended")
    )
    said = [f"{fields.get('graph_id', 'A run')} {ended} after {fields['seconds']:.1f} s"]
    if tokens := fields.get("input_tokens", 0) + fields.get("output_tokens", 0):
        said.append(f"{tokens:,} tokens")
    if cost := fields.get("cost_usd"):
        said.append(f"${cost:.4f}")
    if "run_id" in fields:
        said.append(f"run {_short('run_id', fields['run_id'])}")
    return " · ".join(said)


def _harmless(text: str, keep: str = "") -> str:
    """Escape control characters: a path or a model's text may contain some that a terminal would obey."""
    return (
        text
        if text.isprintable()
        else "".join(each if each.isprintable() or each in keep else ascii(each)[1:-1] for each in text)
    )


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    """A record's extra fields, without secrets."""
    return {name: value if name in _OURS else clean_field(name, value) for name, value in extras_of(record).items()}


def _choose_fields(record: logging.LogRecord) -> Mapping[str, Any]:
    return {name: value for name, value in _extras(record).items() if name not in _NOT_ON_A_TERMINAL and value is not None}


def _short(name: str, value: Any) -> str:
    return str(value)[:_ID_LENGTH] if name.endswith("_id") else f"{value:.4g}" if isinstance(value, float) else str(value)


def _as_text(value: Any) -> str:
    return hide_secrets(str(value))
