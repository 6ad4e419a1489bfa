"""What `Settings.load` makes of the environment and of `.env`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stepwell.errors import ConfigurationError
from stepwell.settings import Secret, Settings

KEY = "sk-do-not-show"


def env_file(folder: Path, text: str) -> Path:
    path = folder / ".env"
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_set_is_nothing_known():
    assert Settings.load({}) == Settings()


def test_a_mapping_shuts_out_the_process_and_its_dotenv(tmp_path, monkeypatch):
    env_file(tmp_path, "STEPWELL_MODEL=ollama:file\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OLLAMA_MODEL_NAME", "process")
    assert Settings.load({}) == Settings()


def test_without_arguments_the_process_and_its_dotenv_are_read(tmp_path, monkeypatch):
    env_file(tmp_path, "STEPWELL_MODEL=ollama:file\nOLLAMA_MODEL_NAME=file\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEPWELL_MODEL", raising=False)
    monkeypatch.setenv("OLLAMA_MODEL_NAME", "process")
    settings = Settings.load()
    assert (settings.model, settings.ollama_model_name) == ("ollama:file", "process")
    assert "STEPWELL_MODEL" not in os.environ


def test_dotenv_none_reads_no_file(tmp_path, monkeypatch):
    env_file(tmp_path, "STEPWELL_MODEL=ollama:file\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STEPWELL_MODEL", raising=False)
    assert Settings.load(dotenv=None).model is None


@pytest.mark.parametrize(
    ("variable", "attribute"),
    [
        ("MODEL_PROVIDER", "model_provider"),
        ("OLLAMA_MODEL_NAME", "ollama_model_name"),
        ("OLLAMA_BASE_URL", "ollama_address"),
        ("OLLAMA_HOST", "ollama_address"),
        ("LM_STUDIO_BASE_URL", "lm_studio_address"),
        ("LM_STUDIO_MODEL_NAME", "lm_studio_model_name"),
    ],
)
def test_the_prefix_wins_over_the_older_name(variable: str, attribute: str):
    """D15: 004's variables, each also under STEPWELL_."""
    older = "DEEPAGENTS_MODEL_PROVIDER" if variable == "MODEL_PROVIDER" else variable
    assert getattr(Settings.load({older: "old"}), attribute) == "old"
    assert getattr(Settings.load({older: "old", f"STEPWELL_{variable}": "new"}), attribute) == "new"


def test_base_url_wins_over_host():
    assert Settings.load({"OLLAMA_HOST": "host", "OLLAMA_BASE_URL": "url"}).ollama_address == "url"


def test_an_empty_variable_counts_as_not_set():
    assert Settings.load({"STEPWELL_MODEL": "  ", "ANTHROPIC_API_KEY": ""}) == Settings()


def test_an_empty_variable_hides_the_one_in_the_file(tmp_path):
    path = env_file(tmp_path, f"ANTHROPIC_API_KEY={KEY}\n")
    assert "anthropic" in Settings.load({}, dotenv=path).access
    assert Settings.load({"ANTHROPIC_API_KEY": ""}, dotenv=path).access == {}


def test_the_file_may_quote_and_is_taken_literally(tmp_path):
    path = env_file(tmp_path, "# a comment\nexport STEPWELL_MODEL='ollama:a b'\nOPENAI_API_KEY=\"with-${HOME}-dollar\"\n")
    settings = Settings.load({}, dotenv=path)
    assert settings.model == "ollama:a b"
    assert settings.access["openai"].key == Secret("with-${HOME}-dollar")


def test_a_file_that_is_no_text_is_refused_without_its_path(tmp_path):
    path = tmp_path / ".env"
    path.write_bytes(b"A=\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match=r"'\.env' cannot be read") as caught:
        Settings.load({}, dotenv=path)
    assert str(tmp_path) not in str(caught.value)


def test_no_secret_shows(tmp_path):
    environ = {
        "ANTHROPIC_API_KEY": KEY,
        "LM_STUDIO_API_KEY": KEY,
        "OLLAMA_BASE_URL": f"http://user:{KEY}@127.0.0.1",
        "LM_STUDIO_BASE_URL": f"http://user:{KEY}@127.0.0.1",
        "ANTHROPIC_BASE_URL": f"http://user:{KEY}@127.0.0.1",
    }
    settings = Settings.load(environ)
    assert KEY not in f"{settings!r} {settings} {settings.access!r} {settings.lm_studio_api_key}"
    assert settings.access["anthropic"].key.reveal() == KEY


def test_providers_with_a_key_are_listed_anthropic_first():
    settings = Settings.load({"OPENAI_API_KEY": "o", "GEMINI_API_KEY": "g", "ANTHROPIC_API_KEY": "a"})
    assert [(name, access.variable) for name, access in settings.access.items()] == [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("openai", "OPENAI_API_KEY"),
        ("google_genai", "GEMINI_API_KEY"),
    ]


def test_a_key_of_the_process_is_left_to_the_sdk_and_one_of_the_file_is_handed_over(tmp_path, monkeypatch):
    path = env_file(tmp_path, "OPENAI_API_KEY=file\nANTHROPIC_API_KEY=file\n")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "process")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    access = Settings.load(dotenv=path).access
    assert (access["anthropic"].key.reveal(), access["anthropic"].handed_over) == ("process", False)
    assert (access["openai"].key.reveal(), access["openai"].handed_over) == ("file", True)


def test_an_address_counts_only_beside_its_key(tmp_path):
    path = env_file(tmp_path, "OPENAI_BASE_URL=http://elsewhere.example\n")
    assert Settings.load({"OPENAI_API_KEY": "mine"}, dotenv=path).access["openai"].base_url is None
    path = env_file(tmp_path, "OPENAI_BASE_URL=http://127.0.0.1:9/v1\nOPENAI_API_KEY=its\n")
    assert Settings.load({}, dotenv=path).access["openai"].base_url == "http://127.0.0.1:9/v1"
