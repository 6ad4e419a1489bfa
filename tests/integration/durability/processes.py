"""A server process that can be killed, stopped and started again on the same data and the same port."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests.integration.served.warm import ROOT, imported

HERE = Path(__file__).parent
GRAPHS = HERE / "langgraph.json"
READY_S = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ForkServer:
    """The process that servers are forked from (`fork_server.py`), shared by all tests of a session. `close` when done."""

    def __init__(self, log: Path) -> None:
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.durability.fork_server", *imported()],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
            )
        self._log = log
        self._heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()
        self.until("warm")

    def tell(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()

    def until(self, beginning: str) -> str:
        """The next line that begins so; the server's refusal to start is an error."""
        lines: list[str] = []
        while True:
            try:
                lines.append(self._heard.get(timeout=READY_S))
            except queue.Empty:
                told = self._log.read_text(errors="replace")[-2000:]
                raise AssertionError(f"no '{beginning}' within {READY_S:g} s; heard {lines}\n{told}") from None
            assert not lines[-1].startswith("refused"), lines[-1]
            if lines[-1].startswith(beginning):
                return lines[-1]

    def close(self) -> None:
        with self._process as process:  # closes both pipes and waits
            assert process.stdin is not None
            process.stdin.close()
            self._hearing.join(timeout=60)

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._heard.put(line.decode())


class Server:
    """One data folder, one port, at most one process at a time. `close` when done."""

    def __init__(self, forks: ForkServer, folder: Path, *, graphs: Path = GRAPHS, **environment: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.pid: int | None = None
        self._forks = forks
        self._graphs = graphs
        self._log = folder.parent / f"{folder.name}.log"
        self.environment = {"STEPWELL_DATA_DIR": str(folder), **environment}

    @property
    def database(self) -> Path:
        return self.folder / "stepwell.db"

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def start(self, *, ready: bool = True) -> None:
        """Comes back when requests are answered; with `ready=False` at once."""
        assert self.pid is None, "the server runs already"
        self._forks.tell(
            start={"graphs": str(self._graphs), "port": self.port, "environment": self.environment, "log": str(self._log)}
        )
        self.pid = int(self._forks.until("pid").split()[1])
        if ready:
            self._forks.until("Serving at")

    def kill(self) -> None:
        """As a crash does it: no warning, no goodbye."""
        self.send(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        self.send(signal.SIGTERM)
        return self.wait()

    def send(self, what: signal.Signals) -> None:
        assert self.pid is not None, "no server runs"
        os.kill(self.pid, what)

    def wait(self) -> int:
        """Wait for its end; gives the exit code, negative for a signal."""
        self._forks.tell(reap=self.pid)
        status = int(self._forks.until("gone").split()[2])
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        if self.pid is not None:
            self.kill()
