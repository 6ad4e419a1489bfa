"""Answers of model servers in their own wire formats, to a request that may offer the tool `report_ready`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.loopback import Asked, Reply

ARGUMENTS = {"word": "ready"}


def sse(events: list[dict[str, Any]], *, named: bool = False, done: bool = False) -> Reply:
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return Reply(200, "".join([*lines, *(["data: [DONE]\n\n"] if done else [])]), {"Content-Type": "text/event-stream"})


def openai(asked: Asked, *, calls: bool = True) -> Reply:
    calls = calls and bool(asked.body.get("tools"))
    call = {"id": "call_1", "type": "function", "function": {"name": "report_ready", "arguments": json.dumps(ARGUMENTS)}}
    said: dict[str, Any] = (
        {"role": "assistant", "content": None, "tool_calls": [call]} if calls else {"role": "assistant", "content": "ready"}
    )
    finish = "tool_calls" if calls else "stop"
    base = {"id": "c1", "created": 1, "model": asked.body["model"]}
    if not asked.body.get("stream"):
        choice = {"index": 0, "message": said, "finish_reason": finish}
        usage = {"prompt_tokens": 7, "completion_tokens": 4, "total_tokens": 11}
        return Reply(200, {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
    if calls:
        said = {**said, "tool_calls": [{**call, "index": 0}]}
    chunks = [{"index": 0, "delta": said, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": finish}]
    return sse([{**base, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks], done=True)


def anthropic(asked: Asked) -> Reply:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": None}
    start = {"type": "tool_use", "id": "toolu_1", "name": "report_ready", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(ARGUMENTS)}
    events = [
        {
            "type": "message_start",
            "message": {**message, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 1}},
        },
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    return sse(events, named=True)


def google(asked: Asked) -> Reply:
    part = {"functionCall": {"name": "report_ready", "args": ARGUMENTS}}
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 4, "totalTokenCount": 11}
    answer = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return sse([{"candidates": [answer], "usageMetadata": usage, "modelVersion": "gemini"}])


def ollama(asked: Asked, *, calls: bool = True) -> Reply:
    calls = calls and bool(asked.body.get("tools"))
    message: dict[str, Any] = {"role": "assistant", "content": "" if calls else "ready"}
    if calls:
        message["tool_calls"] = [{"function": {"name": "report_ready", "arguments": ARGUMENTS}}]
    line = {"model": asked.body["model"], "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}
    end = {**line, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", "eval_count": 4}
    return Reply(200, f"{json.dumps(line)}\n{json.dumps(end)}\n", {"Content-Type": "application/x-ndjson"})


def listed(*names: str) -> Reply:
    """A list in the form of OpenAI, which Anthropic and Mistral use too."""
    return Reply(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


def tags(*names: str) -> Reply:
    return Reply(200, {"models": [{"name": name, "model": name, "size": 1000} for name in names]})


def at(**replies: Reply | Callable[[Asked], Reply]) -> Callable[[Asked], Reply]:
    """A server with a reply for the end of each path (`chat` for `/chat/completions`, `models`, `tags` ...); otherwise a 404 in JSON."""
    ends = {
        "models": ("/v1/models", "/v1beta/models"),
        "tags": ("/api/tags",),
        "chat": ("/v1/chat/completions", "/api/chat", "/v1/messages"),
        "google": (":streamGenerateContent", ":generateContent"),
    }

    def behave(asked: Asked) -> Reply:
        path = asked.path.partition("?")[0]
        for name, reply in replies.items():
            if path in ends[name] or (name == "google" and path.endswith(ends[name])):
                return reply(asked) if callable(reply) else reply
        return Reply(404, {"detail": "Not Found"})

    return behave
