"""An installation of several processes for the benchmarks: one Postgres, servers that only take runs in, workers.

```python
with installation(python, workers=2, concurrency=50) as it:
    it.server.port, it.cpu_s() -> {"api": ..., "worker": ..., "postgres": ...}
```
Postgres writes to the disk as it does in production, and counts statements.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
from tests.support.postgres import PostgresCluster

from benchmarks.bench import ROOT, ContestantError
from benchmarks.servers import process as servers
from benchmarks.servers.process import Server

DISK = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "autovacuum": "on"}
COUNTING = {"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_planning": "on"}
GRAPH_NAMES = ("two_nodes", "waits", "works")
_WORKING = "Working on"


@dataclass(frozen=True)
class Installation:
    server: Server
    workers: list[subprocess.Popen[bytes]]
    url: str
    folder: Path

    def cpu_s(self) -> dict[str, float]:
        """What each kind of process has used so far."""
        with psycopg.connect(self.url) as connection:
            postmaster = int(connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()[0].split()[0])
        return {
            "api": cpu_of(self.server.pid),
            "worker": sum(cpu_of(worker.pid) for worker in self.workers),
            "postgres": cpu_of(postmaster, ended=True) + sum(cpu_of(pid) for pid in children_of(postmaster)),
        }

    def written(self) -> dict[str, int]:
        """Bytes so far: what the database takes on the disk, what its log was given to keep it safe; and transactions."""
        with psycopg.connect(self.url) as connection:
            row = connection.execute(
                "SELECT pg_database_size(current_database()), CAST(pg_current_wal_lsn() - '0/0' AS BIGINT), xact_commit"
                " FROM pg_stat_database WHERE datname = current_database()"
            ).fetchone()
        return dict(zip(("kept_bytes", "log_bytes", "commits"), row, strict=True))

    def statements(self) -> list[tuple[str, int]]:
        """What Postgres has been asked since the last time, and how often; most often first."""
        with psycopg.connect(self.url) as connection:
            found = connection.execute(
                "SELECT query, calls FROM pg_stat_statements WHERE toplevel AND query NOT LIKE '%pg_stat_%' ORDER BY calls DESC"
            ).fetchall()
            connection.execute("SELECT pg_stat_statements_reset()")
        return [(" ".join(query.split()), calls) for query, calls in found]


@contextmanager
def installation(python: Path, *, workers: int, concurrency: int = 50) -> Iterator[Installation]:
    """A new database, a server and so many workers, until left."""
    (ROOT / "build").mkdir(exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(dir=ROOT / "build", prefix="installation-")))
        cluster = stack.enter_context(PostgresCluster(folder, **DISK, **COUNTING))
        url = cluster.create("stepwell")
        with psycopg.connect(url) as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
        options = ("--database-url", url, "--concurrency", "0")
        server = stack.enter_context(servers.start("ours", python, graph_names=GRAPH_NAMES, options=options))
        started = [
            stack.enter_context(working(python, folder / f"worker-{number}", url, concurrency)) for number in range(workers)
        ]
        yield Installation(server, started, url, folder)


@contextmanager
def one_more(it: Installation, python: Path, concurrency: int) -> Iterator[Installation]:
    """The same with another worker, until left."""
    with working(python, it.folder / "worker-more", it.url, concurrency) as process:
        yield replace(it, workers=[*it.workers, process])


@contextmanager
def working(python: Path, folder: Path, url: str, concurrency: int) -> Iterator[subprocess.Popen[bytes]]:
    """One more worker on that database."""
    folder.mkdir()
    servers.write_project(folder, servers.GRAPHS, GRAPH_NAMES)
    command = [str(python), "-m", "stepwell", "worker", "--graphs", "langgraph.json", "--database-url", url]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--concurrency", str(concurrency)],
            cwd=folder,
            env=servers.environment("ours", folder),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_until_it_works(process, folder / "log")
        yield process
    finally:
        servers.end(process)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_it_works(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + servers.START_TIMEOUT_S
    while _WORKING not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise ContestantError(f"the worker did not start: {last[0][:200]}")
        time.sleep(0.02)


def cpu_of(pid: int, *, ended: bool = False) -> float:
    """CPU time of a process, in seconds; with `ended`, of its children that have ended too. One that is gone has used none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(fields[place]) for place in (11, 12, *((13, 14) if ended else ()))) / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
