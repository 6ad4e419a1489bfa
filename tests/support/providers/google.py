"""Google's Gemini API, as documented at https://ai.google.dev/api/generate-content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.providers.server import KEY
from tests.support.providers.wire import INPUT_TOKENS, OUTPUT_TOKENS, SIGNATURE, Reply, Wire, event, pieces

USAGE = {
    "promptTokenCount": INPUT_TOKENS,
    "candidatesTokenCount": OUTPUT_TOKENS,
    "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
}
MODEL = "gemini-2.5-flash"


def _error(status: int, name: str, message: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"code": status, "message": message, "status": name}}


def _frame(parts: list[Any], reply: Reply, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "modelVersion": MODEL,
        "responseId": "r1",
        **({"usageMetadata": USAGE} if reply.usage and finish else {}),
    }


def _parts(reply: Reply) -> Iterator[dict[str, Any]]:
    if reply.thinking:
        yield {"text": reply.thinking, "thought": True}
    for piece in pieces(reply.text):
        yield {"text": piece}
    for call in reply.calls:  # whole, and signed: the signature must come back with the next request
        yield {"functionCall": {"name": call.name, "args": dict(call.arguments)}, "thoughtSignature": SIGNATURE}


def _stream(body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
    yield from (event(_frame([part], reply)) for part in _parts(reply))
    yield event(_frame([{"text": ""}], reply, "SAFETY" if reply.refused else "STOP"))


def _whole(body: Mapping[str, Any], reply: Reply) -> Mapping[str, Any]:
    return _frame(list(_parts(reply)), reply, "SAFETY" if reply.refused else "STOP")


GOOGLE = Wire(
    "google",
    lambda url: {
        "GOOGLE_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": url,
        "STEPWELL_MODEL": f"google_genai:{MODEL}",
    },
    lambda path, body: "enerateContent" in path,
    _stream,
    _whole,
    lambda path, body: "streamGenerateContent" in path,
    {
        "rate limited": _error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        "overloaded": _error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "server error": _error(500, "INTERNAL", "An internal error has occurred."),
        "context overflow": _error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        "wrong key": _error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        "no credit": _error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing."),
    },
    listed={"models": [{"name": f"models/{MODEL}", "supportedGenerationMethods": ["generateContent"]}]},
)
