"""What a caller says about a checkpoint -> the config LangGraph reads it by.

Rule to keep: the thread is the one the server has checked, whatever a caller writes. A checkpoint of another thread cannot be
reached from here, because nothing but its place *within* the thread is taken over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig

from stepwell.errors import InvalidRequestError

LONGEST_NAME = 4_096
"""A namespace grows with the depth of subgraphs; this is far beyond any, and keeps nonsense out of the database."""


def checkpoint_config(thread_id: str, checkpoint: Mapping[str, Any] | None = None) -> RunnableConfig:
    """The config for a thread's newest checkpoint, or the one that `checkpoint` names (namespace, id, map of ids)."""
    chosen: dict[str, Any] = {"thread_id": thread_id, "checkpoint_ns": ""}
    given = checkpoint or {}
    for name in ("checkpoint_ns", "checkpoint_id"):
        if given.get(name) is not None:
            chosen[name] = _text(name, given[name])
    if given.get("checkpoint_map") is not None:
        chosen["checkpoint_map"] = _map(given["checkpoint_map"])
    return {"configurable": chosen}


def before_config(thread_id: str, before: Mapping[str, Any] | str | None, namespace: str) -> RunnableConfig | None:
    """The config that history ends before. Clients send an id, a checkpoint, or a config that holds one."""
    if before is None:
        return None
    if isinstance(before, str):
        before = {"checkpoint_id": before}
    named = before.get("configurable", before)
    if not isinstance(named, Mapping) or named.get("checkpoint_id") is None:
        raise InvalidRequestError(
            "'before' names no checkpoint. Give a checkpoint's id, or a checkpoint with its 'checkpoint_id'."
        )
    return checkpoint_config(thread_id, {"checkpoint_ns": namespace, "checkpoint_id": named["checkpoint_id"]})


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME or "\x00" in value:
        raise InvalidRequestError(f"'{name}' has to be a text as it stands in a thread's state. Take it over unchanged.")
    return value


def _map(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise InvalidRequestError("'checkpoint_map' has to be an object of checkpoint ids. Take it over from a thread's state.")
    return {_text("checkpoint_map", namespace): _text("checkpoint_map", found) for namespace, found in value.items()}
