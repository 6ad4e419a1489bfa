"""The values of a checkpoint, read without the graph that wrote it.

Incremental channels must be rebuilt from their writes, and only the graph knows how. As in retention (`stepwell.state.compact`),
the channels `messages`, `files` and `summary` are assumed to be those of a deep agent. The names of other incremental channels are
returned, rather than silently left out.

Reading is written once, as steps (`stepwell.backends.steps`), so that it works with the sync and the async half of any saver.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from langchain_core.runnables import RunnableConfig
from langgraph.channels.base import BaseChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph import StateGraph

from stepwell.backends.steps import Steps
from stepwell.state import channels

Saver = BaseCheckpointSaver[Any]


class Reading(Protocol):
    """Something to read from a saver."""

    def on(self, saver: Saver) -> Any: ...

    async def aon(self, saver: Saver) -> Any: ...


@dataclass(frozen=True, slots=True)
class ReadWrites:
    """The writes of incremental channels, back to their last snapshots."""

    config: RunnableConfig
    channels: Sequence[str]

    def on(self, saver: Saver) -> Any:
        return saver.get_delta_channel_history(config=self.config, channels=self.channels)

    async def aon(self, saver: Saver) -> Any:
        return await saver.aget_delta_channel_history(config=self.config, channels=self.channels)


def reading_from(saver: Saver) -> Callable[[Reading], Any]:
    return lambda request: request.on(saver)


def areading_from(saver: Saver) -> Callable[[Reading], Awaitable[Any]]:
    return lambda request: request.aon(saver)


def stored_values(
    saved: CheckpointTuple, only: Collection[str] | None = None
) -> Steps[Reading, tuple[dict[str, Any], list[str]]]:
    """The values at a checkpoint (all, or `only` some), and the names of those that cannot be rebuilt."""
    stored = saved.checkpoint["channel_values"]
    values = {name: _whole(value) for name, value in stored.items() if not name.startswith(("__", "branch:", "join:"))}
    missing = channels.left_to_ancestors(saved.checkpoint, saved.metadata)
    if only is not None:
        values = {name: value for name, value in values.items() if name in only}
        missing &= set(only)
    known = sorted(missing & _deep_agent_channels().keys())
    written = (yield ReadWrites(saved.config, known)) if known else {}
    for name, history in written.items():
        seed = [history["seed"]] if "seed" in history else []
        values[name] = channels.rebuild(_deep_agent_channels()[name], seed, [write[2] for write in history["writes"]])
    return values, sorted(missing - set(known))


@cache
def _deep_agent_channels() -> Mapping[str, BaseChannel[Any, Any, Any]]:
    from stepwell.state.schema import DeepAgentState  # only when needed: it imports LangChain's agents

    return {name: channel for name, channel in StateGraph(DeepAgentState).channels.items() if channels.is_incremental(channel)}


def _whole(value: Any) -> Any:
    return value.value if isinstance(value, type(channels.snapshot(None))) else value
