"""The command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def stepwell(*arguments: str, cwd: Path, typed: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in an empty folder, with an environment that configures no model."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    environment |= {"PYTHONIOENCODING": "utf-8", **variables}
    command = [sys.executable, "-m", "stepwell", *arguments]
    return subprocess.run(command, cwd=cwd, input=typed, env=environment, capture_output=True, text=True, timeout=60)


def test_version(tmp_path: Path):
    result = stepwell("--version", cwd=tmp_path)
    assert (result.returncode, result.stdout.split()[0]) == (0, "stepwell")


def test_no_command_shows_the_help(tmp_path: Path):
    result = stepwell(cwd=tmp_path)
    assert result.returncode == 0
    assert "chat" in result.stdout


def test_chat_without_a_model_says_so_and_plays_the_demonstration(tmp_path: Path):
    result = stepwell("chat", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    first, second, *rest = result.stdout.splitlines()
    assert "No model is configured" in first
    assert "STEPWELL_MODEL" in second
    assert "The note is in /note.md" in rest[-1]


def test_demonstration_shows_plan_subagent_approval_and_file(tmp_path: Path):
    result = stepwell("chat", "--demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    signs = [
        "scripted",
        "[>] Find out",
        "[researcher] A stepwell is",
        "Run write_file(",
        "← Wrote /note.md",
        "[x] Write the note",
    ]
    assert [sign for sign in signs if sign not in result.stdout] == []
    assert list(tmp_path.iterdir()) == [], "the files of a chat live in its state"


def test_an_unknown_provider_is_refused_by_name(tmp_path: Path):
    result = stepwell("chat", "--model", "nowhere:big", "--once", "hi", cwd=tmp_path)
    assert result.returncode == 2
    assert "nowhere" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def data_dir(tmp_path: Path, model_folder: Path) -> str:
    """A data folder of the test's own, with the embedded model in it."""
    models = tmp_path / "data" / "models"
    models.mkdir(parents=True)
    for file in model_folder.glob("*.gguf"):
        os.link(file, models / file.name)
    return str(models.parent)


def test_once_without_a_model_answers_with_the_embedded_one_and_says_so(tmp_path: Path, data_dir: str):
    """R10, R11: no key, still an answer; what the model cannot do is said where the user meets it."""
    result = stepwell("chat", "--once", "Say hello", cwd=tmp_path, STEPWELL_DATA_DIR=data_dir)
    assert result.returncode == 0, result.stderr
    about, plain, *answer = result.stdout.splitlines()
    assert "far too small" in about
    assert "cannot use tools" in plain
    assert "".join(answer).strip()
    assert "Loading smollm2-135m" in result.stderr


def test_models_are_listed_loaded_and_removed(tmp_path: Path, data_dir: str):
    """Build 3 of the models: list, pull, load, remove, with progress."""
    here = {"cwd": tmp_path, "STEPWELL_DATA_DIR": data_dir}
    listing = stepwell("models", "list", **here).stdout
    assert "SmolLM2 135M Instruct (Apache-2.0), on this machine" in listing
    loaded = stepwell("models", "load", **here)
    assert (loaded.returncode, "ready after" in loaded.stdout) == (0, True), loaded.stderr
    removed = stepwell("models", "remove", "smollm2-135m", **here)
    assert removed.stdout == "smollm2-135m was removed.\n"
    assert "98 MB to download" in stepwell("models", "list", **here).stdout


def test_an_unknown_local_model_is_named_with_the_known(tmp_path: Path):
    result = stepwell("models", "pull", "smolm", cwd=tmp_path, STEPWELL_DATA_DIR=str(tmp_path))
    assert result.returncode == 2
    assert "Unknown local model 'smolm'" in result.stderr
    assert "Traceback" not in result.stderr


def test_doctor_says_which_model_and_why_and_what_is_missing(tmp_path: Path):
    """Build 1 of the models: the choice, its reason, and the way out for the others; no secret shows."""
    plain = stepwell("doctor", cwd=tmp_path)
    assert plain.returncode == 0
    assert "Model: local:smollm2-135m (nothing else is configured)" in plain.stdout
    assert "ANTHROPIC_API_KEY is not set" in plain.stdout
    keyed = stepwell("doctor", cwd=tmp_path, ANTHROPIC_API_KEY="sk-very-secret").stdout
    assert "Model: anthropic:claude-sonnet-4-5-20250929 (ANTHROPIC_API_KEY is set)" in keyed
    assert "sk-very-secret" not in keyed
    wrong = stepwell("doctor", cwd=tmp_path, STEPWELL_MODEL="nowhere:big")
    assert wrong.returncode == 1
    assert "nowhere" in wrong.stdout


@pytest.mark.parametrize("variables", [{"STEPWELL_MODEL": "garbage"}, {"STEPWELL_LOCAL_MODEL": "garbage"}], ids=str)
def test_a_configured_model_that_cannot_be_had_is_said_instead_of_a_demonstration(tmp_path: Path, variables: dict[str, str]):
    result = stepwell("chat", cwd=tmp_path, **variables)
    assert (result.returncode, result.stdout) == (2, "")
    assert "'garbage'" in result.stderr
    assert stepwell("doctor", cwd=tmp_path, **variables).returncode == 1


@pytest.mark.parametrize("arguments", [["chat"], ["doctor"], ["models", "list"]], ids=" ".join)
def test_an_unreadable_env_file_is_one_sentence(tmp_path: Path, arguments: list[str]):
    (tmp_path / ".env").write_bytes(b"\xff\xfe")
    result = stepwell(*arguments, cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.startswith("The file '.env' cannot be read")
    assert "Traceback" not in result.stderr


def test_an_error_of_a_local_model_is_said_once(tmp_path: Path):
    (tmp_path / "bad.gguf").write_text("no model")
    result = stepwell("models", "load", str(tmp_path / "bad.gguf"), cwd=tmp_path)
    assert result.returncode == 2
    assert (result.stdout + result.stderr).count("is not a GGUF file") == 1


def test_a_data_folder_that_cannot_be_one_is_found_by_the_doctor(tmp_path: Path):
    (tmp_path / "file").touch()
    result = stepwell("doctor", cwd=tmp_path, STEPWELL_DATA_DIR=str(tmp_path / "file"))
    assert "cannot be written: choose another with STEPWELL_DATA_DIR" in result.stdout


def test_the_demonstration_refuses_options_it_would_ignore(tmp_path: Path):
    result = stepwell("chat", "--demo", "--once", "hi", cwd=tmp_path)
    assert result.returncode == 2
    assert "--demo plays its own script" in result.stderr
