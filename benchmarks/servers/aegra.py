"""Aegra, another server of LangGraph's API on Postgres, for the benchmarks: one process, its own database on our kind of cluster.

It makes no thread with a run, so a run takes two requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.postgres import PostgresCluster

from benchmarks.bench import ROOT, ContestantError
from benchmarks.environments import aegra_python
from benchmarks.servers import process as servers
from benchmarks.servers.http import Connection
from benchmarks.servers.installation import DISK, cpu_of

TIMEOUT_S = 60.0


def measure(clients: int, seconds: float) -> dict[str, Any]:
    """Runs per second of the trivial graph, and CPU of the server per run."""
    (ROOT / "build").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "build", prefix="aegra-") as place, PostgresCluster(Path(place), **DISK) as cluster:
        folder, port = Path(place), servers.free_port()
        address = cluster.create("aegra").replace("postgresql:///", "postgresql://postgres@/").removesuffix("&user=postgres")
        servers.write_project(folder, servers.GRAPHS, ("two_nodes",))
        (folder / "langgraph.json").rename(folder / "aegra.json")
        command = [str(aegra_python().with_name("aegra")), "serve", "--host", "127.0.0.1", "--port", str(port)]
        environment = {
            **os.environ,
            "DATABASE_URL": address,
            "LOG_LEVEL": "WARNING",
            "AEGRA_CONFIG": str(folder / "aegra.json"),
        }
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            _wait_until_it_answers(process, port)
            return asyncio.run(_load(process.pid, port, clients, seconds))
        finally:
            servers.end(process)


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + TIMEOUT_S
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except urllib.error.URLError:
            time.sleep(0.1)
    raise ContestantError("Aegra did not start")


async def _load(pid: int, port: int, clients: int, seconds: float) -> dict[str, Any]:
    connections = [await Connection.open(port) for _ in range(clients)]
    order = {"assistant_id": "two_nodes", "input": {"word": "w"}, "stream_mode": ["values"]}

    async def once(connection: Connection) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            _, body = await connection.post("/threads", {})
            status, body = await connection.post(f"/threads/{json.loads(body)['thread_id']}/runs/wait", order)
        if status != 200 or json.loads(body).get("word") != "wab":
            raise ContestantError(f"a run was answered with {status} and {body[:100]!r}")

    await asyncio.gather(*(once(connection) for connection in connections))  # warm
    before, began = _cpu_s(pid), time.perf_counter()

    async def client(connection: Connection) -> int:
        done = 0
        while time.perf_counter() < began + seconds:
            await once(connection)
            done += 1
        return done

    runs = sum(await asyncio.gather(*(client(connection) for connection in connections)))
    elapsed = time.perf_counter() - began
    for connection in connections:
        connection.close()
    return {"runs_per_s": runs / elapsed, "cpu_ms": 1000 * (_cpu_s(pid) - before) / runs}


def _cpu_s(pid: int) -> float:
    """The command starts a server of its own."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_of(pid) + sum(cpu_of(int(child)) for child in children)
