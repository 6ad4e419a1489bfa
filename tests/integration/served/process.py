"""`stepwell serve` on a folder of the test's own. `serve(...)` starts it, waits for `/ok`, and stops it.

```python
with serve(tmp_path, graphs=GRAPHS) as server:
    server.url, server.kill(), server.restart(), server.stop() -> exit code
```
Only the process that was started here is ever signalled. It is forked from one that has imported everything (`warm.py`); the
tests of clients start servers from nothing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.integration.served.warm import Started, start_warm

GRAPHS = Path(__file__).parent / "langgraph.json"
READY_S = 60.0
KEPT = ("PATH", "HOME", "SYSTEMROOT", "LANG", "TMPDIR")


def environment(**variables: str) -> dict[str, str]:
    """Nothing of the developer's: no keys, no tracing, no model."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8", "LANGSMITH_TRACING": "false", **variables}


class Server:
    """One data folder, one port, at most one process at a time."""

    def __init__(self, folder: Path, graphs: Path | None, arguments: tuple[str, ...], variables: dict[str, str]) -> None:
        self.folder = folder
        self.url = ""
        self._arguments = [*(["--graphs", str(graphs)] if graphs else []), *arguments]
        self.environment = environment(STEPWELL_DATA_DIR=str(folder / "data"), **variables)
        self._output = folder / "server.out"
        self._process: Started | None = None

    @property
    def output(self) -> str:
        """What all processes so far have said, on both streams."""
        return self._output.read_text(errors="replace")

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"  # the same again after a restart: clients come back to it
        begin = self._output.stat().st_size if self._output.exists() else 0
        command = ["serve", "--port", port, *self._arguments]
        self._output.touch()
        self._process = start_warm(command, self.folder, self.environment, out=self._output, err=self._output)
        self.url = self._address(begin)
        self._wait_ok()

    def kill(self) -> None:
        """As a crash does it."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self, *, timeout_s: float = 90) -> int:
        self.signal(signal.SIGTERM)
        return self.wait(timeout_s)

    def restart(self) -> None:
        if self._process is not None:
            self.stop()
        self.start()

    def signal(self, number: int) -> None:
        assert self._process is not None, "the server does not run"
        self._process.send_signal(number)

    def wait(self, timeout_s: float = 90) -> int:
        assert self._process is not None, "the server does not run"
        code = self._process.wait(timeout_s)
        self._process = None
        return code

    def close(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()

    def _address(self, begin: int) -> str:
        for _ in self._until_ready():
            lines = self._output.read_bytes()[begin:].decode(errors="replace").splitlines(keepends=True)
            found = [line for line in lines if line.startswith("Serving at ") and line.endswith("\n")]
            if found:
                return found[0].removeprefix("Serving at ").strip()
        raise AssertionError(f"no address within {READY_S:g} s:\n{self.output[-4000:]}")

    def _wait_ok(self) -> None:
        for _ in self._until_ready():
            try:
                with urllib.request.urlopen(f"{self.url}/ok", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:  # not there yet, or too busy to answer in time
                continue
        raise AssertionError(f"no /ok within {READY_S:g} s:\n{self.output[-4000:]}")

    def _until_ready(self) -> Iterator[None]:
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, f"the server ended:\n{self.output[-4000:]}"
            yield
            time.sleep(0.02)


@contextmanager
def serve(folder: Path, *arguments: str, graphs: Path | None = GRAPHS, **variables: str) -> Iterator[Server]:
    """A running server. `graphs=None` serves our own applications."""
    server = Server(folder, graphs, arguments, variables)
    try:
        server.start()
        yield server
    finally:
        server.close()
