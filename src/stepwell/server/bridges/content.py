"""Messages as JSON, as they come out of the journal: their text, the reasoning in them, and which one is the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_THOUGHTS = {"reasoning": "reasoning", "thinking": "thinking", "reasoning_content": "reasoning_content"}
"""Type of a block with reasoning -> where its text is; providers differ."""


def text_of(message: Mapping[str, Any]) -> str:
    """What a message says, without its other blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(block.get("text") or "") for block in _blocks(content) if block.get("type") in ("text", None))


def thought_of(message: Mapping[str, Any]) -> str:
    """The reasoning in a message, if its provider shows it."""
    thoughts = [
        str(block.get(_THOUGHTS[block["type"]]) or "")
        for block in _blocks(message.get("content"))
        if block.get("type") in _THOUGHTS
    ]
    more = message.get("additional_kwargs")
    if not any(thoughts) and isinstance(more, Mapping) and isinstance(said := more.get("reasoning_content"), str):
        return said
    return "".join(thoughts)


def last_answer(values: Any) -> Mapping[str, Any] | None:
    """The assistant's last message since the user's last one; None if the graph has no messages or has said nothing."""
    messages = values.get("messages") if isinstance(values, Mapping) else None
    for message in reversed(messages if isinstance(messages, list) else []):
        if not isinstance(message, Mapping) or message.get("type") == "human":
            return None
        if message.get("type") == "ai" and text_of(message):
            return message
    return None


def _blocks(content: Any) -> Iterator[Mapping[str, Any]]:
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping):
            yield block
        elif isinstance(block, str):
            yield {"type": "text", "text": block}
