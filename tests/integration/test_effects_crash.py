"""A process that dies around a `once` tool, and another that takes its thread up: the effect happens once (faults, kill -9 mid-tool)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = Path(__file__).with_name("effects_child.py")


def drive(folder: Path, time: str, death: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHILD), str(folder), time, death], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("death", "status", "says"), [("begun", "error", "outcome of this call is unknown"), ("done", "success", "paid 7")]
)
def test_a_killed_process_does_not_pay_twice(tmp_path: Path, death: str, status: str, says: str):
    assert drive(tmp_path, "first", death).returncode == 9
    again = drive(tmp_path, "again", "never")
    assert again.returncode == 0, again.stderr
    [[text, got]] = json.loads(again.stdout)
    assert (got, says in text) == (status, True), text
    assert (tmp_path / "paid").read_text() == "7\n"
