"""The page's own tests: the reducer on recorded events, Markdown, diffs, forms. Run by vitest, with the Node of this environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(1800)

WEB = Path(__file__).parents[2] / "web"


def run_npm(*arguments: str) -> subprocess.CompletedProcess[str]:
    folder = Path(sys.executable).parent
    variables = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "CI": "1", "NO_COLOR": "1"}
    return subprocess.run([folder / "npm", *arguments], cwd=WEB, env=variables, capture_output=True, text=True, timeout=1500)


def test_the_pages_own_tests_pass():
    done = run_npm("test", "--silent")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_entry_bundle_stays_below_90_kilobytes():
    done = run_npm("run", "--silent", "size")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
