"""Hears the arguments of streamed calls as they were sent.

LangChain closes what is still open in a streamed call (`{"content": "Half of` becomes `{"content": "Half of"}`) and keeps only that. Most
providers say when they stop in the middle, but a connection that just ends says nothing. So we keep the text until the answer is
complete, and a call whose text is not whole JSON becomes one whose arguments cannot be read.
"""

from __future__ import annotations

import json
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, InvalidToolCall, ToolCall
from langchain_core.messages.tool import invalid_tool_call


class StreamedArguments(BaseCallbackHandler):
    """The pieces of calls that the models of one step streamed. A step may ask several models, or one of them again."""

    run_inline = True  # on the event loop itself, because a thread hop per token would cost more than the token
    # Without this LangChain converts the whole conversation to text, for old-style handlers.
    ignore_chat_model = True

    def __init__(self) -> None:
        self._pieces: dict[Any, list[AIMessageChunk]] = {}

    def on_llm_new_token(self, token: Any, *, chunk: Any = None, run_id: Any = None, **kwargs: Any) -> None:
        message = getattr(chunk, "message", None)
        if isinstance(message, AIMessageChunk) and message.tool_call_chunks:
            self._pieces.setdefault(run_id, []).append(message)

    def without_halves(self, message: AIMessage) -> AIMessage:
        """The message with every half call among those that cannot be read; the same message if there is none."""
        if not self._pieces or not message.tool_calls:
            return message
        texts = self._texts()
        halves = {
            number: text for number, call in enumerate(message.tool_calls) if not _is_whole(text := texts.get(_key(call)))
        }
        if not halves:
            return message
        calls: list[ToolCall] = []
        unread: list[InvalidToolCall] = [*message.invalid_tool_calls]
        for number, call in enumerate(message.tool_calls):
            if number in halves:
                unread.append(invalid_tool_call(name=call["name"], args=halves[number], id=call["id"], error=None))
            else:
                calls.append(call)
        return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": unread})

    def _texts(self) -> dict[tuple[str | None, str | None], str | None]:
        whole = [pieces[0] + pieces[1:] for pieces in self._pieces.values()]
        return {(piece["id"], piece["name"]): piece["args"] for each in whole for piece in each.tool_call_chunks}


def _key(call: ToolCall) -> tuple[str | None, str | None]:
    return call["id"], call["name"]


def _is_whole(text: str | None) -> bool:
    """Whether nothing is missing at the end. Calls without arguments have no text."""
    if not text:
        return True
    try:
        json.loads(text, strict=False)  # like LangChain, which accepts line breaks inside strings
    except (ValueError, RecursionError):
        return False
    return True
