"""Which model is chosen, and why; nothing is built here."""

from __future__ import annotations

import pytest
from langchain.chat_models.base import _BUILTIN_PROVIDERS

from stepwell.errors import ModelUnavailableError
from stepwell.models import choose_model, model_from_environment
from stepwell.models.providers import PROVIDERS
from stepwell.settings import PROVIDER_VARIABLES, Settings

EVERYTHING = {
    "STEPWELL_MODEL": "groq:from-variable",
    "STEPWELL_MODEL_PROVIDER": "lm-studio",
    "LM_STUDIO_MODEL_NAME": "from-lm-studio",
    "OLLAMA_MODEL_NAME": "from-ollama",
    "OPENAI_API_KEY": "o",
    "ANTHROPIC_API_KEY": "a",
}


def chosen(model: str | None, **environ: str) -> str:
    return str(choose_model(model, Settings.load(environ)))


def test_the_order_is_explicit_variable_local_server_key():
    """D1, D15: each step of the order, seen by taking the one before it away."""
    environ = dict(EVERYTHING)
    assert chosen("openai:explicit", **environ) == "openai:explicit"
    assert chosen(None, **environ) == "groq:from-variable"
    del environ["STEPWELL_MODEL"]
    assert chosen(None, **environ) == "lm-studio:from-lm-studio"
    del environ["STEPWELL_MODEL_PROVIDER"]
    assert chosen(None, **environ) == "ollama:from-ollama"
    del environ["OLLAMA_MODEL_NAME"]
    assert chosen(None, **environ) == "lm-studio:from-lm-studio"
    del environ["LM_STUDIO_MODEL_NAME"]
    assert chosen(None, **environ) == "anthropic:claude-sonnet-4-6"
    del environ["ANTHROPIC_API_KEY"]
    assert chosen(None, **environ).startswith("openai:")


def test_the_reason_names_the_variable():
    assert choose_model(None, Settings.load({"OPENAI_API_KEY": "o"})).reason == "OPENAI_API_KEY is set"
    assert choose_model(None, Settings.load({"OLLAMA_MODEL_NAME": "m"})).reason == "OLLAMA_MODEL_NAME is set"


def test_nothing_set_tells_three_ways_out():
    assert model_from_environment(Settings()) is None
    with pytest.raises(ModelUnavailableError) as caught:
        choose_model(None, Settings())
    for way in ("model='anthropic:", "ANTHROPIC_API_KEY", "OLLAMA_MODEL_NAME", "LM_STUDIO_MODEL_NAME"):
        assert way in str(caught.value)


def test_the_address_of_a_server_alone_chooses_nothing():
    assert model_from_environment(Settings.load({"OLLAMA_HOST": "0.0.0.0"})) is None


@pytest.mark.parametrize("spelling", ["lm-studio", "LM_Studio", "lmstudio"])
def test_a_provider_may_be_spelt_in_several_ways(spelling: str):
    assert chosen(f"{spelling}:m") == "lm-studio:m"
    assert chosen(None, DEEPAGENTS_MODEL_PROVIDER=spelling, LM_STUDIO_MODEL_NAME="m") == "lm-studio:m"


def test_a_name_keeps_its_own_colons():
    assert chosen("ollama:qwen3:8b") == "ollama:qwen3:8b"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("gpt-5.5", "openai:gpt-5.5"),
        ("gemini-flash-latest", "google_genai:gemini-flash-latest"),
    ],
)
def test_a_well_known_name_needs_no_provider(name: str, expected: str):
    assert chosen(name) == expected
    assert chosen(name, DEEPAGENTS_MODEL_PROVIDER="ollama") == expected


def test_another_bare_name_takes_the_provider_of_the_environment():
    assert chosen("llama3.2", DEEPAGENTS_MODEL_PROVIDER="ollama") == "ollama:llama3.2"
    assert chosen(None, STEPWELL_MODEL="gpt-oss:20b", STEPWELL_MODEL_PROVIDER="ollama") == "ollama:gpt-oss:20b"
    assert chosen(None, STEPWELL_MODEL="openai:gpt-5.5", STEPWELL_MODEL_PROVIDER="ollama") == "openai:gpt-5.5"


def test_a_provider_of_the_environment_stands_for_its_default_model():
    assert chosen(None, STEPWELL_MODEL_PROVIDER="anthropic") == "anthropic:claude-sonnet-4-6"


@pytest.mark.parametrize(
    ("provider", "variable"),
    [("ollama", "OLLAMA_MODEL_NAME"), ("lm-studio", "LM_STUDIO_MODEL_NAME"), ("cohere", "STEPWELL_MODEL")],
)
def test_a_provider_without_a_model_name_asks_for_its_variable(provider: str, variable: str):
    with pytest.raises(ModelUnavailableError, match=f"'{provider}', but {variable} is not set"):
        chosen(None, DEEPAGENTS_MODEL_PROVIDER=provider, ANTHROPIC_API_KEY="a")


@pytest.mark.parametrize("name", ["llama3.2", "gpt-oss"])
def test_a_bare_name_nobody_knows_is_refused_with_the_providers(name: str):
    with pytest.raises(ModelUnavailableError, match=f"'{name}' in the model argument is not clear.*anthropic, .*ollama"):
        chosen(name)


@pytest.mark.parametrize(
    ("model", "environ", "said"),
    [
        ("antropic:claude", {}, "Unknown model provider 'antropic' .*Did you mean 'anthropic'.*Known providers: .*openai"),
        ("qwen3:8b", {}, "Unknown model provider 'qwen3' .*'ollama:qwen3:8b'"),
        (None, {"STEPWELL_MODEL": "nobody:m"}, "Unknown model provider 'nobody' in STEPWELL_MODEL"),
        (None, {"DEEPAGENTS_MODEL_PROVIDER": "nobody"}, "Unknown model provider 'nobody' in the environment's"),
    ],
)
def test_an_unknown_provider_is_named_with_the_known_ones(model: str | None, environ: dict[str, str], said: str):
    with pytest.raises(ModelUnavailableError, match=said):
        chosen(model, **environ)


@pytest.mark.parametrize("model", ["", " ", ":", "openai:", ":gpt-5.5"])
def test_half_a_name_is_refused(model: str):
    with pytest.raises(ModelUnavailableError, match="is not a model"):
        chosen(model)


def test_the_providers_are_those_of_langchain_and_four_of_ours():
    theirs = {name: (module, kind) for name, (module, kind, _) in _BUILTIN_PROVIDERS.items()}
    ours = {name: (each.module, each.chat_model) for name, each in PROVIDERS.items()}
    embedded = ("stepwell.models.local.chat_model", "EmbeddedChatModel")
    assert ours == {
        **theirs,
        **dict.fromkeys(("lm-studio", "llamacpp", "openai-compatible"), theirs["openai"]),
        "local": embedded,
    }


def test_every_provider_with_a_key_variable_has_a_default_model():
    assert [name for name in PROVIDER_VARIABLES if not PROVIDERS[name].default_model] == []
