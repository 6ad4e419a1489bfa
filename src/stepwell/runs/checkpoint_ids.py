"""Checkpoints are put in order by their ids, and LangGraph makes those from the clock.

Within a process it sees to it that each is greater than the one before. Across processes nobody does: when the clock was set back in
between, the checkpoints of a new run would sort before those of the last one, and what it said would not be the thread's newest
state. So whoever opens a database tells the newest id that is in it. The counter is a private name of LangGraph's, and this is the
only module that touches it; a test pins it.
"""

from __future__ import annotations

import uuid

from langgraph.checkpoint.base import id as langgraph_ids

_VERSION = 6


def continue_ids_after(checkpoint_id: str) -> None:
    """Let no checkpoint of this process come before this one. Ids that are not LangGraph's are left out of account."""
    try:
        last = uuid.UUID(checkpoint_id)
    except ValueError:
        return
    if last.version != _VERSION:
        return
    # Version 6: 48 bits of time, four of version, twelve more of time.
    ticks = (last.int >> 80) << 12 | (last.int >> 64) & 0xFFF
    known: int | None = langgraph_ids._last_v6_timestamp
    langgraph_ids._last_v6_timestamp = ticks if known is None else max(ticks, known)  # type: ignore[assignment]  # untyped there
