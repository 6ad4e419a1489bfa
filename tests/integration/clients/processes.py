"""A server as a user starts it: a process, a port of its own choosing, a folder for its data."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

READY_S = 240.0
KEPT = ("PATH", "HOME", "SYSTEMROOT", "LANG", "TMPDIR")


@dataclass(frozen=True)
class Served:
    url: str
    lines: Lines


@contextmanager
def serving(graphs: Path, folder: Path, **variables: str) -> Iterator[Served]:
    """`stepwell serve --graphs`, until left."""
    command = [sys.executable, "-m", "stepwell", "serve", "--port", "0", "--graphs", str(graphs)]
    with started(command, folder, {"STEPWELL_DATA_DIR": str(folder / "data"), **variables}) as lines:
        line = lines.wait_for("Serving at ")
        yield Served(line.removeprefix("Serving at ").strip(), lines)


@contextmanager
def started(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> Iterator[Lines]:
    """A process with nothing of the developer's environment, and what it prints; told to stop when left."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    environment |= {"PYTHONUNBUFFERED": "1", "NO_PROXY": "127.0.0.1", "LANGSMITH_TRACING": "false", **variables}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        lines = Lines(process)
        try:
            yield lines
        finally:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
            lines.close()


class Lines:
    """What a process has printed so far. Read by a thread, so that a full pipe never stops the process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[str] = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def text(self) -> str:
        return "".join(self._lines)

    def wait_for(self, beginning: str) -> str:
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            for line in self._lines:
                if line.startswith(beginning):
                    return line
            assert self._process.poll() is None, f"the process ended:\n{self.text[-4000:]}"
            time.sleep(0.02)
        raise AssertionError(f"no line '{beginning}' within {READY_S:g} s:\n{self.text[-4000:]}")

    def close(self) -> None:
        self._reading.join(timeout=60)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line)
