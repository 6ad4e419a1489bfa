"""Threads as JSON, without their state; and parts of them by path (`extract`), for lists that show one line per thread."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import re2
from pydantic import BeforeValidator, Field

from stepwell.database.records.types import ThreadFilter
from stepwell.database.types import PendingInterrupt, Thread, ThreadStatus, ThreadTtl, TtlStrategy
from stepwell.errors import InvalidRequestError
from stepwell.server.schemas.fields import (
    Body,
    IfExists,
    JsonObject,
    Limit,
    NodeName,
    Offset,
    ResponseBody,
    SortOrder,
    Uuid,
    WireModel,
)

ThreadField = Literal[
    "thread_id", "created_at", "updated_at", "state_updated_at", "metadata", "config", "context", "status", "values",
    "interrupts", "error",
]  # fmt: skip
SortBy = Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"]
_LONGEST_TTL = 100 * 366 * 24 * 60
TtlMinutes = Annotated[float, Field(gt=0, le=_LONGEST_TTL, allow_inf_nan=False)]
ThreadInclude = Literal["ttl"]
ExtractPath = Annotated[str, Field(min_length=1, max_length=512)]
_STEP = re2.compile(r"\.?([^.\[\]]+)|\[(-?[0-9]{1,9})\]")
_PATH = re2.compile(r"[^.\[\]]+(?:\.[^.\[\]]+|\[-?[0-9]{1,9}\])*")


class StateUpdate(Body):
    """One write of a superstep."""

    values: JsonObject | list[Any] | None = None
    command: JsonObject | None = None
    as_node: NodeName


class Superstep(Body):
    updates: Annotated[list[StateUpdate], Field(max_length=1000)]


class Ttl(Body):
    """How long a thread lives without being used. `delete` erases it as a whole, `keep_latest` only its history."""

    strategy: TtlStrategy | None = None
    ttl: TtlMinutes | None = Field(default=None, description="Minutes; null takes a thread's time to live away")


def _check_ttl(given: Any) -> Any:
    """Says what may be given, which the errors of two types would not."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is None or isinstance(given, dict | Ttl) or (is_number and 0 < given <= _LONGEST_TTL):
        return given
    raise ValueError(
        f"must be minutes, more than 0 and at most {_LONGEST_TTL}, or an object with 'ttl' in minutes and 'strategy' (delete, keep_latest)"
    )


GivenTtl = Annotated[Ttl | TtlMinutes | None, BeforeValidator(_check_ttl)]


def ttl_of(given: Ttl | float | None) -> ThreadTtl | None:
    """What a body says about a thread's time to live; None if it says nothing. A number is short for minutes."""
    if given is None:
        return None
    return ThreadTtl(given.strategy or "delete", given.ttl) if isinstance(given, Ttl) else ThreadTtl("delete", given)


class ThreadCreate(Body):
    thread_id: Uuid | None = None
    metadata: JsonObject | None = None
    if_exists: IfExists | None = None
    supersteps: Annotated[list[Superstep], Field(max_length=1000)] | None = None
    graph_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    ttl: GivenTtl = None


class ThreadPatch(Body):
    metadata: JsonObject | None = None
    ttl: GivenTtl = None


class ThreadCount(Body):
    metadata: JsonObject | None = None
    values: JsonObject | None = None
    status: ThreadStatus | None = None

    def wanted(self) -> ThreadFilter:
        return ThreadFilter(metadata=self.metadata or {}, values=self.values or {}, status=self.status)


class ThreadSearch(ThreadCount):
    ids: Annotated[list[Uuid], Field(max_length=1000)] | None = None
    limit: Limit | None = None
    offset: Offset | None = None
    sort_by: SortBy | None = None
    sort_order: SortOrder | None = None
    select: list[ThreadField] | None = None
    extract: Annotated[dict[str, ExtractPath], Field(max_length=10)] | None = None

    def wanted(self) -> ThreadFilter:
        return ThreadFilter(self.metadata or {}, self.values or {}, self.status, tuple(self.ids or ()))


class ThreadPrune(Body):
    thread_ids: Annotated[list[Uuid], Field(max_length=1000)]
    strategy: Literal["delete", "keep_latest"] | None = None


class Pruned(WireModel):
    """How many threads were pruned."""

    pruned_count: int


class TtlResponse(ResponseBody):
    """When a thread expires if it is not used before."""

    strategy: TtlStrategy
    ttl_minutes: float
    expires_at: datetime


class ThreadResponse(ResponseBody):
    """A conversation; `interrupts` are the open ones, by the task that raised them; `ttl` only if it was asked for."""

    thread_id: str
    created_at: datetime
    updated_at: datetime
    state_updated_at: datetime | None
    status: ThreadStatus
    metadata: JsonObject
    config: JsonObject
    values: JsonObject | None
    interrupts: dict[str, list[JsonObject]]
    error: JsonObject | None
    extracted: JsonObject
    ttl: TtlResponse


def thread_wire(thread: Thread) -> dict[str, Any]:
    return {
        **_ttl_wire(thread.ttl),
        "thread_id": thread.thread_id,
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "state_updated_at": thread.state_updated_at or thread.updated_at,
        "status": thread.status,
        "metadata": thread.metadata,
        "config": thread.config,
        "values": thread.values,
        "interrupts": interrupts_wire(thread.interrupts),
        "error": thread.error,
    }


def _ttl_wire(ttl: ThreadTtl | None) -> dict[str, Any]:
    if ttl is None or ttl.expires_at is None:
        return {}
    return {"ttl": {"strategy": ttl.strategy, "ttl_minutes": ttl.minutes, "expires_at": ttl.expires_at}}


def interrupts_wire(interrupts: Any) -> dict[str, list[dict[str, Any]]]:
    """Open interrupts by the task that raised them; a task may have several."""
    found: dict[str, list[dict[str, Any]]] = {}
    for interrupt in interrupts:
        found.setdefault(interrupt.task_id or interrupt.interrupt_id, []).append(_interrupt_wire(interrupt))
    return found


def _interrupt_wire(interrupt: PendingInterrupt) -> dict[str, Any]:
    shown = {"id": interrupt.interrupt_id, "value": interrupt.value}
    return {**shown, "response_schema": interrupt.response_schema} if interrupt.response_schema else shown


def extract(whole: Any, paths: Mapping[str, str]) -> dict[str, Any]:
    """Alias -> the value at its path; `null` if there is no value.

    `values.messages[-1].content` is: a key, a key, an item counted from the end, a key.
    """
    return {alias: _at(whole, _steps(path)) for alias, path in paths.items()}


def _steps(path: str) -> list[str | int]:
    if not _PATH.fullmatch(path):
        raise InvalidRequestError(f"'{path}' is not a path to extract. Write it like 'values.messages[-1].content'.")
    return [match.group(1) if match.group(1) is not None else int(match.group(2)) for match in _STEP.finditer(path)]


def _at(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list | tuple) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


class StoredPart(WireModel):
    """Rows, and their bytes."""

    count: int
    bytes: int


class StoredChannel(WireModel):
    """How often a channel was written, and the bytes of it."""

    versions: int
    bytes: int


class StoredChannels(StoredPart):
    """Values of channels, stored as the changes that tasks made."""

    by_channel: dict[str, StoredChannel]


class ThreadStorage(WireModel):
    """The space that a thread's checkpoints take, as stored."""

    thread_id: str
    total_bytes: int
    checkpoints: StoredPart
    channel_values: StoredChannels
    pending_writes: StoredPart
