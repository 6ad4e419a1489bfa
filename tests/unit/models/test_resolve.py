"""From a name to a chat model of the right class with the right arguments; no socket is opened."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from langchain.chat_models import init_chat_model
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI

from stepwell.errors import ConfigurationError, MissingExtraError, ModelUnavailableError
from stepwell.models import ModelFacts, describe, resolve_model
from stepwell.settings import Settings

SONNET = "claude-sonnet-4-6"


def test_an_instance_comes_back_as_it_is():
    """D1, D15: any LangChain model instance, shared and not copied."""
    model = FakeListChatModel(responses=["hello"])
    assert resolve_model(model, settings=Settings()) is model


def test_a_configurable_model_is_accepted():
    model = init_chat_model(configurable_fields=("model",))
    assert resolve_model(model, settings=Settings()) is model


@pytest.mark.parametrize("thing", [42, object(), ChatOllama, lambda text: text])
def test_something_else_is_refused_by_its_type(thing: object):
    with pytest.raises(ConfigurationError, match=f"A {type(thing).__name__} is not a model"):
        resolve_model(thing, settings=Settings())


def test_the_default_model_is_claude_sonnet_4_5_with_its_key_handed_over():
    """D1: default model Claude Sonnet 4.5."""
    model = resolve_model(None, settings=Settings.load({"ANTHROPIC_API_KEY": "from-mapping"}))
    assert isinstance(model, ChatAnthropic)
    assert (model.model, model.anthropic_api_key.get_secret_value()) == (SONNET, "from-mapping")


def test_a_key_of_the_dotenv_file_reaches_the_model(tmp_path: Path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    path = tmp_path / ".env"
    path.write_text("OPENAI_API_KEY=from-file\nOPENAI_BASE_URL=http://127.0.0.1:9/v1\n")
    model = resolve_model("openai:gpt-5.5", settings=Settings.load(dotenv=path))
    assert isinstance(model, ChatOpenAI)
    assert (model.openai_api_key.get_secret_value(), model.openai_api_base) == ("from-file", "http://127.0.0.1:9/v1")


def test_a_key_of_the_process_is_read_by_the_sdk(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "from-process")
    model = resolve_model("openai:gpt-5.5", settings=Settings.load(dotenv=None))
    assert model.openai_api_key.get_secret_value() == "from-process"


def test_settings_are_loaded_when_none_are_given(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPWELL_MODEL", "ollama:llama3.2")
    model = resolve_model(None)
    assert isinstance(model, ChatOllama)
    assert model.model == "llama3.2"


def test_ollama_by_environment():
    """D15: DEEPAGENTS_MODEL_PROVIDER=ollama."""
    environ = {"DEEPAGENTS_MODEL_PROVIDER": "ollama", "OLLAMA_MODEL_NAME": "qwen3:8b", "OLLAMA_HOST": "0.0.0.0:9"}
    model = resolve_model(None, settings=Settings.load(environ))
    assert isinstance(model, ChatOllama)
    assert (model.model, model.base_url) == ("qwen3:8b", "http://127.0.0.1:9")


def test_lm_studio_by_environment():
    """D15: DEEPAGENTS_MODEL_PROVIDER=lm-studio."""
    environ = {"DEEPAGENTS_MODEL_PROVIDER": "lm-studio", "LM_STUDIO_MODEL_NAME": "m", "LM_STUDIO_API_KEY": "k"}
    model = resolve_model(None, settings=Settings.load(environ))
    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.openai_api_base) == ("m", "http://127.0.0.1:1234/v1")
    assert model.openai_api_key.get_secret_value() == "k"


def test_lm_studio_needs_no_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert isinstance(resolve_model("lm-studio:m", settings=Settings()), ChatOpenAI)


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(
        ModelUnavailableError, match=r"'openai:gpt-5\.5' cannot be built without a key: OPENAI_API_KEY is not set"
    ):
        resolve_model("openai:gpt-5.5", settings=Settings())


def without(monkeypatch, *packages: str) -> None:
    """Make packages look as if they were not installed."""
    find = PathFinder.find_spec
    hidden = classmethod(lambda cls, name, *more: None if name in packages else find(name, *more))
    for package in packages:
        monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setattr(PathFinder, "find_spec", hidden)


@pytest.mark.parametrize("provider", ["anthropic", "ollama"])
def test_a_missing_extra_is_named_with_its_command(monkeypatch, provider: str):
    without(monkeypatch, f"langchain_{provider}")
    with pytest.raises(MissingExtraError, match=rf"provider '{provider}' .*pip install 'stepwell\[{provider}\]'"):
        resolve_model(f"{provider}:m", settings=Settings())


def test_lm_studio_without_its_package_names_the_openai_extra(monkeypatch):
    without(monkeypatch, "langchain_openai")
    with pytest.raises(MissingExtraError, match=r"provider 'lm-studio' .*stepwell\[openai\]"):
        resolve_model("lm-studio:m", settings=Settings())


def test_a_missing_package_without_extra_is_named_with_its_command(monkeypatch):
    without(monkeypatch, "langchain_upstage")
    with pytest.raises(ModelUnavailableError, match=r"'upstage' .*pip install langchain-upstage"):
        resolve_model("upstage:solar", settings=Settings())


def test_describe_tells_the_window_of_a_known_model():
    """D7: 85 % of a known window needs the window."""
    known = resolve_model(f"anthropic:{SONNET}", settings=Settings.load({"ANTHROPIC_API_KEY": "k"}))
    assert describe(known) == ModelFacts("anthropic", SONNET, 1_000_000)


def test_describe_leaves_open_what_is_not_known():
    local = resolve_model("ollama:llama3.2", settings=Settings())
    assert describe(local) == ModelFacts("ollama", "llama3.2", None)
    sized = resolve_model("ollama:llama3.2", settings=Settings(), model_settings={"num_ctx": 8192})
    assert describe(sized).context_window == 8192
    assert describe(FakeListChatModel(responses=[])).context_window is None


def test_importing_the_models_imports_no_sdk():
    heavy = "langchain langchain_core langgraph pydantic openai anthropic ollama httpx dotenv"
    code = f"import sys, stepwell.models; print(*[m for m in {heavy.split()!r} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == ""


def test_building_loads_nothing_more_once_the_package_is_loaded():
    settings = Settings.load({"ANTHROPIC_API_KEY": "k"})
    resolve_model(None, settings=settings)
    loaded = set(sys.modules)
    resolve_model(None, settings=settings)
    assert set(sys.modules) == loaded
