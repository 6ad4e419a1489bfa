"""What is known of the beginning of a message list that only grows, so that a step looks at its end alone.

A fact about the first n messages is remembered under n and the id of the last of them. Ids are unique, so a list that has the
same id at the same place has, but for edits in its middle, the same beginning; facts kept here must bear that. Shared by all
threads that use a middleware, and bounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from langchain_core.messages import AnyMessage

MAX_REMEMBERED = 10_000

Fact = TypeVar("Fact")


class PrefixMemory(Generic[Fact]):
    """Facts about beginnings of message lists."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, int], Fact] = {}

    def at(self, messages: Sequence[AnyMessage], length: int) -> Fact | None:
        """What is known of the first `length` messages."""
        message_id = messages[length - 1].id
        return None if message_id is None else self._facts.get((message_id, length))

    def remember(self, messages: Sequence[AnyMessage], fact: Fact) -> None:
        """Keep a fact about the whole list."""
        if not messages or messages[-1].id is None:
            return
        if len(self._facts) >= MAX_REMEMBERED:
            # Forgetting everything is simpler than an order of use, and costs one full look per living thread.
            self._facts.clear()
        self._facts[messages[-1].id, len(messages)] = fact
