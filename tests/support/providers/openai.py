"""OpenAI's Chat Completions, which many servers speak, and Mistral's dialect of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.support.providers.server import KEY
from tests.support.providers.wire import INPUT_TOKENS, OUTPUT_TOKENS, FaultKind, Reply, Wire, event, pieces

USAGE = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}


def _error(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _base(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body["model"]}


def _finish_reason(reply: Reply) -> str:
    return "content_filter" if reply.refused else "tool_calls" if reply.calls else "stop"


def _chunks(body: Mapping[str, Any], deltas: Iterator[Mapping[str, Any]], reply: Reply) -> Iterator[dict[str, Any]]:
    base = _base(body, "chat.completion.chunk")
    yield {**base, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
    for delta in deltas:
        yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish_reason(reply)}]}


def _deltas(reply: Reply) -> Iterator[Mapping[str, Any]]:
    yield from ({"reasoning_content": piece} for piece in pieces(reply.thinking))  # as llama.cpp and DeepSeek send it
    yield from ({"content": piece} for piece in pieces(reply.text))
    for index, call in enumerate(reply.calls):
        function = {"name": call.name, "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]}
        for piece in pieces(json.dumps(call.arguments)):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _stream(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    yield from (event(chunk) for chunk in _chunks(body, _deltas(reply), reply))
    if reply.usage and (body.get("stream_options") or {}).get("include_usage"):
        yield event({**_base(body, "chat.completion.chunk"), "choices": [], "usage": USAGE})
    yield event("[DONE]")


def _message(reply: Reply) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in reply.calls
    ]
    return {"role": "assistant", "content": reply.text or None, **({"tool_calls": calls} if calls else {})}


def _whole(body: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
    choice = {"index": 0, "message": _message(reply), "finish_reason": _finish_reason(reply)}
    return {**_base(body, "chat.completion"), "choices": [choice], **({"usage": USAGE} if reply.usage else {})}


_FAULTS: Mapping[FaultKind, tuple[int, Mapping[str, Any]]] = {
    "rate limited": (429, _error("Rate limit reached for requests", "requests", "rate_limit_exceeded")),
    "overloaded": (503, _error("The engine is currently overloaded, please try again later", "server_error")),
    "server error": (500, _error("The server had an error while processing your request", "server_error")),
    "context overflow": (
        400,
        _error(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130211 tokens.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
    ),
    "wrong key": (401, _error("Incorrect API key provided: sk-test-****ghij.", "invalid_request_error", "invalid_api_key")),
    "no credit": (
        429,
        _error("You exceeded your current quota, please check your plan", "insufficient_quota", "insufficient_quota"),
    ),
}

OPENAI = Wire(
    "openai",
    lambda url: {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "STEPWELL_MODEL": "openai:gpt-4.1"},
    lambda path, body: path == "/v1/chat/completions",
    _stream,
    _whole,
    lambda path, body: bool(body.get("stream")),
    _FAULTS,
    lambda: event(_error("The server is overloaded", "server_error", "server_error")),
    listed={"object": "list", "data": [{"id": "gpt-4.1", "object": "model"}]},
)


def _response(body: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
    """A whole answer of the Responses API."""
    output: list[dict[str, Any]] = []
    if reply.searched:
        found = [tool for tool in body["tools"] if tool.get("name") in reply.searched]
        common = {"call_id": None, "execution": "server", "status": "completed"}
        output.append({"type": "tool_search_call", "id": "tsc_1", "arguments": {"paths": []}, **common})
        output.append({"type": "tool_search_output", "id": "tso_1", "tools": found, **common})
    if reply.text:
        text = {"type": "output_text", "text": reply.text, "annotations": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]})
    for call in reply.calls:
        arguments = json.dumps(call.arguments)
        named = {"type": "function_call", "id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
        output.append({**named, "arguments": arguments, "status": "completed"})
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed"}
    settings = {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    return {**base, **settings, "output": output, "usage": {**usage, **details}}


OPENAI_RESPONSES = replace(OPENAI, path=lambda path, body: path == "/v1/responses", whole=_response)
"""OpenAI's Responses API, without streams."""


def _mistral_deltas(reply: Reply) -> Iterator[Mapping[str, Any]]:
    if reply.thinking:
        yield {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": reply.thinking}]}]}
    yield from ({"content": piece} for piece in pieces(reply.text))
    for index, call in enumerate(reply.calls):  # whole: Mistral does not send arguments in pieces
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        yield {"tool_calls": [{"index": index, "id": call.id, "function": function}]}


def _mistral_stream(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    chunks = list(_chunks(body, _mistral_deltas(reply), reply))
    yield from (event(chunk) for chunk in chunks[:-1])
    yield event({**chunks[-1], **({"usage": USAGE} if reply.usage else {})})
    yield event("[DONE]")


def _mistral_error(message: str, kind: str) -> dict[str, Any]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": None}


MISTRAL = replace(
    OPENAI,
    name="mistral",
    variables=lambda url: {
        "MISTRAL_API_KEY": KEY,
        "MISTRAL_BASE_URL": f"{url}/v1",
        "STEPWELL_MODEL": "mistralai:mistral-large-latest",
    },
    stream=_mistral_stream,
    faults={
        "rate limited": (429, _mistral_error("Requests rate limit exceeded", "rate_limited")),
        "overloaded": (503, _mistral_error("Service unavailable.", "service_unavailable")),
        "server error": (500, _mistral_error("Internal server error", "internal_error")),
        "context overflow": (
            400,
            _mistral_error(
                "Prompt contains 140000 tokens, too large for model with 131072 maximum context length", "invalid_request"
            ),
        ),
        "wrong key": (401, {"detail": "Unauthorized"}),
        "no credit": (402, _mistral_error("Payment required", "payment_required")),
    },
    stream_fault=None,
)
