"""`stepwell chat tutor`: whole seminars on the screen."""

from __future__ import annotations

import importlib.util
import io
import json
from pathlib import Path

import pytest

from stepwell.cli import main

ROOT = Path(__file__).parents[3]


def load_page():
    spec = importlib.util.spec_from_file_location("seminar_page", ROOT / "scripts" / "seminar_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_recorded_seminars_play_again_as_they_stand_in_the_docs():
    """T8: a whole seminar with a model's voice and one without a model, from frame to close."""
    module = load_page()
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "if the change is meant: python scripts/seminar_page.py"


def test_the_command_leads_a_seminar_in_a_folder_without_a_model(tmp_path, monkeypatch, capsys):
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STEPWELL_MODEL", "OLLAMA_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("Should cities ban cars?\ny\nCities should ban cars.\n/hint\n70\n"))
    assert main(["chat", "tutor", "--project", "project"]) == 1  # the input ends where the tutor waits for an answer
    shown = capsys.readouterr().out
    assert "Created the folder 'project'" in shown
    assert "my questions come from the method itself" in shown
    assert "Hint 1 of 4" in shown
    assert json.loads((tmp_path / "project" / "tutor" / "argument.json").read_text())["nodes"]["t1"]["confidence"] == 70


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chat", "--project", "."], "--project is for an agent that works on your files"),
        (["chat", "tutor", "--project", "nowhere/notes"], "there is no folder 'nowhere'"),
        (["chat", "cook"], "there is no 'cook'. Choose from: tutor."),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(arguments)
    assert said in capsys.readouterr().err


def test_the_demonstration_plays_in_a_folder_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["chat", "tutor", "--demo"]) == 0
    assert "Your conclusion stands" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
