"""Starts the servers that take part, each in a folder and a process of its own, and says what they cost.

```
floor   benchmarks.servers.floor (Starlette and uvicorn)
peer    langgraph dev, in memory, 50 jobs per worker, no reloading
ours    stepwell serve, one SQLite file on disk, durability sync (the default)
```
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import environments
from benchmarks.bench import ROOT, Bench, ContestantError, worker_environment

START_TIMEOUT_S = 90
STOP_TIMEOUT_S = 20
PEER_JOBS = 50
GRAPHS = Path(__file__).with_name("graphs.py")
GRAPH_NAMES = ("two_nodes", "ticker", "growing")


@dataclass(frozen=True)
class Server:
    """One that answers at `port`."""

    name: str
    port: int
    pid: int
    start_s: float
    """From the start of the process to its first good answer at /ok."""
    database: Path
    """Where ours keeps everything; the others have none there."""

    def cpu_s(self) -> float | None:
        """What the process has used so far; None where the system does not say."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self) -> float | None:
        """The most memory it has held so far."""
        return self._memory_mb("VmHWM")

    def resident_mb(self) -> float | None:
        """The memory it holds now."""
        return self._memory_mb("VmRSS")

    def _memory_mb(self, field: str) -> float | None:
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return None
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(field)), None)


def pythons(bench: Bench, who: tuple[str, ...]) -> dict[str, Path]:
    """The interpreters of those that can take part; why others cannot is noted as a problem."""
    found = {name: python for name in who if name != "peer" and (python := bench.pythons[name])}
    if "peer" in who and bench.with_peer:
        try:
            found = {"peer": environments.peer_server_python(), **found}
        except (environments.EnvironmentFailure, subprocess.TimeoutExpired) as failure:
            bench.problems["peer server: environment"] = str(failure)
    return found


@contextmanager
def serving(bench: Bench, *, claim: str, who: tuple[str, ...]) -> Iterator[dict[str, Server]]:
    """All of them at once, by name. One that does not start is left out and noted."""
    _allow_many_files()
    with ExitStack() as stack:
        servers = {}
        for name, python in pythons(bench, who).items():
            try:
                servers[name] = stack.enter_context(start(name, python))
            except ContestantError as failure:
                bench.problems[f"{name}: {claim}"] = str(failure)
        yield servers


@contextmanager
def start(
    name: str,
    python: Path,
    *,
    graphs: Path = GRAPHS,
    graph_names: tuple[str, ...] = GRAPH_NAMES,
    options: tuple[str, ...] = (),
) -> Iterator[Server]:
    """One server, until left. Its data is on the project's disk and goes with it. `options` are more words of ours' command."""
    (ROOT / "build").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "build", prefix=f"server-{name}-") as place:
        folder = Path(place)
        port = free_port()
        write_project(folder, graphs, graph_names)
        with (folder / "log").open("wb") as log:
            began = time.perf_counter()
            process = subprocess.Popen(
                [*_command(name, python, port), *options],
                cwd=ROOT if name == "floor" else folder,
                env=environment(name, folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            _wait_until_ok(process, port, folder / "log")
            yield Server(name, port, process.pid, time.perf_counter() - began, folder / "data" / "stepwell.db")
        finally:
            end(process)


def write_project(folder: Path, graphs: Path, names: tuple[str, ...]) -> None:
    shutil.copy(graphs, folder / "graphs.py")
    listed = {name: f"./graphs.py:{name}" for name in names}
    (folder / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": listed}))


def _command(name: str, python: Path, port: int) -> list[str]:
    if name == "floor":
        return [str(python), "-m", "benchmarks.servers.floor", str(port)]
    if name == "peer":
        options = ["--no-browser", "--no-reload", "--n-jobs-per-worker", str(PEER_JOBS)]
        return [str(python.with_name("langgraph")), "dev", *options, "--port", str(port)]
    return [str(python), "-m", "stepwell", "serve", "--port", str(port), "--graphs", "langgraph.json"]


def environment(name: str, folder: Path) -> dict[str, str]:
    # The peer counts its users unless told not to; nothing may leave the machine.
    quiet = {"LANGGRAPH_CLI_NO_ANALYTICS": "1", "LANGCHAIN_TRACING_V2": "false"}
    return {**worker_environment(name), **quiet, "STEPWELL_DATA_DIR": str(folder / "data")}


def _wait_until_ok(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if _is_ok(port):
            return
        time.sleep(0.01)
    last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
    raise ContestantError(f"the server did not start: {last[0][:200]}")


def _is_ok(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(b"GET /ok HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _allow_many_files() -> None:
    """A thousand connections need more than the usual number of open files, here and in the servers."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    if sys.platform != "win32" and soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
