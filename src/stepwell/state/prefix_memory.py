"""Remembers facts about the beginning of a message list that only grows, so that each step only looks at the end.

A fact about the first n messages is stored under n and the id of the last of them. That is not enough: a person's message may have the
same id in several threads (if the caller numbers messages, or derives ids from the text), and a view that begins with a summary may be
as long as the thread. So the ids of the first message and of the model's last answer must match too. Lists that match in all of this
have the same beginning, apart from edits in the middle; store only facts for which such edits do not matter. A memory is shared by all
threads that use a middleware, and limited in size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from langchain_core.messages import AnyMessage

MAX_REMEMBERED = 10_000

Fact = TypeVar("Fact")
_Marks = tuple[str | None, str | None]


class PrefixMemory(Generic[Fact]):
    """Facts about the beginnings of message lists."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, int], tuple[_Marks, Fact]] = {}

    def at(self, messages: Sequence[AnyMessage], length: int) -> Fact | None:
        """What is known about the first `length` messages."""
        message_id = messages[length - 1].id
        found = None if message_id is None else self._facts.get((message_id, length))
        return found[1] if found is not None and found[0] == _marks(messages, length) else None

    def remember(self, messages: Sequence[AnyMessage], fact: Fact) -> None:
        """Store a fact about the whole list."""
        if not messages or messages[-1].id is None:
            return
        if len(self._facts) >= MAX_REMEMBERED:
            # Forgetting everything is simpler than an LRU order, and costs one full scan per active thread.
            self._facts.clear()
        self._facts[messages[-1].id, len(messages)] = (_marks(messages, len(messages)), fact)


def _marks(messages: Sequence[AnyMessage], length: int) -> _Marks:
    """The id of the first message, and that of the model's last message among the first `length`."""
    answers = (messages[place].id for place in range(length - 1, -1, -1) if messages[place].type == "ai")
    return messages[0].id, next(answers, None)
