"""A process that dies at any step of a turn or of a rewind, and another that takes its thread up: files and conversation stay together."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from itertools import count
from pathlib import Path

import pytest
from tests.conftest import Effort

CHILD = Path(__file__).with_name("rewind_child.py")
FILES = {"a.md": "old", "b.md": "old", "c.md": "old", "d/x.md": "old", "d/y.md": "old"}
WORKED = {"a.md": "new", "b.md": "new", "e/x.md": "old", "e/y.md": "old", "f.md": "new"}


def drive(folder: Path, doing: str, fence: int, step: int = 0) -> list[str] | None:
    """The texts of the thread's messages; None if the process died."""
    command = [sys.executable, str(CHILD), str(folder), doing, str(fence), str(step)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode in (0, 9), ended.stderr
    return None if ended.returncode else json.loads(ended.stdout)


def read(folder: Path) -> dict[str, str]:
    files = folder / "files"
    return {str(path.relative_to(files)): path.read_text() for path in files.rglob("*") if path.is_file()}


def prepare(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_text(text)


def steps(effort: Effort, known: int) -> Iterable[int]:
    """Every step in the long form, up to the one that is not reached any more; two in the short one."""
    return count(1) if effort.long else [known // 3, 2 * known // 3]


def check_that_all_were_tried(effort: Effort, step: int) -> None:
    """A process was to die at this step and lived. Right only in the long form, after the last step."""
    assert effort.long, step
    assert step > 20


@pytest.mark.prove
def test_a_turn_that_was_killed_can_be_taken_back(tmp_path: Path, effort: Effort) -> None:
    for step in steps(effort, 22):
        folder = tmp_path / str(step)
        prepare(folder)
        if drive(folder, "turn", 1, step) is not None:
            check_that_all_were_tried(effort, step)
            break
        drive(folder, "on", 2)
        assert drive(folder, "back", 3) == []
        assert read(folder) == FILES, step
        shutil.rmtree(folder)


@pytest.mark.prove
def test_a_rewind_that_was_killed_is_finished_before_anything_else(tmp_path: Path, effort: Effort) -> None:
    worked = tmp_path / "worked"
    prepare(worked)
    assert drive(worked, "turn", 1) is not None
    assert read(worked) == WORKED
    for step in steps(effort, 28):
        folder = tmp_path / str(step)
        shutil.copytree(worked, folder)
        if drive(folder, "back", 2, step) is not None:
            check_that_all_were_tried(effort, step)
            break
        assert drive(folder, "on", 3) == []
        assert read(folder) == FILES, step
        shutil.rmtree(folder)
