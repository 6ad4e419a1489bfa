"""Settings of a model: checked by its class, applied to a copy."""

from __future__ import annotations

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from stepwell.errors import ConfigurationError, ModelUnavailableError
from stepwell.models import resolve_model
from stepwell.settings import Settings

SETTINGS = Settings.load({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})


def anthropic() -> ChatAnthropic:
    return ChatAnthropic(model="claude-sonnet-4-6", api_key="k", temperature=0.1)


def test_a_named_model_is_built_with_its_settings():
    """D15: per-subagent model_settings."""
    model = resolve_model(
        "anthropic:claude-sonnet-4-5", settings=SETTINGS, model_settings={"temperature": 0.5, "max_tokens": 77}
    )
    assert (model.temperature, model.max_tokens) == (0.5, 77)


def test_an_instance_is_copied_and_stays_as_it_was():
    """D15: per-subagent model_settings; the shared instance is never changed."""
    shared = anthropic()
    copy = resolve_model(shared, settings=SETTINGS, model_settings={"temperature": 0.9, "max_tokens_to_sample": 77})
    assert copy is not shared
    assert (copy.temperature, copy.max_tokens) == (0.9, 77)
    assert (shared.temperature, shared.max_tokens) == (0.1, anthropic().max_tokens)


@pytest.mark.parametrize("model", ["ollama:m", ChatOllama(model="m")])
def test_max_tokens_is_understood_by_ollama(model):
    assert resolve_model(model, settings=SETTINGS, model_settings={"max_tokens": 5}).num_predict == 5


@pytest.mark.parametrize("model", ["openai:gpt-4.1", "ollama:m", "anthropic:claude", ChatOllama(model="m"), anthropic()])
def test_an_unknown_setting_is_refused_by_name(model):
    with pytest.raises(
        ConfigurationError, match=r"Unknown model setting 'temprature' for the model .*Did you mean 'temperature'"
    ):
        resolve_model(model, settings=SETTINGS, model_settings={"temprature": 1})


def test_a_model_without_settings_refuses_them_all():
    with pytest.raises(ConfigurationError, match="'temperature' for the model FakeListChatModel"):
        resolve_model(FakeListChatModel(responses=[]), settings=SETTINGS, model_settings={"temperature": 1})


@pytest.mark.parametrize(
    "key", ["timeout", "base_url", "api_key", "max_retries", "model_name", "http_client", "default_headers"]
)
def test_what_the_connection_was_made_from_is_refused_on_an_instance(key: str):
    with pytest.raises(ConfigurationError, match=f"'{key}' of the model ChatOpenAI is fixed"):
        resolve_model(ChatOpenAI(model="gpt-4.1", api_key="k"), settings=SETTINGS, model_settings={key: "x"})


def test_a_named_model_takes_connection_settings():
    model = resolve_model("openai:gpt-4.1", settings=SETTINGS, model_settings={"timeout": 3, "base_url": "http://127.0.0.1:9"})
    assert (model.request_timeout, model.openai_api_base) == (3, "http://127.0.0.1:9")


def test_a_value_that_does_not_fit_is_refused_and_not_shown():
    with pytest.raises(ConfigurationError, match="'temperature' of the model ChatOllama has an invalid value") as caught:
        resolve_model(ChatOllama(model="m"), settings=SETTINGS, model_settings={"temperature": "sk-hot"})
    assert "sk-hot" not in str(caught.value)
    with pytest.raises(ModelUnavailableError, match="'ollama:m' cannot be built: temperature") as caught:
        resolve_model("ollama:m", settings=SETTINGS, model_settings={"temperature": "sk-hot"})
    assert "sk-hot" not in str(caught.value)


def test_a_model_among_the_settings_takes_the_place_of_the_shared_one():
    """D15: 004's model_settings may name another model."""
    shared = anthropic()
    named = resolve_model(shared, settings=SETTINGS, model_settings={"model": "ollama:m", "temperature": 0.3})
    assert (type(named), named.model, named.temperature) == (ChatOllama, "m", 0.3)
    apart = resolve_model(shared, settings=SETTINGS, model_settings={"model": "m", "model_provider": "ollama"})
    assert (type(apart), apart.model) == (ChatOllama, "m")


def test_a_provider_among_the_settings_needs_its_model():
    with pytest.raises(ConfigurationError, match="'model_provider' needs a 'model'"):
        resolve_model(anthropic(), settings=SETTINGS, model_settings={"model_provider": "ollama"})
