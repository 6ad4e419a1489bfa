"""`stepwell models use`, `test` and `list` as processes, against a model server on loopback; the key is never shown nor stored in clear."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.cli.test_cli import stepwell, warm
from tests.integration.models import answers
from tests.support.loopback import Asked, LoopbackServer, Reply, serving
from tests.support.stored_rows import files_holding

KEY = "a-very-secret-key-0123456789-wXyZ"


def behave(asked: Asked) -> Reply:
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return Reply(401, {"error": {"message": "wrong key"}})
    return answers.at(models=answers.listed("house-model"), chat=answers.openai)(asked)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serving(behave) as server:
        yield server


def test_a_model_is_connected_used_tested_and_removed(tmp_path: Path, server: LoopbackServer):
    here = {"cwd": tmp_path, "STEPWELL_DATA_DIR": str(tmp_path / "data"), "LLAMACPP_BASE_URL": "http://127.0.0.1:1"}
    address = f"{server.address}/v1"

    used = stepwell("models", "use", "openai-compatible:house-model", "--address", address, typed=KEY + "\n", **here)
    assert used.returncode == 0, used.stderr
    assert "house-model works: it answers after" in used.stdout
    assert "is now the default" in used.stdout
    assert "stepwell models use openai-compatible --remove" in used.stdout

    listed = warm("models", "list", **here)
    assert "Used by default: openai-compatible:house-model" in listed.stdout
    assert "OpenAI-compatible server: key …wXyZ, stored in stepwell.db" in listed.stdout

    tested = warm("models", "test", **here)
    assert (tested.returncode, "house-model works" in tested.stdout) == (0, True), tested.stderr

    asked = len(server.asked)
    talked = warm("chat", "--once", "Are you ready?", **here)
    assert talked.returncode == 0, talked.stderr
    assert "ready" in talked.stdout
    assert len(server.asked) > asked

    removed = warm("models", "use", "openai-compatible", "--remove", **here)
    assert "no longer connected" in removed.stdout
    assert "house-model" not in warm("models", "list", **here).stdout

    shown = "".join(each.stdout + each.stderr for each in (used, listed, tested, talked, removed))
    assert KEY not in shown
    assert any(path.is_file() for path in (tmp_path / "data").rglob("*"))
    assert files_holding(tmp_path / "data", KEY.encode()) == []


def test_a_key_that_is_refused_is_not_stored(tmp_path: Path, server: LoopbackServer):
    here = {"cwd": tmp_path, "STEPWELL_DATA_DIR": str(tmp_path / "data")}
    arguments = ("models", "use", "openai-compatible:house-model", "--address", f"{server.address}/v1")
    used = warm(*arguments, typed="another-key-0123456789\n", **here)
    assert used.returncode == 2
    assert "refuses the key" in used.stderr
    assert "Nothing was stored." in used.stderr
    assert "another-key" not in used.stdout + used.stderr
    assert not (tmp_path / "data" / "stepwell.db").exists()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (f"https://user:{KEY}@models.example/v1", "user name or password"),
        ("http://93.184.216.34/v1", "needs https://"),
        (f"https://models.example/v1?api_key={KEY}", "contains '?' or '#'"),
    ],
)
def test_an_address_that_would_show_the_key_is_refused(tmp_path: Path, address: str, sentence: str):
    here = {"cwd": tmp_path, "STEPWELL_DATA_DIR": str(tmp_path / "data")}
    used = warm("models", "use", "openai-compatible:house-model", "--address", address, typed=KEY, **here)
    assert used.returncode == 2
    assert sentence in used.stderr
    assert "Traceback" not in used.stderr
    assert KEY not in used.stdout + used.stderr


def test_the_environment_comes_before_the_stored_model(tmp_path: Path, server: LoopbackServer):
    here = {"cwd": tmp_path, "STEPWELL_DATA_DIR": str(tmp_path / "data"), "STEPWELL_MODEL": "local:smollm2-135m"}
    arguments = ("models", "use", "openai-compatible:house-model", "--address", f"{server.address}/v1")
    used = warm(*arguments, typed=KEY, **here)
    assert "The environment comes first, though: it selects local:smollm2-135m" in used.stdout
    assert "Used by default: local:smollm2-135m" in warm("models", "list", **here).stdout


def test_a_provider_that_cannot_be_stored_names_the_others(tmp_path: Path):
    used = warm("models", "use", "groq", cwd=tmp_path, STEPWELL_DATA_DIR=str(tmp_path / "data"))
    assert used.returncode == 2
    assert "anthropic" in used.stderr
    assert "Traceback" not in used.stderr


def test_a_downloaded_model_can_be_used_at_once(tmp_path: Path, model_folder: Path):
    models = tmp_path / "data" / "models"
    models.mkdir(parents=True)
    for file in model_folder.glob("*.gguf"):
        os.link(file, models / file.name)
    here = {"cwd": tmp_path, "STEPWELL_DATA_DIR": str(models.parent)}
    used = warm("models", "use", "local:smollm2-135m", **here)
    assert used.returncode == 0, used.stderr
    assert "calls no tools" in used.stdout
    listed = warm("models", "list", **here).stdout
    assert "Used by default: local:smollm2-135m (chosen through the connection" in listed
    assert "no longer connected" in warm("models", "use", "local", "--remove", **here).stdout
