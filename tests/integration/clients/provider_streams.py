"""Streams in the shapes in which providers' packages give them: which chunk has an id, where tool calls stand, how a stream ends.

`RecordedModel` plays a shape the way its provider's package would: it asks for the tool `add` first, and answers in text when it has
the result. A shape is what a package's `_astream` yields; ids that are missing there are filled in by LangChain. Every stream says
the same, `THOUGHT`, `SAID` and `add(a=1, b=2)`, as far as its provider can.

| shape | ids | how it ends |
|---|---|---|
| `openai_chat` | none | finish reason, then a chunk with nothing but usage |
| `openai_compatible` | `chatcmpl-...` on every chunk | finish reason; no chunk is marked last |
| `openai_responses` | `resp_...` on the first chunk only | marked last, with usage |
| `anthropic` | none | marked last, with usage |
| `anthropic_own_ids` | `msg_...` on every chunk | not marked |
| `ollama` | none | `done_reason`; a tool call is one whole chunk without an index |
| `google_genai` | none | usage on every chunk; text first in blocks and then plain; calls without an index |
| `mistral` | its own on every chunk | finish reason and usage together, not marked |
| `bedrock` | none | an empty first chunk, blocks with an index, usage alone at the end |
| `old_langchain` | `run-...` given by the model itself | not marked |
| `id_after_empty` | the provider's from the second chunk on | not marked |
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolMessage, UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

THOUGHT = "One and two."
SAID = "It is three"
_ARGS = ('{"a": 1,', ' "b": 2}')
_USAGE = UsageMetadata(input_tokens=7, output_tokens=5, total_tokens=12)

Chunks = Iterator[AIMessageChunk]


class RecordedModel(BaseChatModel):
    """Streams one of `SHAPES`, anew for each call."""

    shape: str

    @property
    def _llm_type(self) -> str:
        return f"recorded-{self.shape}"

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        asks = not isinstance(messages[-1], ToolMessage)
        for chunk in SHAPES[self.shape](asks):
            yield ChatGenerationChunk(message=chunk)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages):
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        first, *rest = (chunk.message for chunk in self._stream(messages))
        return ChatResult(generations=[ChatGeneration(message=first + rest)])


def _new(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex}"


def _words() -> Sequence[str]:
    return SAID.partition(" ")[0], " " + SAID.partition(" ")[2]


def _chunk(content: str | list[Any] = "", message_id: str | None = None, **fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=content, id=message_id, **fields)


def _indexed_call(message_id: str | None = None) -> Chunks:
    """A call in pieces that have an index: name and id first, then the arguments."""
    yield _chunk("", message_id, tool_call_chunks=[tool_call_chunk(name="add", args="", id=_new("call_"), index=0)])
    for piece in _ARGS:
        yield _chunk("", message_id, tool_call_chunks=[tool_call_chunk(args=piece, index=0)])


def _whole_call() -> AIMessageChunk:
    call = tool_call_chunk(name="add", args="".join(_ARGS), id=_new(""), index=None)
    return _chunk("", tool_call_chunks=[call])


def _openai_chat(asks: bool) -> Chunks:
    yield _chunk()
    yield from map(_chunk, _words())
    if asks:
        yield from _indexed_call()
    yield _chunk(response_metadata={"finish_reason": "tool_calls" if asks else "stop", "model_name": "gpt"})
    yield _chunk(usage_metadata=_USAGE)


def _openai_compatible(asks: bool) -> Chunks:
    own = _new("chatcmpl-")
    yield _chunk("", own)
    yield from (_chunk(word, own) for word in _words())
    if asks:
        yield from _indexed_call(own)
    yield _chunk("", own, response_metadata={"finish_reason": "tool_calls" if asks else "stop"})


def _openai_responses(asks: bool) -> Chunks:
    yield _chunk([], _new("resp_"), response_metadata={"model_name": "gpt", "model_provider": "openai"})
    item = _new("rs_")
    about: dict[str, Any] = {"response_metadata": {"model_provider": "openai"}}
    yield _chunk([{"type": "reasoning", "id": item, "summary": [], "index": 0}], **about)
    summary = {"index": 0, "type": "summary_text", "text": THOUGHT}
    yield _chunk([{"type": "reasoning", "summary": [summary], "index": 0}], **about)
    yield from (_chunk([{"type": "text", "text": word, "index": 1}], **about) for word in _words())
    yield _chunk([{"type": "text", "text": "", "id": _new("msg_"), "index": 1}], **about)
    if asks:
        call_id = _new("call_")
        pieces = [
            {"name": "add", "arguments": "", "call_id": call_id, "id": _new("fc_")},
            *({"arguments": each} for each in _ARGS),
        ]
        for piece in pieces:
            call = tool_call_chunk(name=piece.get("name"), args=piece["arguments"], id=piece.get("call_id"), index=2)
            yield _chunk([{"type": "function_call", **piece, "index": 2}], tool_call_chunks=[call], **about)
    yield _chunk([], usage_metadata=_USAGE, chunk_position="last", **about)


def _anthropic_pieces(asks: bool, own: str | None) -> Chunks:
    about: dict[str, Any] = {"response_metadata": {"model_provider": "anthropic"}}
    yield _chunk([], own, response_metadata={"model_name": "claude", "model_provider": "anthropic"})
    yield _chunk([{"type": "thinking", "thinking": THOUGHT, "index": 0}], own, **about)
    yield _chunk([{"type": "thinking", "thinking": "", "signature": "c2ln", "index": 0}], own, **about)
    yield from (_chunk([{"type": "text", "text": word, "index": 1}], own, **about) for word in _words())
    if asks:
        call_id = _new("toolu_")
        begin = tool_call_chunk(name="add", args="", id=call_id, index=2)
        block = {"type": "tool_use", "id": call_id, "name": "add", "input": {}, "index": 2}
        yield _chunk([block], own, tool_call_chunks=[begin], **about)
        for piece in _ARGS:
            delta = {"type": "input_json_delta", "partial_json": piece, "index": 2}
            yield _chunk([delta], own, tool_call_chunks=[tool_call_chunk(args=piece, index=2)], **about)


def _anthropic(asks: bool) -> Chunks:
    yield from _anthropic_pieces(asks, None)
    about = {"stop_reason": "tool_use" if asks else "end_turn", "model_provider": "anthropic"}
    yield _chunk([], usage_metadata=_USAGE, response_metadata=about, chunk_position="last")


def _anthropic_own_ids(asks: bool) -> Chunks:
    own = _new("msg_")
    yield from _anthropic_pieces(asks, own)
    yield _chunk([], own, usage_metadata=_USAGE, response_metadata={"stop_reason": "tool_use" if asks else "end_turn"})


def _ollama(asks: bool) -> Chunks:
    yield from map(_chunk, _words())
    if asks:
        yield _whole_call()
    yield _chunk(usage_metadata=_USAGE, response_metadata={"done": True, "done_reason": "stop", "model": "m"})


def _google_genai(asks: bool) -> Chunks:
    part = UsageMetadata(input_tokens=1, output_tokens=1, total_tokens=2)
    yield _chunk([{"type": "thinking", "thinking": THOUGHT}], usage_metadata=part)
    yield from (_chunk(word, usage_metadata=part) for word in _words())
    if asks:
        yield _whole_call()
    yield _chunk("", usage_metadata=part, response_metadata={"finish_reason": "STOP"})


def _mistral(asks: bool) -> Chunks:
    own = _new("")
    yield from (_chunk(word, own) for word in ("", *_words()))
    if asks:
        call = tool_call_chunk(name="add", args="".join(_ARGS), id=_new("")[:9], index=0)
        yield _chunk("", own, tool_call_chunks=[call])
    yield _chunk("", own, usage_metadata=_USAGE, response_metadata={"finish_reason": "tool_calls" if asks else "stop"})


def _bedrock(asks: bool) -> Chunks:
    yield _chunk([])
    yield from (_chunk([{"type": "text", "text": word, "index": 0}]) for word in _words())
    if asks:
        call_id = _new("tooluse_")
        begin = tool_call_chunk(name="add", args="", id=call_id, index=1)
        yield _chunk([{"type": "tool_use", "id": call_id, "name": "add", "index": 1}], tool_call_chunks=[begin])
        for piece in _ARGS:
            block = {"type": "tool_use", "input": piece, "index": 1}
            yield _chunk([block], tool_call_chunks=[tool_call_chunk(args=piece, index=1)])
    yield _chunk([], response_metadata={"stopReason": "tool_use" if asks else "end_turn"})
    yield _chunk([], usage_metadata=_USAGE)


def _old_langchain(asks: bool) -> Chunks:
    own = f"run-{uuid.uuid4()}"
    yield from (_chunk(word, own) for word in _words())
    if asks:
        yield from _indexed_call(own)


def _id_after_empty(asks: bool) -> Chunks:
    own = _new("msg_")
    yield _chunk()
    yield from (_chunk(word, own) for word in _words())
    if asks:
        yield from _indexed_call(own)


SHAPES: dict[str, Callable[[bool], Chunks]] = {
    "openai_chat": _openai_chat,
    "openai_compatible": _openai_compatible,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "anthropic_own_ids": _anthropic_own_ids,
    "ollama": _ollama,
    "google_genai": _google_genai,
    "mistral": _mistral,
    "bedrock": _bedrock,
    "old_langchain": _old_langchain,
    "id_after_empty": _id_after_empty,
}
"""Name -> the chunks of an answer: with a call of `add`, or, when the result is there, without."""
