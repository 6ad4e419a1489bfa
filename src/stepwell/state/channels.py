"""The seam to LangGraph's incremental channels.

A plain channel stores its whole value in every checkpoint, so a thread of n messages costs n² bytes. An incremental one stores
what each step wrote and, now and then, a snapshot; reading a thread replays the writes behind the last snapshot.

LangGraph's `DeltaChannel` is a beta feature, and this module is the only one that names it or its stored forms (ADR 0002).
Rule for reducers: deterministic, and the same result however writes are batched:
`reduce(reduce(state, xs), ys) == reduce(state, xs + ys)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any, Self

from langgraph.channels.base import BaseChannel
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.types import _DeltaSnapshot as Snapshot

SNAPSHOT_EVERY = 500
"""Updates between two snapshots, at least. Fewer snapshots mean smaller databases, more mean less replaying when a thread is opened."""
_SHARE = 0.75
"""A value of many parts is stored whole again when this share of as many updates has come since: one that only grows, when it has
four times the parts. So all snapshots together stay in proportion to the value, and do not grow with its square."""

# What LangGraph keeps in a checkpoint's metadata: for each incremental channel, how much happened since its last snapshot.
_COUNTERS = "counters_since_delta_snapshot"

Reducer = Callable[[Any, Sequence[Any]], Any]


class IncrementalChannel(DeltaChannel[Any]):
    """LangGraph's channel, copied cheaply: a running step copies its channels many times, and our reducers never change a value
    in place, so a copy may share it."""

    __slots__ = ("_least",)

    @property
    def snapshot_frequency(self) -> int:
        """How many updates LangGraph lets come before it stores a snapshot."""
        parts = len(self.value) if isinstance(self.value, Sized) else 0
        return max(self._least, int(_SHARE * parts))

    @snapshot_frequency.setter
    def snapshot_frequency(self, least: int) -> None:
        self._least = least

    def copy(self) -> Self:
        new = self.__class__.__new__(self.__class__)
        new.key, new.typ, new.value = self.key, self.typ, self.value
        new.reducer, new.snapshot_frequency = self.reducer, self._least
        return new


def incremental(reducer: Reducer, *, snapshot_every: int = SNAPSHOT_EVERY) -> IncrementalChannel:
    """A channel for `Annotated[...]` that checkpoints what changed."""
    return IncrementalChannel(reducer, snapshot_frequency=snapshot_every)


def is_incremental(channel: object) -> bool:
    """Whether a compiled graph's channel stores changes only."""
    return isinstance(channel, DeltaChannel)


def snapshot(value: Any) -> Snapshot:
    """A whole value in the form that stands in a checkpoint for an incremental channel."""
    return Snapshot(value)


def left_to_ancestors(checkpoint: Mapping[str, Any], metadata: Mapping[str, Any]) -> set[str]:
    """The incremental channels whose value is not in this checkpoint and must be rebuilt from the ones before it.

    The checkpoint says so itself: LangGraph counts every incremental channel in the metadata from the step after its snapshot on.
    That a channel has a version and no value would not be enough, for that is also how a consumed trigger looks.
    """
    counted = metadata.get(_COUNTERS) or {}
    return {name for name in counted if name in checkpoint["channel_versions"] and name not in checkpoint["channel_values"]}


def rebuild(channel: BaseChannel[Any, Any, Any], seed: Sequence[Any], writes: Sequence[Any]) -> Any:
    """A channel's value after some writes. `seed` holds the stored value to start from, or nothing."""
    # LangGraph's own replay, because it also knows `Overwrite`. It looks at the third place of a write only.
    if isinstance(channel, DeltaChannel):
        rebuilt = channel.from_checkpoint(seed[0] if seed else Snapshot(channel.typ()))
        rebuilt.replay_writes([("", "", write) for write in writes])
        return rebuilt.get()
    # The schema has made the channel a plain one since: the writes of many steps, so one update for each.
    plain = channel.from_checkpoint(seed[0]) if seed else channel.copy()
    for write in writes:
        plain.update([write])
    return plain.get()
