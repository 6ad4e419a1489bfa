"""A payer who uses another wallet than ours: cashu-ts in Node. Its packages are installed once, into `.bench/payer-js`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.missing import MissingProgramError

SCRIPTS = Path(__file__).parent / "js"
PACKAGES = Path(__file__).parents[3] / ".bench" / "payer-js"


def install() -> Path:
    """The folder with the script and its packages."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise MissingProgramError("There are no programs 'node' and 'npm'. Install the packages `nodejs` and `npm`.")
    done, lock = PACKAGES / "installed.json", (SCRIPTS / "package-lock.json").read_text()
    PACKAGES.mkdir(parents=True, exist_ok=True)
    for path in SCRIPTS.iterdir():
        shutil.copy(path, PACKAGES)
    if not (done.exists() and done.read_text() == lock):
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        installed = subprocess.run(command, cwd=PACKAGES, capture_output=True, text=True, timeout=100, check=False)
        if installed.returncode:
            message = f"npm ci failed: {installed.stderr.strip()[-300:]}"
            pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
        done.write_text(lock)
    return PACKAGES


def ask(mint_url: str, action: str, given: str) -> str:
    """What the wallet prints."""
    done = subprocess.run(
        ["node", "wallet.mjs", mint_url, action, given], cwd=install(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


def read_requests(texts: Sequence[str]) -> list[dict[str, Any]]:
    """What it reads in payment requests."""
    done = subprocess.run(
        ["node", "requests.mjs"], cwd=install(), input="\n".join(texts), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]
