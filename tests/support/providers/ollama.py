"""Ollama's own protocol: lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.providers.wire import INPUT_TOKENS, OUTPUT_TOKENS, Reply, Wire, pieces

MODEL = "qwen3:8b"


def _line(body: Mapping[str, Any], message: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "", **message}
    return {"model": body["model"], "created_at": "2026-01-01T00:00:00Z", "message": said, "done": False, **rest}


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [{"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in reply.calls]


def _end(reply: Reply) -> dict[str, Any]:
    counts = {"prompt_eval_count": INPUT_TOKENS, "eval_count": OUTPUT_TOKENS} if reply.usage else {}
    return {"done": True, "done_reason": "stop", "total_duration": 1, **counts}


def _stream(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    lines = [_line(body, {"thinking": piece}) for piece in pieces(reply.thinking)]
    lines += [_line(body, {"content": piece}) for piece in pieces(reply.text)]
    if reply.calls:
        lines.append(_line(body, {"tool_calls": _calls(reply)}))
    lines.append(_line(body, {}, **_end(reply)))
    yield from (json.dumps(line).encode() + b"\n" for line in lines)


def _whole(body: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
    calls = {"tool_calls": _calls(reply)} if reply.calls else {}
    return _line(body, {"content": reply.text, **calls}, **_end(reply))


OLLAMA = Wire(
    "ollama",
    lambda url: {"OLLAMA_BASE_URL": url, "OLLAMA_MODEL_NAME": MODEL},
    lambda path, body: path == "/api/chat",
    _stream,
    _whole,
    lambda path, body: body.get("stream", True),
    {
        "rate limited": (429, {"error": "too many requests"}),  # only where a proxy stands before it
        "overloaded": (503, {"error": "server busy, please try again. maximum pending requests exceeded"}),
        "server error": (500, {"error": "llama runner process has terminated"}),
        "wrong key": (401, {"error": "unauthorized"}),
        "context overflow": (400, {"error": "the request exceeds the available context size, try increasing it"}),
    },
    lambda: json.dumps({"error": "an error was encountered while running the model"}).encode() + b"\n",
    media_type="application/x-ndjson",
    listed={"models": [{"name": MODEL, "model": MODEL}]},
)
