"""The command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


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


def test_once_without_a_model_fails_plainly(tmp_path: Path):
    result = stepwell("chat", "--once", "hi", cwd=tmp_path)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
