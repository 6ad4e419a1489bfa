"""How many tokens a conversation has, without counting it again on every step.

Where the provider reports usage, the last answer's report already covers everything before it. Otherwise the sum up to each
message is remembered by the message's id, so that a step counts only what is new. Both are estimates, good enough to decide
when to summarise; the provider's limit itself is handled where it is hit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import AnyMessage
from langchain_core.messages.utils import count_tokens_approximately

MAX_REMEMBERED = 10_000

MessageCounter = Callable[[list[AnyMessage]], int]


class IncrementalCounter:
    """Counts the tokens of growing message lists. Safe to share between threads and runs."""

    def __init__(self, count: MessageCounter = count_tokens_approximately) -> None:
        self._count = count
        self._sums: dict[tuple[str, int], int] = {}

    def total(self, messages: Sequence[AnyMessage]) -> int:
        """Tokens of all messages."""
        known, position = self._last_known(messages)
        for index in range(position, len(messages)):
            known += self._count([messages[index]])
        if position < len(messages) and messages[-1].id is not None:
            self._remember(messages[-1].id, len(messages), known)
        return known

    def _last_known(self, messages: Sequence[AnyMessage]) -> tuple[int, int]:
        """A sum, and the position of the first message it does not cover."""
        for index in range(len(messages) - 1, -1, -1):
            message = messages[index]
            if message.type == "ai" and (usage := message.usage_metadata) and usage["total_tokens"]:
                return usage["total_tokens"], index + 1
            if message.id is not None and (known := self._sums.get((message.id, index + 1))) is not None:
                return known, index + 1
        return 0, 0

    def _remember(self, message_id: str, length: int, total: int) -> None:
        if len(self._sums) >= MAX_REMEMBERED:
            # Dropping everything is simpler than an order of use, and costs one full count per living thread.
            self._sums.clear()
        self._sums[message_id, length] = total
