"""Converts database rows to records and back. It knows the columns of assistants, threads and runs; modules with tables of their own read
theirs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import orjson

from stepwell.database.types import Assistant, PendingInterrupt, Run, RunRequest, Thread
from stepwell.errors import InvalidRequestError
from stepwell.sql import Row


def dumps(value: Any) -> str:
    """JSON text for a column. Values come from a parsed request or from `wire.plain`, so they are already JSON."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError as error:
        if "not JSON serializable" in str(error):  # our own mistake, not the caller's
            raise
        raise InvalidRequestError(
            f"A value cannot be stored as JSON ({error}). Send whole numbers within 64 bits, valid Unicode and less nesting."
        ) from error


def loads(text: str | bytes | None) -> Any:
    return None if text is None else orjson.loads(text)


def to_time(moment: datetime) -> float:
    return moment.timestamp()


def from_time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else from_time(seconds)


def assistant_from_row(row: Row) -> Assistant:
    return Assistant(
        assistant_id=row["assistant_id"],
        graph_id=row["graph_id"],
        owner=row["owner"],
        name=row["name"],
        description=row["description"],
        config=loads(row["config"]),
        context=loads(row["context"]),
        metadata=loads(row["metadata"]),
        version=row["version"],
        created_at=from_time(row["created_at"]),
        updated_at=from_time(row["updated_at"]),
    )


def thread_from_row(row: Row, values: bytes | None) -> Thread:
    """A row of `threads`, with its values, which are stored elsewhere."""
    return Thread(
        thread_id=row["thread_id"],
        owner=row["owner"],
        status=row["status"],
        metadata=loads(row["metadata"]),
        config=loads(row["config"]),
        values=loads(values),
        interrupts=tuple(PendingInterrupt(**interrupt) for interrupt in loads(row["interrupts"])),
        error=loads(row["error"]),
        created_at=from_time(row["created_at"]),
        updated_at=from_time(row["updated_at"]),
        state_updated_at=_moment(row["state_updated_at"]),
    )


def interrupts_to_text(interrupts: Iterable[PendingInterrupt]) -> str:
    return dumps(list(interrupts))


def request_to_text(request: RunRequest) -> str:
    return dumps(request)


def request_from_text(text: str) -> RunRequest:
    fields = loads(text)
    for name in ("stream_modes", "interrupt_before", "interrupt_after"):
        if isinstance(fields[name], list):
            fields[name] = tuple(fields[name])
    return RunRequest(**fields)


def run_from_row(row: Row) -> Run:
    return Run(
        run_id=row["run_id"],
        thread_id=row["thread_id"],
        owner=row["owner"],
        request=request_from_text(row["request"]),
        status=row["status"],
        metadata=loads(row["metadata"]),
        multitask_strategy=row["multitask_strategy"],
        attempt=row["attempt"],
        due_at=_moment(row["due_at"] or None),
        resumes=row["resumes"],
        cancel_action=row["cancel_action"],
        cancel_reason=row["cancel_reason"],
        error=loads(row["error"]),
        created_at=from_time(row["created_at"]),
        updated_at=from_time(row["updated_at"]),
        steered=row["steered"],
    )
