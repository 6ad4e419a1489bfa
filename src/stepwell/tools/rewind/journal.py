"""The journal of a thread's file changes, with the files as they were before each change.

```
mark(turn) ─ begin(changes) ─ begin(changes) ─ mark(turn) ─ begin(changes) ─ drop(numbers)
   1            2, 3              4               5             6              (6 is gone: the change failed)
```
Entries are numbered in the order in which they happened, whatever branch of the conversation they belong to, because files outside of the
thread have only one present. A change is written before the file is touched: if the process dies in between, the file is as before or
as after the entry, and both are known.

The code that drives a graph puts a journal into its config (`{"configurable": {FILE_JOURNAL: journal}}`). Without one, the journal of the
agent's `RewindMiddleware` is used.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal, Protocol, TypeVar

T = TypeVar("T")

FILE_JOURNAL = "__stepwell_files"
"""The key in a config's `configurable`. Two underscores keep it out of metadata and checkpoints."""

REWINDS = "__stepwell_rewinds"
"""The key in a config's `configurable` by which a run may bring an order to go back. Callers of a server cannot set such keys."""

NO_INPUT = "'rewind' cannot be sent as input. Use rewind(agent, config, turn_id), or POST /threads/{thread_id}/rewind."

ABSENT = ""
"""In the place of a hash: there was no file."""

MARK = "stepwell_rewind"
"""The name under which a compiled graph's builder has the middleware that keeps what a rewind needs."""

MAX_KEPT_BYTES = 1_000_000_000
"""How much a thread's journal keeps of files. The oldest turns are forgotten first."""

EntryKind = Literal["turn", "change", "note"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a journal."""

    kind: EntryKind
    name: str
    """A turn's id, a file's path, or the name of a tool whose effect cannot be undone."""
    checkpoint_id: str = ""
    """For a turn: the checkpoint in which it began; for a rewind, the newest one before it. For a note: the id of the tool's call, which
    is noted again if it paused."""
    before: str = ABSENT
    """The hash of the file before the change."""
    after: str = ABSENT
    detail: str = ""
    """For a note: what the tool was called with, cut. For a turn: `rewind` if it is one. For a file that goes: its permission bits."""
    run_id: str = ""
    number: int = 0


class FileJournal(Protocol):
    """The journal of one thread. Each method queues its work at once, in order, and returns a future that is done when it is durable."""

    def mark(self, turn: Entry) -> Future[None]:
        """Write down that a turn begins. A mark with the same name and checkpoint is written only once."""
        ...

    def begin(self, changes: Sequence[Entry], images: Mapping[str, bytes]) -> Future[list[int]]:
        """Write down changes that are about to be made, with the contents by their hashes. Returns the entries' numbers. Raises
        `JournalFullError` if this turn alone would keep more than `MAX_KEPT_BYTES`."""
        ...

    def drop(self, numbers: Sequence[int]) -> Future[None]:
        """Forget changes that were not made."""
        ...

    def entries(self) -> Future[list[Entry]]: ...

    def image(self, content_hash: str) -> Future[bytes | None]:
        """A file's content by its hash; None if it is not kept any more."""
        ...


class JournalKeeper(Protocol):
    """Keeps the journals of many threads."""

    def of(self, thread_id: str) -> FileJournal: ...


class JournalFullError(Exception):
    """The turn has changed so much that its journal keeps no further contents."""


def needed_images(turn: Iterable[Entry], changes: Sequence[Entry], images: Mapping[str, bytes]) -> dict[str, bytes]:
    """The contents that somebody can go back to: a file's first one in a turn. `turn` are the entries since the turn began."""
    seen = {each.name for each in turn if each.kind == "change"}
    wanted = {each.before for each in changes if each.name not in seen}
    return {name: content for name, content in images.items() if name in wanted}


def forgotten(entries: Sequence[Entry], sizes: Mapping[str, int], limit: int) -> int:
    """The number of the first entry to keep, so that the contents of all later ones have at most `limit` bytes together."""
    kept: set[str] = set()
    total, first = 0, entries[-1].number + 1 if entries else 1
    for entry in reversed(entries):
        if entry.before and entry.before not in kept:
            kept.add(entry.before)
            total += sizes.get(entry.before, 0)
        if total > limit:
            return first
        if entry.kind == "turn":
            first = entry.number
    return entries[0].number if entries else 1


def hash_of(content: bytes | None) -> str:
    """What identifies a content in a journal."""
    return ABSENT if content is None else sha256(content).hexdigest()


def done(value: T) -> Future[T]:
    """A future of something that is done already."""
    future: Future[T] = Future()
    future.set_result(value)
    return future


def failed(error: Exception) -> Future[Any]:
    """A future of something that could not be done."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


class MemoryJournals:
    """Journals that last as long as the process."""

    def __init__(self) -> None:
        self._journals: dict[str, MemoryJournal] = {}

    def of(self, thread_id: str) -> MemoryJournal:
        return self._journals.setdefault(thread_id, MemoryJournal())


class MemoryJournal:
    """A journal in memory. Tools that a model calls together write into it from several threads."""

    def __init__(self, limit: int = MAX_KEPT_BYTES) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._entries: list[Entry] = []
        self._images: dict[str, bytes] = {}
        self._next = 1

    def mark(self, turn: Entry) -> Future[None]:
        with self._lock:
            if not any(is_same_mark(each, turn) for each in self._entries):
                self._add(turn)
        return done(None)

    def begin(self, changes: Sequence[Entry], images: Mapping[str, bytes]) -> Future[list[int]]:
        with self._lock:
            self._images.update(needed_images(turn_of(self._entries), changes, images))
            numbers = [self._add(change) for change in changes]
            first = forgotten(self._entries, {name: len(content) for name, content in self._images.items()}, self._limit)
            full = first > numbers[0]
            self._entries = [each for each in self._entries if (each.number < numbers[0] if full else each.number >= first)]
            named = {each.before for each in self._entries}
            self._images = {name: content for name, content in self._images.items() if name in named}
        return failed(JournalFullError()) if full else done(numbers)

    def drop(self, numbers: Sequence[int]) -> Future[None]:
        with self._lock:
            self._entries = [each for each in self._entries if each.number not in numbers]
        return done(None)

    def entries(self) -> Future[list[Entry]]:
        return done(list(self._entries))

    def image(self, content_hash: str) -> Future[bytes | None]:
        return done(self._images.get(content_hash))

    def _add(self, entry: Entry) -> int:
        number, self._next = self._next, self._next + 1
        self._entries.append(replace(entry, number=number))
        return number


def is_same_mark(one: Entry, other: Entry) -> bool:
    return one.kind == "turn" and (one.name, one.checkpoint_id) == (other.name, other.checkpoint_id)


def turn_of(entries: Sequence[Entry]) -> list[Entry]:
    """The entries since the newest turn began."""
    began = next((place for place in range(len(entries) - 1, -1, -1) if entries[place].kind == "turn"), -1)
    return list(entries[began + 1 :])


def has_rewind(graph: object) -> bool:
    """Whether the turns of a graph's threads can be taken back."""
    return getattr(getattr(graph, "builder", None), MARK, None) is not None


def journal_in(config: Mapping[str, Any], keeper: JournalKeeper) -> FileJournal | None:
    """The journal of a run: the one that drives it has put into the config, or the keeper's. None without a thread."""
    configurable = config.get("configurable") or {}
    given: FileJournal | None = configurable.get(FILE_JOURNAL)
    thread_id = configurable.get("thread_id")
    return given or (keeper.of(str(thread_id)) if thread_id else None)
