"""Turns a finished message into the stream it could have come from.

Adding up the chunks restores the message: text word by word, the arguments of a tool call in a few pieces of JSON, and token counts
with metadata on the last chunk. Every chunk has the message's id; otherwise LangChain would treat it as another message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

_WORD = re.compile(r"\s*\S+|\s+$")
_PIECES_PER_CALL = 4
_SMALLEST_PIECE_CHARS = 8
_PARSED_PIECE_CHARS = 64


def to_chunks(message: AIMessage) -> Iterator[AIMessageChunk]:
    """The message in pieces, the last of which is marked as such."""
    for content in _content_pieces(message.content):
        yield AIMessageChunk(content=content, id=message.id)
    for piece in _call_pieces(message):
        yield _call_chunk(piece, message.id)
    yield AIMessageChunk(
        content="" if isinstance(message.content, str) else [],
        id=message.id,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        chunk_position="last",
    )


def _content_pieces(content: str | list[Any]) -> Iterator[Any]:
    if isinstance(content, str):
        yield from _WORD.findall(content)
    else:
        yield from ([block] for block in content)


def _call_chunk(piece: ToolCallChunk, message_id: str | None) -> AIMessageChunk:
    """A chunk for one piece of a call.

    The constructor parses as much of a piece as it can, like a piece from a provider. LangChain's parser takes quadratic time for text
    that is not valid JSON by itself (minutes for 250,000 characters), so a long piece is set afterwards; the sum of the chunks is still
    parsed.
    """
    if len(piece["args"] or "") <= _PARSED_PIECE_CHARS:
        return AIMessageChunk(content="", id=message_id, tool_call_chunks=[piece])
    chunk = AIMessageChunk(content="", id=message_id)
    chunk.tool_call_chunks = [piece]
    return chunk


def _call_pieces(message: AIMessage) -> Iterator[ToolCallChunk]:
    """Name and id first, then the arguments: the order in which providers send them."""
    valid = [(call["name"], call["id"], json.dumps(call["args"])) for call in message.tool_calls]
    malformed = [(call["name"], call["id"], call["args"] or "") for call in message.invalid_tool_calls]
    for index, (name, call_id, args) in enumerate(valid + malformed):
        yield tool_call_chunk(name=name, args="", id=call_id, index=index)
        size = max(_SMALLEST_PIECE_CHARS, -(-len(args) // _PIECES_PER_CALL))
        for start in range(0, len(args), size):
            yield tool_call_chunk(args=args[start : start + size], index=index)
