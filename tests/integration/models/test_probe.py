"""The test of a model against servers that work: the providers' real packages, each against its own wire format on loopback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.integration.models import answers
from tests.support.loopback import Asked, Reply, serving

from stepwell.models.connected import ConnectedModel
from stepwell.models.probe import ProbeLimits, ProbeTarget, probe
from stepwell.settings import Secret, Settings

PATIENT = ProbeLimits(total_s=60, list_s=60)
GEMINI = {
    "models": [
        {"name": "models/gemini-flash-latest", "supportedGenerationMethods": ["generateContent"]},
        {"name": "models/aqa", "supportedGenerationMethods": ["generateAnswer"]},
    ]
}


@pytest.mark.parametrize(
    ("provider", "model", "path", "listing", "chat"),
    [
        ("anthropic", "claude-opus-4-8", "", answers.listed("claude-opus-4-8"), {"chat": answers.anthropic}),
        ("openai", "gpt-5.5", "/v1", answers.listed("gpt-5.5"), {"chat": answers.openai}),
        ("google_genai", "gemini-flash-latest", "", Reply(200, GEMINI), {"google": answers.google}),
        ("mistralai", "mistral-large-latest", "/v1", answers.listed("mistral-large-latest"), {"chat": answers.openai}),
        ("openai-compatible", "house-model", "/v1", answers.listed("house-model"), {"chat": answers.openai}),
        ("lm-studio", "qwen3-8b", "/v1", answers.listed("qwen3-8b"), {"chat": answers.openai}),
        ("llamacpp", "qwen3-8b", "/v1", answers.listed("qwen3-8b"), {"chat": answers.openai}),
    ],
)  # fmt: skip
async def test_a_model_that_works_answers_streams_and_calls_a_tool(
    provider: str, model: str, path: str, listing: Reply, chat: dict[str, Any]
):
    with serving(answers.at(models=listing, **chat)) as server:
        found = await probe(ProbeTarget(provider, model, Secret("a-key-1234567890"), f"{server.address}{path}"), limits=PATIENT)
    assert found.problem is None
    assert (found.ok, found.answers, found.tools, found.streams, found.model) == (True, True, True, True, model)
    assert found.models == (model,)
    assert found.latency_ms is not None
    assert [asked.method for asked in server.asked] == ["GET", "POST"]
    assert all("a-key-1234567890" in " ".join(asked.headers.values()) for asked in server.asked)


async def test_ollama_needs_neither_key_nor_name():
    with serving(answers.at(tags=answers.tags("nomic-embed-text:latest", "qwen3:8b"), chat=answers.ollama)) as server:
        found = await probe(ProbeTarget("ollama", base_url=server.address), limits=PATIENT)
    assert found.problem is None
    assert (found.ok, found.model, found.models, found.tools) == (True, "qwen3:8b", ("qwen3:8b",), True)


async def test_a_server_without_a_list_is_tested_by_its_model():
    with serving(answers.at(chat=answers.openai)) as server:
        found = await probe(ProbeTarget("openai-compatible", "house-model", base_url=f"{server.address}/v1"), limits=PATIENT)
    assert found.problem is None
    assert (found.ok, found.models) == (True, ())


@pytest.mark.parametrize("refuses", [True, False])
async def test_a_model_without_tools_can_be_used_and_says_so(refuses: bool):
    def chat(asked: Asked) -> Reply:
        if refuses and asked.body.get("tools"):
            return Reply(400, {"error": "registry.ollama.ai/library/gemma:2b does not support tools"})
        return answers.ollama(asked, calls=False)

    with serving(answers.at(tags=answers.tags("gemma:2b"), chat=chat)) as server:
        found = await probe(ProbeTarget("ollama", "gemma:2b", base_url=server.address), limits=PATIENT)
    assert (found.ok, found.answers, found.tools, found.streams) == (True, True, False, True)
    assert found.problem
    assert found.problem.kind == "no_tools"
    assert len(server.asked) <= 3


def _ignores_stream(asked: Asked) -> Reply:
    return answers.openai(Asked(asked.method, asked.path, asked.headers, {**asked.body, "stream": False}))


def _refuses_stream(asked: Asked) -> Reply:
    if asked.body.get("stream"):
        message = "Your organization must be verified to stream this model."
        return Reply(400, {"error": {"message": message, "param": "stream", "code": "unsupported_value"}})
    return answers.openai(asked)


@pytest.mark.parametrize("chat", [_ignores_stream, _refuses_stream])
async def test_a_model_that_cannot_stream_can_be_used_and_says_so(chat: Callable[[Asked], Reply]):
    with serving(answers.at(models=answers.listed("m"), chat=chat)) as server:
        found = await probe(ProbeTarget("openai-compatible", "m", base_url=f"{server.address}/v1"), limits=PATIENT)
    assert (found.ok, found.answers, found.tools, found.streams) == (True, True, True, False)
    assert found.problem
    assert found.problem.kind == "no_streaming"
    assert len(server.asked) == 3


async def test_a_test_asks_for_few_tokens_and_never_retries():
    with serving(answers.at(models=answers.listed("m"), chat=Reply(500, {"error": {"message": "boom"}}))) as server:
        found = await probe(ProbeTarget("openai-compatible", "m", base_url=f"{server.address}/v1"), limits=PATIENT)
    assert found.problem
    assert found.problem.kind == "server_error"
    assert [asked.body["max_tokens"] for asked in server.asked if asked.body] == [ProbeLimits().max_tokens]


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google_genai", "mistralai"])
async def test_no_provider_is_asked_again_after_an_error(provider: str):
    with serving(answers.at(models=Reply(403, {"error": {"message": "Missing scopes: api.model.read"}}))) as server:
        server.behave = lambda asked: Reply(403 if asked.method == "GET" else 500, {"error": {"message": "boom"}})
        found = await probe(ProbeTarget(provider, "m", Secret("a-key-1234567890"), server.address), limits=PATIENT)
    assert found.problem
    assert found.problem.kind == "server_error"
    assert [asked.method for asked in server.asked] == ["GET", "POST"]


async def test_a_model_of_the_environment_is_tested_with_the_environments_access():
    with serving(answers.at(models=answers.listed("m"), chat=answers.openai)) as server:
        settings = Settings.load({"LM_STUDIO_BASE_URL": server.address + "/v1", "LM_STUDIO_API_KEY": "a-key-1234567890"})
        found = await probe(
            ConnectedModel("env:lm-studio", 0, "lm-studio", "m", "LM Studio"), settings=settings, limits=PATIENT
        )
    assert (found.ok, found.problem) == (True, None)
    assert all("a-key-1234567890" in asked.headers["authorization"] for asked in server.asked)
