"""What is known about models by their names, and about providers in words."""

from __future__ import annotations

import pytest

from stepwell.models.abilities import Abilities, abilities_of
from stepwell.models.access import access_arguments, normal_address
from stepwell.models.choice import ModelChoice
from stepwell.models.provider_guide import GUIDES, guide_of
from stepwell.models.providers import find_provider
from stepwell.models.resolve import build_model
from stepwell.settings import Secret, Settings


@pytest.mark.parametrize(
    ("provider", "name", "known"),
    [
        ("anthropic", "claude-opus-4-5", Abilities(tools=True, sees=True, context=200_000)),
        ("openai", "gpt-4o-mini", Abilities(tools=True, sees=True, context=128_000)),
        ("openai", "a-name-that-nobody-gave", Abilities()),
        ("local", "smollm2-135m", Abilities(tools=False, sees=False, writes=False, context=8192)),
        ("local", "qwen3-4b", Abilities(tools=True, sees=False, writes=True, context=16_384)),
        ("local", "/models/my.gguf", Abilities(sees=False)),
        ("local", "a-name-that-nobody-gave", Abilities()),
        ("groq", "its-package-is-not-installed", Abilities()),
        ("openai-compatible", "gpt-4o", Abilities()),
    ],
)
def test_abilities_are_those_that_somebody_states(provider: str, name: str, known: Abilities):
    assert abilities_of(provider, name) == known


def test_every_offered_provider_says_what_it_needs():
    assert list(GUIDES) == [
        *("anthropic", "openai", "google_genai", "mistralai", "openai-compatible"),
        *("ollama", "lm-studio", "llamacpp", "local"),
    ]
    for guide in GUIDES.values():
        assert find_provider(guide.id) == guide.id
        assert not guide.needs_key or (guide.key_page and guide.default_model)
        assert guide.installed
    assert guide_of("anthropic").key_hint == "starts with sk-ant-"
    assert guide_of("groq").install is not None


@pytest.mark.parametrize(
    ("provider", "written", "address"),
    [
        ("ollama", None, "http://127.0.0.1:11434"),
        ("ollama", "box", "http://box:11434"),
        ("lm-studio", "box:5000", "http://box:5000/v1"),
        ("openai-compatible", " https://models.example.com/v1/ ", "https://models.example.com/v1"),
        ("openai", "", "https://api.openai.com/v1"),
    ],
)
def test_addresses_are_taken_as_people_write_them(provider: str, written: str | None, address: str):
    assert normal_address(provider, written) == address


def test_a_server_of_openais_protocol_is_asked_with_chat_completions():
    arguments = access_arguments("openai-compatible", None, "https://models.example.com/v1")
    assert arguments["use_responses_api"] is False
    assert arguments["base_url"] == "https://models.example.com/v1"
    keyed = access_arguments("openai-compatible", Secret("abc"), "https://models.example.com/v1")
    assert keyed["api_key"].get_secret_value() == "abc"


def test_llamacpp_is_reached_at_its_usual_address():
    model = build_model(ModelChoice("llamacpp", "m", "named"), Settings.load({}))
    assert str(model.openai_api_base) == "http://127.0.0.1:8080/v1"
