"""What people at work were told, kept as it goes: in memory for them, and as lines of JSON in a file for the checker, which knows
nothing else of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

FINISHED = ("success", "error", "timeout", "interrupted")
AGENTS = ("deep", "sold")


class Said(NamedTuple):
    """A message that was sent; the run it became, if that was told; whether the server said that nothing was kept of it."""

    thread_id: str
    graph: str
    mark: str
    run_id: str | None
    refused: bool = False


class Heard(NamedTuple):
    seq: int
    event: str
    data: Any


@dataclass
class Book:
    """What all people know. Only added to; with a `path`, each entry is in the file at once."""

    path: Path | None = None
    said: list[Said] = field(default_factory=list)
    followed: dict[str, list[Heard]] = field(default_factory=dict)
    answers: list[tuple[str, str]] = field(default_factory=list)
    """Thread and answer, as far as they were acknowledged."""
    cancelled: set[str] = field(default_factory=set)
    """Runs that somebody wanted stopped."""
    taken_back: set[str] = field(default_factory=set)
    """Runs that somebody wanted never to have been; one that was done by then stays."""
    states: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Thread -> its values in the end, as a server told them."""
    responses: Counter[int] = field(default_factory=Counter)
    """Refusals by status. This and what follows are figures, and not in the file."""
    connections: int = 0
    """Streams that brought something."""
    changes: int = 0
    """Streams that were joined again on the other server."""
    failures: list[str] = field(default_factory=list)

    def say(self, said: Said) -> None:
        self.said.append(said)
        self._write("say", said)

    def follow(self, run_id: str, heard: list[Heard]) -> None:
        self.followed[run_id] = heard
        self._write("follow", run_id, heard)

    def answer(self, thread_id: str, answer: str) -> None:
        self.answers.append((thread_id, answer))
        self._write("answer", thread_id, answer)

    def cancel(self, run_id: str) -> None:
        self.cancelled.add(run_id)
        self._write("cancel", run_id)

    def take_back(self, run_id: str) -> None:
        self.taken_back.add(run_id)
        self._write("take_back", run_id)

    def read_state(self, thread_id: str, values: dict[str, Any]) -> None:
        self.states[thread_id] = values
        self._write("read_state", thread_id, values)

    def _write(self, what: str, *entry: Any) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps([what, *entry]) + "\n")


def read_book(path: Path) -> Book:
    """A book as its file has it."""
    book = Book()
    with path.open() as lines:
        for line in lines:
            match json.loads(line):
                case ["say", said]:
                    book.say(Said(*said))
                case ["follow", run_id, heard]:
                    book.follow(run_id, [Heard(*each) for each in heard])
                case [("answer" | "cancel" | "take_back" | "read_state") as what, *entry]:
                    getattr(book, what)(*entry)
                case other:
                    raise AssertionError(f"nobody writes this into a book: {other}")
    return book
