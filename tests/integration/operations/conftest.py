"""`stepwell serve` and other commands as processes, with a folder of their own and nothing of the developer's environment.

They are forked from a process that has imported everything (`served/warm.py`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.served.warm import Started, run_warm, start_warm

HERE = Path(__file__).parent
READY_S = 60.0
_KEPT = ("PATH", "HOME", "SYSTEMROOT", "LANG", "TMPDIR")

Start = Callable[..., AbstractContextManager["Served"]]


@dataclass(frozen=True)
class Served:
    url: str
    process: subprocess.Popen[bytes] | Started
    http: httpx.Client
    log: Path

    def wait(self, assistant: str, thread_id: str | None = None, **body: Any) -> Any:
        path = f"/threads/{thread_id}/runs/wait" if thread_id else "/runs/wait"
        answer = self.http.post(path, json={"assistant_id": assistant, **body})
        answer.raise_for_status()
        return answer.json()

    def thread(self) -> str:
        return str(self.http.post("/threads", json={}).json()["thread_id"])


@dataclass(frozen=True)
class Place:
    """A data folder, and the commands on it."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / "data" / "stepwell.db"

    def environment(self, **variables: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        fixed = {"STEPWELL_DATA_DIR": str(self.folder / "data"), "NO_PROXY": "127.0.0.1", "LANGSMITH_TRACING": "false"}
        return {**kept, **fixed, **variables}

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return run_warm(arguments, self.folder, self.environment(**variables))

    @contextmanager
    def serving(self, *, error: Any = None, **variables: str) -> Iterator[Served]:
        log = self.folder / "log"
        command = ["serve", "--port", "0", "--graphs", str(HERE / "langgraph.json")]
        environment = self.environment(**variables)
        out = self.folder / "out"
        process: subprocess.Popen[bytes] | Started
        with out.open("wb") as screen:
            if error is None:
                process = start_warm(command, self.folder, environment, out=out, err=log)
            else:
                started = [sys.executable, "-m", "stepwell", *command]
                process = subprocess.Popen(started, cwd=self.folder, env=environment, stdout=screen, stderr=error)
        try:
            url = _address(process, out, log)
            with httpx.Client(base_url=url, timeout=60) as http:
                yield Served(url, process, http, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _address(process: subprocess.Popen[bytes] | Started, out: Path, log: Path) -> str:
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        for line in out.read_text().splitlines():
            if line.startswith("Serving at "):
                return line.removeprefix("Serving at ").strip()
        assert process.poll() is None, log.read_text()[-4000:]
        time.sleep(0.02)
    raise AssertionError(f"the server did not start: {log.read_text()[-4000:]}")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "data").mkdir()
    return Place(tmp_path)
