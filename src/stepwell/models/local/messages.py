"""Conversations in the form that the embedded model reads: only roles and plain text.

Chat templates differ between models; all of them accept one system message first, then alternating user and assistant messages. Tool
calls become the JSON that the model is asked to write for them, tool results become user messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage

from stepwell.errors import ConfigurationError

Line = dict[str, str]
"""`role` and `content`."""


def chat_lines(messages: Sequence[BaseMessage], instructions: str = "") -> list[Line]:
    """The conversation, with further instructions at the end of the system message."""
    system = [_text(message) for message in messages if isinstance(message, SystemMessage)]
    lines: list[Line] = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            _append(lines, _role(message), _content(message))
    if not lines or lines[0]["role"] == "assistant":
        lines.insert(0, {"role": "user", "content": "(continued)"})
    head = "\n\n".join(part for part in (*system, instructions) if part)
    return [{"role": "system", "content": head}, *lines] if head else lines


def call_text(name: str, arguments: Mapping[str, Any]) -> str:
    """A tool call as the model writes it."""
    return json.dumps({"tool": name, "arguments": arguments}, ensure_ascii=False)


def _append(lines: list[Line], role: str, content: str) -> None:
    # Some templates reject two messages of the same role in a row.
    if lines and lines[-1]["role"] == role:
        lines[-1]["content"] += f"\n\n{content}"
    else:
        lines.append({"role": role, "content": content})


def _role(message: BaseMessage) -> str:
    return "assistant" if isinstance(message, AIMessage) else "user"


def _content(message: BaseMessage) -> str:
    text = _text(message)
    if isinstance(message, AIMessage):
        calls = [call_text(call["name"], call["args"]) for call in message.tool_calls]
        return "\n".join(part for part in (text, *calls) if part)
    if isinstance(message, ToolMessage):
        failed = " (failed)" if message.status == "error" else ""
        return f"Result of {message.name or 'the tool'}{failed}:\n{text}"
    return text


def _text(message: BaseMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    for block in message.content:
        if isinstance(block, dict) and block.get("type") in ("image", "image_url", "audio", "video", "file", "input_audio"):
            raise ConfigurationError(
                f"The embedded model reads only text, but a message contains a block of type '{block['type']}'. Leave it out, or "
                "use a model that supports it."
            )
    return str(message.text)
