"""Which savers can be compacted, and by which adapter. A saver with a `thread_history` of its own needs none."""

from __future__ import annotations

import sys
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.pregel import Pregel

from stepwell.errors import ConfigurationError
from stepwell.state.history import KeepsHistory, ThreadHistory
from stepwell.state.memory_history import MemoryHistory

SUPPORTED = "InMemorySaver, SqliteSaver, AsyncSqliteSaver, and savers with a method thread_history(thread_id)"


def history_of(saver: BaseCheckpointSaver[Any], thread_id: str, graph: Pregel[Any, Any, Any, Any] | None) -> ThreadHistory:
    """A thread's history in this saver."""
    if isinstance(saver, KeepsHistory):
        return saver.thread_history(thread_id)
    # A graph may read through a copy of the saver whose serializer knows the types of its state.
    owner = getattr(graph, "checkpointer", None)
    serde = owner.serde if isinstance(owner, BaseCheckpointSaver) else saver.serde
    if isinstance(saver, InMemorySaver):
        return MemoryHistory(saver, thread_id, serde)
    # Whoever has such a saver has imported its module; nobody else should have to.
    if (module := sys.modules.get("langgraph.checkpoint.sqlite")) and isinstance(saver, module.SqliteSaver):
        from stepwell.state.sqlite_history import SyncSqliteHistory

        return SyncSqliteHistory(saver, thread_id, serde)
    if (module := sys.modules.get("langgraph.checkpoint.sqlite.aio")) and isinstance(saver, module.AsyncSqliteSaver):
        from stepwell.state.sqlite_history import AsyncSqliteHistory

        return AsyncSqliteHistory(saver, thread_id, serde)
    raise ConfigurationError(
        f"A {type(saver).__name__} cannot be compacted. Supported are: {SUPPORTED}. "
        "For others, give the saver a thread_history as stepwell.state.history describes."
    )
