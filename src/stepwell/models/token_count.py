"""How many tokens a conversation has, without counting it again on every step.

If the provider reports usage, the last answer's report already covers everything before it. Otherwise the sum up to each message is
remembered by the message's id, so that a step counts only what is new. Both are estimates, good enough to decide when to summarise; the
provider's own limit is handled where it is exceeded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import AnyMessage
from langchain_core.messages.utils import count_tokens_approximately

from stepwell.state.prefix_memory import PrefixMemory

CHARS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
TOKENS_PER_IMAGE = 1_600
"""What a large image costs; providers scale down larger ones."""
FILE_CHARS_PER_TOKEN = 50
"""Characters of base64: a scanned page of a PDF has about 100,000, and costs about as much as an image."""

MessageCounter = Callable[[list[AnyMessage]], int]


def estimate(messages: list[AnyMessage]) -> int:
    """Estimate the tokens of some messages by their characters; uses LangChain's own estimate for anything but plain text and calls."""
    total = 0
    for message in messages:
        if not isinstance(message.content, str):
            total += _estimate_blocks(message)
            continue
        chars = len(message.content)
        if message.type == "ai":
            chars += sum(len(call["name"]) + len(repr(call["args"])) for call in message.tool_calls)
        total += chars // CHARS_PER_TOKEN + TOKENS_PER_MESSAGE
    return total


def _estimate_blocks(message: AnyMessage) -> int:
    """Images and files by what providers charge for them. LangChain would count a small image, and a file's base64 as text."""
    files = [block for block in message.content if isinstance(block, dict) and block.get("type") == "file"]
    if not files:
        return count_tokens_approximately([message], tokens_per_image=TOKENS_PER_IMAGE)
    rest = message.model_copy(update={"content": [block for block in message.content if block not in files]})
    sizes = [len(block.get("base64") or "") // FILE_CHARS_PER_TOKEN for block in files]
    counted = count_tokens_approximately([rest], tokens_per_image=TOKENS_PER_IMAGE)
    return counted + sum(max(TOKENS_PER_IMAGE, size) for size in sizes)


class IncrementalCounter:
    """Counts the tokens of growing message lists. Safe to share between threads and runs."""

    def __init__(self, count: MessageCounter = estimate) -> None:
        self._count = count
        self._sums: PrefixMemory[int] = PrefixMemory()

    def total(self, messages: Sequence[AnyMessage], *, reports_from: int = 0) -> int:
        """Tokens of all messages. Usage reports before position `reports_from` do not count, because they refer to another list."""
        known, position = self._last_known(messages, reports_from)
        if position < len(messages):
            known += self._count(list(messages[position:]))
            self._sums.remember(messages, known)
        return known

    def _last_known(self, messages: Sequence[AnyMessage], reports_from: int) -> tuple[int, int]:
        """A known sum, and how many messages from the beginning it covers."""
        for length in range(len(messages), 0, -1):
            message = messages[length - 1]
            reported = message.usage_metadata if message.type == "ai" and length > reports_from else None
            if reported and reported["total_tokens"]:
                return reported["total_tokens"], length
            if (known := self._sums.at(messages, length)) is not None:
                return known, length
        return 0, 0
