"""A page of a thread's messages, newest first, without the rest of its state.

Only the messages channel is rebuilt, not files, plans and the rest of the state. Only one page of the messages is turned into JSON, which
is where most of the time goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.pregel import Pregel

from stepwell.state import channels

MESSAGES = "messages"
MAX_FOR_TURN = 100
"""By how many messages a page may be longer than asked for, so that it begins with a turn."""


@dataclass(frozen=True)
class MessagePage:
    """`messages` are newest first; `before` is where the next page, with older ones, begins."""

    messages: Sequence[Any] = ()
    total: int = 0
    before: int | None = None
    checkpoint_id: str | None = None


async def read_messages(
    graph: Pregel[Any, Any, Any, Any],
    saver: BaseCheckpointSaver[Any],
    config: RunnableConfig,
    *,
    before: int | None,
    limit: int,
    whole_turns: bool = False,
) -> MessagePage | None:
    """A page of the messages at the config's checkpoint, or at the newest one; `None` if there is no such checkpoint. `whole_turns`: see
    `_turn_start`."""
    saved = await saver.aget_tuple(config)
    if saved is None:
        return None
    channel = graph.channels.get(MESSAGES)
    found = await _value(channel, saver, saved) if isinstance(channel, BaseChannel) else []
    if isinstance(channel, BaseChannel) and "checkpoint_id" not in config["configurable"]:
        found = _with_unfinished(channel, found, saved)
    messages = found if isinstance(found, list) else []
    end = len(messages) if before is None else min(before, len(messages))
    start = max(0, end - limit)
    if whole_turns:
        start = _turn_start(messages, start)
    page = messages[start:end][::-1]
    return MessagePage(page, len(messages), start or None, saved.config["configurable"]["checkpoint_id"])


def _turn_start(messages: Sequence[Any], start: int) -> int:
    """Where a page begins so that the user's message is on the same page as the work it led to. If that is further away than
    `MAX_FOR_TURN`, the page begins so that a result is on the same page as its call."""
    furthest = max(0, start - MAX_FOR_TURN)
    asked = next((at for at in range(start, furthest - 1, -1) if _type(messages, at) == "human"), None)
    if asked is not None or furthest == 0:
        return asked or 0
    return next((at for at in range(start, furthest - 1, -1) if _type(messages, at) != "tool"), start)


def _type(messages: Sequence[Any], at: int) -> str:
    return getattr(messages[at], "type", "") if at < len(messages) else ""


async def _value(channel: BaseChannel[Any, Any, Any], saver: BaseCheckpointSaver[Any], saved: CheckpointTuple) -> Any:
    stored = saved.checkpoint["channel_values"]
    if MESSAGES in stored:
        return channel.from_checkpoint(stored[MESSAGES]).get()
    if MESSAGES not in channels.left_to_ancestors(saved.checkpoint, saved.metadata):
        return []
    history = (await saver.aget_delta_channel_history(config=saved.config, channels=[MESSAGES]))[MESSAGES]
    seed = [history["seed"]] if "seed" in history else []
    return channels.rebuild(channel, seed, [write[2] for write in history["writes"]])


def _with_unfinished(channel: BaseChannel[Any, Any, Any], found: Any, saved: CheckpointTuple) -> Any:
    """The channel with what tasks of the unfinished step have written, since one task may wait for an answer while its siblings are
    done."""
    written = [value for _, name, value in saved.pending_writes or () if name == MESSAGES]
    return channels.rebuild(channel, [channels.snapshot(found) if channels.is_incremental(channel) else found], written)
