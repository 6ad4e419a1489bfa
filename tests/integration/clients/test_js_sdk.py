"""The JavaScript SDK in Node: its `Client`, its stream helpers, and React's `useStream`, against a server process.

The packages are installed once from the lock beside the scripts into `.bench/clients-js`; node_modules never stands among the
sources. Each script is one test here; `node --test` names the part that failed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.integration.clients.provider_streams import SHAPES
from tests.integration.clients.providers import PROVIDERS
from tests.support.missing import MissingProgramError

SCRIPTS = Path(__file__).parent / "js"
PACKAGES = Path(__file__).parents[3] / ".bench" / "clients-js"
PROJECT = ("package.json", "package-lock.json", ".npmrc")
LONGEST_S = 200
NO_NODE = "There are no programs 'node' and 'npm'. Install the packages `nodejs` and `npm`."


@pytest.fixture(scope="session")
def packages() -> Path:
    """The folder with node_modules."""
    if not (shutil.which("node") and shutil.which("npm")):
        raise MissingProgramError(NO_NODE)
    done = PACKAGES / "installed.json"
    lock = (SCRIPTS / "package-lock.json").read_text()
    if not (done.exists() and done.read_text() == lock):
        PACKAGES.mkdir(parents=True, exist_ok=True)
        for name in PROJECT:
            shutil.copy(SCRIPTS / name, PACKAGES)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        installed = subprocess.run(command, cwd=PACKAGES, capture_output=True, text=True, timeout=200, check=False)
        if installed.returncode:
            message = f"npm ci failed: {installed.stderr.strip()[-300:]}"
            pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
        done.write_text(lock)
    return PACKAGES


@pytest.mark.parametrize("script", sorted(path.name for path in SCRIPTS.glob("*.test.mjs")))
def test_the_javascript_sdk(url: str, providers: str, packages: Path, tmp_path: Path, script: str) -> None:
    for path in SCRIPTS.glob("*.mjs"):
        shutil.copy(path, tmp_path)
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    environment = {"PATH": os.environ["PATH"], "SERVER_URL": url, "NO_PROXY": "127.0.0.1"}
    environment |= {"SHAPES": " ".join(SHAPES), "PROVIDERS": " ".join(PROVIDERS), "PROVIDERS_URL": providers}
    ended, told = run_node(["--test", "--test-reporter=spec", script], tmp_path, environment)
    assert ended == 0, told[-8000:]
    assert "fail 0" in told
    assert "pass 0" not in told


def run_node(arguments: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """How it ended and what it said, which is wanted most when it does not end by itself."""
    with subprocess.Popen(
        ["node", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as node:
        try:
            told, _ = node.communicate(timeout=LONGEST_S)
        except BaseException as error:
            os.killpg(node.pid, signal.SIGKILL)  # its children too: each script is one
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            told = f"{node.communicate()[0]}\nIt did not end within {LONGEST_S} s."
    return node.returncode, told
