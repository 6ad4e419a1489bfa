"""Anthropic's Messages API, as documented at https://docs.anthropic.com/en/api/messages-streaming."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.providers.server import KEY
from tests.support.providers.wire import INPUT_TOKENS, OUTPUT_TOKENS, SIGNATURE, Reply, Wire, event, pieces


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _stop_reason(reply: Reply) -> str:
    return "refusal" if reply.refused else "tool_use" if reply.calls else "end_turn"


def _usage(reply: Reply, **counts: int) -> dict[str, int]:
    return counts if reply.usage else {"input_tokens": 0, "output_tokens": 0}


def _message(body: Mapping[str, Any], content: list[Any], reason: str | None, usage: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content, "stop_reason": reason,
        "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def _block(index: int, block: Mapping[str, Any], deltas: list[Mapping[str, Any]]) -> Iterator[bytes]:
    yield event({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")
    for delta in deltas:
        yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
    yield event({"type": "content_block_stop", "index": index}, "content_block_stop")


def _stream(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    begun = _message(body, [], None, _usage(reply, input_tokens=INPUT_TOKENS, output_tokens=1))
    yield event({"type": "message_start", "message": begun}, "message_start")
    yield event({"type": "ping"}, "ping")
    index = 0
    if reply.thinking:
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(reply.thinking)]
        signed = {"type": "signature_delta", "signature": SIGNATURE}
        yield from _block(index, {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed])
        index += 1
    if reply.text:
        yield from _block(
            index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(reply.text)]
        )
        index += 1
    for call in reply.calls:
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        arguments = pieces(json.dumps(call.arguments))
        yield from _block(index, block, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *arguments)])
        index += 1
    end = {"type": "message_delta", "delta": {"stop_reason": _stop_reason(reply), "stop_sequence": None}}
    usage = _usage(reply, input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS)  # of the whole message so far
    yield event({**end, "usage": usage}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def _search_blocks(reply: Reply) -> list[dict[str, Any]]:
    found = [{"type": "tool_reference", "tool_name": name} for name in reply.searched]
    result = {"type": "tool_search_tool_search_result", "tool_references": found}
    return [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "?"}},
        {"type": "tool_search_tool_result", "tool_use_id": "srvtoolu_1", "content": result},
    ]


def _whole(body: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
    content: list[dict[str, Any]] = []
    if reply.thinking:
        content.append({"type": "thinking", "thinking": reply.thinking, "signature": SIGNATURE})
    if reply.searched:
        content += _search_blocks(reply)
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    content += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in reply.calls]
    usage = _usage(reply, input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS)
    return _message(body, content, _stop_reason(reply), usage)


ANTHROPIC = Wire(
    "anthropic",
    lambda url: {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url, "STEPWELL_MODEL": "anthropic:claude-sonnet-4-6"},
    lambda path, body: path == "/v1/messages",
    _stream,
    _whole,
    lambda path, body: bool(body.get("stream")),
    {
        "rate limited": (429, _error("rate_limit_error", "This request would exceed your organization's rate limit.")),
        "overloaded": (529, _error("overloaded_error", "Overloaded")),
        "server error": (500, _error("api_error", "Internal server error")),
        "context overflow": (400, _error("invalid_request_error", "prompt is too long: 212345 tokens > 200000 maximum")),
        "wrong key": (401, _error("authentication_error", "invalid x-api-key")),
        "no credit": (400, _error("invalid_request_error", "Your credit balance is too low to access the Anthropic API.")),
    },
    lambda: event(_error("overloaded_error", "Overloaded"), "error"),
    listed={"data": [{"type": "model", "id": "claude-sonnet-4-6", "display_name": "Claude Sonnet 4.6"}]},
)
