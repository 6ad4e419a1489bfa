"""The seam to LangGraph's incremental channels.

A plain channel stores its whole value in every checkpoint, so a thread of n messages costs n² bytes. An incremental channel stores
what each step wrote and, now and then, a snapshot; reading a thread replays the writes since the last snapshot.

LangGraph's `DeltaChannel` is a beta feature, and only this module uses it or its stored forms (ADR 0002).
Rule for reducers: they are deterministic, and give the same result however writes are batched:
`reduce(reduce(state, xs), ys) == reduce(state, xs + ys)`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from typing import Any, Self

from langgraph.channels.base import BaseChannel
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.types import _DeltaSnapshot as Snapshot

SNAPSHOT_EVERY = 500
"""Minimum number of updates between two snapshots. Fewer snapshots mean smaller databases, more mean less replay when a thread loads."""
_SHARE = 0.75
"""A value with many parts gets a snapshot when the updates since the last snapshot reach this share of its parts. A value that only grows
then has four times as many parts as before. So the size of all snapshots together is linear in the value, not quadratic."""

# LangGraph's key in a checkpoint's metadata: for each incremental channel, how much happened since its last snapshot.
_COUNTERS = "counters_since_delta_snapshot"

Reducer = Callable[[Any, Sequence[Any]], Any]


class IncrementalChannel(DeltaChannel[Any]):
    """LangGraph's channel with a cheap copy: a running step copies its channels many times, and our reducers never change a value in
    place, so copies may share it."""

    __slots__ = ("_least",)

    @property
    def snapshot_frequency(self) -> int:
        """How many updates LangGraph waits for before it stores a snapshot."""
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
    """A channel for `Annotated[...]` that checkpoints only changes."""
    return IncrementalChannel(reducer, snapshot_frequency=snapshot_every)


def latest(state: Any, writes: Sequence[Any]) -> Any:
    """The newest value, as a plain channel has it. In an incremental channel it is not stored again in every checkpoint."""
    return writes[-1]


def is_incremental(channel: object) -> bool:
    """Whether a compiled graph's channel stores only changes."""
    return isinstance(channel, DeltaChannel)


def shares_values(channel: object) -> bool:
    """Whether copies of this channel share its value, because its reducer never changes a value in place."""
    return isinstance(channel, IncrementalChannel)


def snapshot(value: Any) -> Snapshot:
    """A whole value in the form in which a checkpoint stores it for an incremental channel."""
    return Snapshot(value)


def left_to_ancestors(checkpoint: Mapping[str, Any], metadata: Mapping[str, Any]) -> set[str]:
    """The incremental channels whose value is not in this checkpoint and must be rebuilt from earlier ones.

    The metadata says which: there LangGraph counts the updates of every incremental channel, starting with the step after its snapshot.
    It would not be enough to look for channels with a version and no value, because a consumed trigger looks the same.
    """
    counted = metadata.get(_COUNTERS) or {}
    return {name for name in counted if name in checkpoint["channel_versions"] and name not in checkpoint["channel_values"]}


def steps_since_snapshot(metadata: Mapping[str, Any], names: Collection[str]) -> dict[str, int] | None:
    """How many checkpoints back LangGraph last stored each of these channels, by its count; `None` if it did not count one of them."""
    counted = metadata.get(_COUNTERS) or {}
    return {name: counted[name][1] for name in names} if all(name in counted for name in names) else None


def rebuild(channel: BaseChannel[Any, Any, Any], seed: Sequence[Any], writes: Sequence[Any]) -> Any:
    """A channel's value after some writes. `seed` contains the stored value to start from, or is empty."""
    # LangGraph's own replay, because it also knows `Overwrite`. It only looks at the third item of a write.
    if isinstance(channel, DeltaChannel):
        rebuilt = channel.from_checkpoint(seed[0] if seed else Snapshot(channel.typ()))
        rebuilt.replay_writes([("", "", write) for write in writes])
        return rebuilt.get()
    # The schema has since made the channel a plain one. The writes come from many steps, so each is a separate update.
    plain = channel.from_checkpoint(seed[0]) if seed else channel.copy()
    for write in writes:
        plain.update([write])
    return plain.get()
