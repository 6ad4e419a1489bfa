"""An AI message as it is written, as events of content blocks: the format of LangChain's streaming protocol.

```
message-start          {id, role, metadata}
content-block-start    {index, content}          the block, still empty
content-block-delta    {index, delta}            text-delta | reasoning-delta | tool-call-delta
content-block-finish   {index, content}          the complete block; a tool call with its arguments parsed
message-finish         {usage, metadata}
```

Every event after the first names its message twice, because clients use different fields to tell concurrent messages apart:
`message_id` (Python) and `run_id` (JavaScript). A piece of a tool call is sent twice for the same reason: as `delta`, and as `content`,
which is the only field that JavaScript's SDK 1.12 reads. Both contain only the new piece, so the cost stays linear.

This module knows nothing about graphs, namespaces or journals, which `protocol` handles. An answer that was cut off has no finish events.

Before that, `CallIds` gives all chunks of a model call the id that the complete message has. This is needed because in a provider's stream
some chunks carry the provider's id, and others, including the last one, carry LangChain's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from langchain_core.messages import AIMessage, AIMessageChunk, UsageMetadata
from langchain_core.messages.ai import add_usage

from stepwell.state.wire import plain

Event = dict[str, Any]
Block = dict[str, Any]

_CALLS = ("tool_call", "tool_call_chunk", "invalid_tool_call")
_GROWING = {"text": "text", "reasoning": "reasoning", "tool_call_chunk": "args", "server_tool_call_chunk": "args"}
"""Blocks that arrive in pieces, and the field that grows."""


@dataclass
class _Call:
    """A model call whose answer is arriving."""

    metadata: Mapping[str, Any]
    """Kept so that no other object can get the same memory address, by which the call is identified."""
    message_id: str | None = None
    waiting: list[AIMessageChunk] = field(default_factory=list)


class CallIds:
    """One id for all chunks of a model call. LangGraph gives every chunk of a call the same metadata object; nothing else shows which
    call it belongs to."""

    def __init__(self) -> None:
        self._calls: dict[int, _Call] = {}

    def settle(self, message: Any, metadata: Mapping[str, Any]) -> list[Any]:
        """The messages that can be sent, each with its id. Empty chunks wait until a chunk decides the id."""
        if not isinstance(message, AIMessageChunk):
            return [message]
        call = self._calls.setdefault(id(metadata), _Call(metadata))
        last = message.chunk_position == "last"
        if call.message_id is None:
            if not last and not _decides(message):
                call.waiting.append(message)
                return []
            call.message_id = message.id
        if last:
            del self._calls[id(metadata)]
        chunks, call.waiting = [*call.waiting, message], []
        return [each if each.id == call.message_id else each.model_copy(update={"id": call.message_id}) for each in chunks]


def _decides(chunk: AIMessageChunk) -> bool:
    """Whether the chunk's id becomes that of the message. A provider's id takes precedence over one of LangChain's, but content cannot wait
    for a provider's id, so a chunk with content always decides."""
    return bool(chunk.content or chunk.tool_call_chunks or not (chunk.id or "").startswith("lc_"))


class MessageBlocks:
    """The AI messages of one attempt."""

    def __init__(self) -> None:
        self._open: dict[str, _Writing] = {}

    def events(self, message: Any, metadata: Mapping[str, Any]) -> list[Event]:
        """The events for a chunk or a complete message. Only a model's messages have blocks: one that a node merely returned is in the
        state, and LangGraph's own server does not stream it either."""
        if not isinstance(message, AIMessage) or not message.id or not _is_of_a_model(message, metadata):
            return []
        return list(self._events(message, message.id, metadata))

    def _events(self, message: AIMessage, message_id: str, metadata: Mapping[str, Any]) -> Iterator[Event]:
        names = {"message_id": message_id, "run_id": message_id}
        writing = self._open.get(message_id)
        if writing is None:
            writing = self._open[message_id] = _Writing()
            yield {"event": "message-start", "role": "ai", "id": message_id, "metadata": _about(metadata), **names}
        for event in writing.add(message):
            yield {**event, **names}
        if not isinstance(message, AIMessageChunk) or message.chunk_position == "last":
            del self._open[message_id]
            for event in writing.finish():
                yield {**event, **names}


class _Writing:
    """One message, with what has been written of it so far."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[str, Any], tuple[int, Block]] = {}
        self._usage: UsageMetadata | None = None
        self._metadata: dict[str, Any] = {}

    def add(self, message: AIMessage) -> Iterator[Event]:
        if message.usage_metadata:
            self._usage = add_usage(self._usage, message.usage_metadata)
        self._metadata.update(message.response_metadata)
        for key, block in _add_keys(_blocks(message)):
            index, so_far = self._blocks.setdefault(key, (len(self._blocks), {}))
            grows = _GROWING.get(block["type"])
            if not so_far:
                yield {"event": "content-block-start", "index": index, "content": {**block, **({grows: ""} if grows else {})}}
            yield from _deltas(index, block, grows)
            _grow(so_far, block, grows)

    def finish(self) -> Iterator[Event]:
        for index, block in self._blocks.values():
            yield {"event": "content-block-finish", "index": index, "content": _finish_block(block)}
        rest = {"usage": self._usage, "metadata": plain(self._metadata)}
        yield {"event": "message-finish", **{name: value for name, value in rest.items() if value}}


def _is_of_a_model(message: AIMessage, metadata: Mapping[str, Any]) -> bool:
    """Whether a model call produced it. LangChain describes the model in the metadata of its calls, and nowhere else."""
    return isinstance(message, AIMessageChunk) or "ls_model_type" in metadata


def _about(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The relevant facts about the model call: its node and its model."""
    known = {"langgraph_node": "langgraph_node", "ls_provider": "provider", "ls_model_name": "model"}
    return {ours: metadata[theirs] for theirs, ours in known.items() if isinstance(metadata.get(theirs), str)}


def _blocks(message: AIMessage) -> list[Block]:
    """The message's standard blocks. Tool calls are read from their own field, because a last chunk contains only a piece of a call, which
    LangChain would mistake for a complete one."""
    if isinstance(message.content, str) and not message.additional_kwargs:
        found: list[Block] = [{"type": "text", "text": message.content}] if message.content else []
    else:
        found = [plain(block) for block in message.content_blocks if block["type"] not in _CALLS]
    if isinstance(message, AIMessageChunk):
        return [*found, *({**chunk, "type": "tool_call_chunk"} for chunk in message.tool_call_chunks)]
    calls = [{**call, "type": "tool_call"} for call in message.tool_calls]
    return [*found, *calls, *({**call, "type": "invalid_tool_call"} for call in message.invalid_tool_calls)]


def _add_keys(blocks: list[Block]) -> Iterator[tuple[tuple[str, Any], Block]]:
    """Each block with a key shared by all of its pieces: the provider's index if there is one, a call's id, or its position among
    blocks of its type."""
    counts: dict[str, int] = {}
    for block in blocks:
        kind = block["type"]
        place = counts.get(kind, 0)
        counts[kind] = place + 1
        call_id = f"id {block['id']}" if kind in _CALLS and block.get("id") else None
        index = block.get("index")
        yield (kind, index if index is not None else call_id or place), block


def _deltas(index: int, block: Block, grows: str | None) -> Iterator[Event]:
    piece = block.get(grows) if grows else None
    if not piece:
        return
    event: Event = {"event": "content-block-delta", "index": index}
    if grows == "args":
        yield {**event, "delta": {"type": "tool-call-delta", "args": piece}, "content": {"type": block["type"], "args": piece}}
    else:
        yield {**event, "delta": {"type": f"{grows}-delta", grows: piece}}


def _grow(so_far: Block, block: Block, grows: str | None) -> None:
    before = so_far.get(grows) or "" if grows else ""
    so_far.update({name: value for name, value in block.items() if value is not None})
    if grows:
        so_far[grows] = before + (block.get(grows) or "")


def _finish_block(block: Block) -> Block:
    if not block["type"].endswith("_chunk"):
        return block
    call = {"id": block.get("id"), "name": block.get("name")}
    try:
        args = orjson.loads(block["args"] or "{}")
    except orjson.JSONDecodeError:
        args = None
    if isinstance(args, dict):
        return {"type": block["type"].removesuffix("_chunk"), **call, "args": args}
    return {"type": "invalid_tool_call", **call, "args": block["args"], "error": "The arguments are not a JSON object."}
