"""The seam between `compact` and a saver: the operations that compaction needs on a thread's stored history.

`compact` is written once, as steps (see `stepwell.backends.steps`): it yields the requests below and receives their answers. A
`ThreadHistory` performs them on its storage, all in one transaction. There are two ways for a saver to support this:

- it has its own method `thread_history(thread_id) -> ThreadHistory` (like the saver of Stepwell's server, or a third-party one);
- it is a stock saver, for which `compact` has an adapter.

| request | answer |
|---|---|
| `Measure` | `Stored`: how much is stored |
| `ListKeys` | `list[Row]`: every checkpoint, and every key that has only writes |
| `Load` | `Loaded`: one checkpoint with its values, and its metadata |
| `ReadWrites` | `list[Any]`: the values written to a channel at a checkpoint, in `writes_sort_key` order |
| `ListWriters` | `list[tuple[str, str]]`: task id and channel of every write at a checkpoint |
| `Rewrite` | none: the checkpoint now contains these values too |
| `Delete` | none: these checkpoints and their writes are deleted |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from stepwell.backends.steps import Steps

T = TypeVar("T")


class Key(NamedTuple):
    """A checkpoint within a thread."""

    namespace: str
    checkpoint_id: str


class Row(NamedTuple):
    key: Key
    parent_id: str | None
    has_checkpoint: bool


class Loaded(NamedTuple):
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """How much a thread stores."""

    checkpoints: int = 0
    namespaces: int = 0
    """The thread itself and one per subagent call."""
    writes: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Measure:
    pass


@dataclass(frozen=True, slots=True)
class ListKeys:
    pass


@dataclass(frozen=True, slots=True)
class Load:
    key: Key


@dataclass(frozen=True, slots=True)
class ReadWrites:
    key: Key
    channel: str


@dataclass(frozen=True, slots=True)
class ListWriters:
    key: Key


@dataclass(frozen=True, slots=True)
class Rewrite:
    key: Key
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Delete:
    keys: Sequence[Key]


Request = Measure | ListKeys | Load | ReadWrites | ListWriters | Rewrite | Delete


class ThreadHistory(Protocol):
    """One thread's history in one saver. Either all changes of the steps are stored, or none."""

    def run(self, steps: Steps[Request, T]) -> T: ...

    async def arun(self, steps: Steps[Request, T]) -> T: ...


@runtime_checkable
class KeepsHistory(Protocol):
    """A saver that can be compacted without an adapter."""

    def thread_history(self, thread_id: str) -> ThreadHistory: ...
