"""Finding model servers on this computer: servers on loopback that answer like Ollama, LM Studio and llama.cpp, and others that do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.loopback import Asked, Reply, free_port, serving, speaking

from stepwell.models.abilities import Abilities, abilities_of
from stepwell.models.discovery import Discovery, FoundModel, LocalServer, find_local_servers, local_addresses
from stepwell.settings import Settings


def ollama(asked: Asked) -> Reply:
    if asked.path == "/api/tags":
        sizes = {"qwen3:8b": 5_000_000_000, "llava:latest": 4_000_000_000, "nomic-embed-text:latest": 270_000_000}
        return Reply(200, {"models": [{"name": name, "size": size} for name, size in sizes.items()]})
    if asked.path == "/api/show":
        able = {
            "qwen3:8b": ["completion", "tools", "thinking"],
            "llava:latest": ["completion", "vision"],
            "nomic-embed-text:latest": ["embedding"],
        }[asked.body["model"]]
        return Reply(200, {"capabilities": able, "model_info": {"general.architecture": "x", "x.context_length": 40960}})
    return Reply(404, "404 page not found")


def lm_studio(asked: Asked) -> Reply:
    if asked.path != "/api/v0/models":
        return Reply(200, {"error": "Unexpected endpoint or method."})
    return Reply(
        200,
        {
            "object": "list",
            "data": [
                {"id": "qwen3-8b", "type": "llm", "state": "loaded", "max_context_length": 40960, "capabilities": ["tool_use"]},
                {"id": "gemma-3-4b", "type": "vlm", "state": "not-loaded", "max_context_length": 131072},
                {"id": "nomic-embed", "type": "embeddings", "state": "not-loaded"},
            ],
        },
    )


def llamacpp(asked: Asked) -> Reply:
    if asked.path == "/v1/models":
        entry = {"id": "qwen3.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 40960, "size": 5_000_000_000}}
        return Reply(200, {"object": "list", "data": [entry]})
    if asked.path == "/props":
        told = {"default_generation_settings": {"n_ctx": 16384}, "modalities": {"vision": False}}
        return Reply(200, {**told, "chat_template_caps": {"supports_tools": True}})
    return Reply(404, {"error": {"code": 404, "message": "File Not Found", "type": "not_found_error"}})


async def test_the_servers_of_this_computer_are_found_with_their_models_and_abilities():
    with serving(ollama) as one, serving(lm_studio) as two, serving(llamacpp) as three:
        settings = Settings.load(
            {
                "OLLAMA_HOST": f"127.0.0.1:{one.port}",
                "LM_STUDIO_BASE_URL": f"{two.address}/v1",
                "LLAMACPP_BASE_URL": f"{three.address}/v1",
            }
        )
        found = await find_local_servers(settings)
        asked = len(one.asked)
        assert await find_local_servers(settings) == found
        assert len(one.asked) == asked  # remembered
    assert found == [
        LocalServer(
            "ollama",
            "Ollama",
            one.address,
            (
                FoundModel("qwen3:8b", tools=True, sees=False, context=40960, size_bytes=5_000_000_000),
                FoundModel("llava:latest", tools=False, sees=True, context=40960, size_bytes=4_000_000_000),
            ),
        ),
        LocalServer(
            "lm-studio",
            "LM Studio",
            f"{two.address}/v1",
            (
                FoundModel("qwen3-8b", tools=True, sees=False, context=40960, loaded=True),
                FoundModel("gemma-3-4b", sees=True, context=131072, loaded=False),
            ),
        ),
        LocalServer(
            "llamacpp",
            "llama.cpp",
            f"{three.address}/v1",
            (FoundModel("qwen3.gguf", tools=True, sees=False, context=16384, size_bytes=5_000_000_000, loaded=True),),
        ),
    ]
    assert abilities_of("ollama", "llava", found) == Abilities(tools=False, sees=True, context=40960)
    assert abilities_of("ollama", "llava") == Abilities()


@pytest.mark.parametrize(
    "behave",
    [
        lambda asked: Reply(200, "<html>Jenkins</html>", {"Content-Type": "text/html"}),
        lambda asked: Reply(200, {"models": "none", "data": "none"}),
        lambda asked: Reply(200, {"object": "list", "data": [{"id": "gpt-5", "owned_by": "openai"}]}),
        lambda asked: Reply(500, ""),
        lambda asked: Reply(302, "", {"Location": "/login"}),
        lambda asked: Reply(never=True),
    ],
    ids=["web page", "other JSON", "other list", "error", "redirect", "silence"],
)
async def test_a_server_that_merely_listens_is_not_taken_for_one(behave: Callable[[Asked], Reply]):
    with serving(behave) as server:
        places = (("ollama", server.address), ("lm-studio", f"{server.address}/v1"), ("llamacpp", f"{server.address}/v1"))
        assert await Discovery(places).find() == []


async def test_nothing_is_found_where_nothing_answers_in_http():
    with speaking(b"SSH-2.0-OpenSSH_9.6\r\n") as port:
        places = (("ollama", f"http://127.0.0.1:{port}"), ("lm-studio", f"http://127.0.0.1:{free_port()}/v1"))
        assert await Discovery(places).find() == []


async def test_what_was_found_is_forgotten_after_a_while():
    now = 0.0
    with serving(ollama) as server:
        discovery = Discovery((("ollama", server.address),), remember_s=5, now=lambda: now)
        assert len(await discovery.find()) == 1
    now = 4.9
    assert len(await discovery.find()) == 1
    now = 5.0
    assert await discovery.find() == []


async def test_an_ollama_whose_models_say_nothing_in_time_is_found_without_their_abilities():
    def slow(asked: Asked) -> Reply:
        return Reply(never=True) if asked.path == "/api/show" else ollama(asked)

    with serving(slow) as server:
        (found,) = await Discovery((("ollama", server.address),)).find()
    assert FoundModel("qwen3:8b", size_bytes=5_000_000_000) in found.models


def test_only_loopback_is_looked_at():
    usual = dict(local_addresses(Settings.load({})))
    assert usual == {
        "ollama": "http://127.0.0.1:11434",
        "lm-studio": "http://127.0.0.1:1234/v1",
        "llamacpp": "http://127.0.0.1:8080/v1",
    }
    elsewhere = {"OLLAMA_HOST": "http://10.0.0.5:11434", "LM_STUDIO_BASE_URL": "https://models.example.com/v1"}
    assert [provider for provider, _ in local_addresses(Settings.load(elsewhere))] == ["llamacpp"]
