"""`make eval` as it is typed, on a machine where nothing is configured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_without_a_model_it_says_so_and_does_nothing(tmp_path: Path):
    # An empty folder has no .env, and of the environment only what Python itself needs is left.
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT", "HOME")}
    page = ROOT / "docs" / "evaluation.md"
    before = page.read_bytes() if page.exists() else None
    command = [sys.executable, str(ROOT / "evals" / "run.py")]
    done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Nothing is evaluated: the model found is local:smollm2-135m")
    assert (page.read_bytes() if page.exists() else None) == before
    assert list(tmp_path.iterdir()) == []
