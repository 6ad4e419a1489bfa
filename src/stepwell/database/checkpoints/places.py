"""Checkpoint addresses: LangGraph's configs <-> thread, namespace and id, and reading long lists of checkpoints page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id

from stepwell.database.checkpoints.statements import CheckpointListing, CheckpointRow, page
from stepwell.sql import Connection

_PAGE = 64


class CheckpointPlace(NamedTuple):
    thread_id: str
    namespace: str
    checkpoint_id: str | None


def place_of(config: RunnableConfig) -> CheckpointPlace:
    """The address in a config. No checkpoint id means the latest checkpoint or, when one is stored, that it has no parent."""
    named = config["configurable"]
    return CheckpointPlace(str(named["thread_id"]), named.get("checkpoint_ns", ""), get_checkpoint_id(config))


def config_of(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def listing_of(
    config: RunnableConfig | None, metadata: Mapping[str, Any] | None, before: RunnableConfig | None
) -> CheckpointListing:
    """A config without a namespace means all namespaces."""
    named = config["configurable"] if config else {}
    return CheckpointListing(
        thread_id=str(named["thread_id"]) if config else None,
        namespace=named.get("checkpoint_ns"),
        checkpoint_id=named.get("checkpoint_id"),
        before=get_checkpoint_id(before) if before else None,
        metadata=metadata,
    )


class Pages:
    """Goes through a listing page by page, so that a long history is never in memory all at once."""

    def __init__(
        self, listing: CheckpointListing, limit: int | None, build: Callable[[CheckpointRow], CheckpointTuple]
    ) -> None:
        self._listing = listing
        self._left = limit
        self._build = build
        self._last: CheckpointRow | None = None
        self.size = _PAGE if limit is None else max(0, min(_PAGE, limit))
        """How many checkpoints to ask for next; 0 at the end."""

    def next(self, connection: Connection) -> list[CheckpointTuple]:
        """Read a page. Values are deserialised here, in the reader's thread, not on the event loop."""
        rows = page(connection, self._listing, self._last, self.size)
        if self._left is not None:
            self._left -= len(rows)
        full = len(rows) == self.size
        self.size = (_PAGE if self._left is None else min(_PAGE, self._left)) if full else 0
        self._last = rows[-1] if rows else None
        return [self._build(row) for row in rows]
