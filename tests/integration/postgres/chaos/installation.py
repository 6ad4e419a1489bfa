"""Two API servers, some workers and a Postgres, all real processes, each of ours with a proxy of its own before the database.

```python
async with Installation(cluster, folder, workers=3, ORACLE_URL=oracle.url) as installation:
    worker = installation.workers[0]
    await worker.kill(); await worker.start()
    worker.proxy.cut()
```
A process that ends although nobody told it to is noted in `lost`, unless it could not begin because the database was away; either way it
is started again, as an operator's process manager does. With `wrong_clock`, the last worker has its clock an hour ahead.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
from tests.integration.durability.processes import free_port
from tests.integration.postgres.chaos.proxy import DatabaseProxy
from tests.integration.served.process import environment
from tests.integration.served.warm import Started, start_warm
from tests.support.missing import MissingProgramError
from tests.support.postgres import PostgresCluster
from tests.support.redis import RedisServer

GRAPHS = Path(__file__).parent / "langgraph.json"
DATABASE = "chaos"
SERVERS = 2
READY_S = 180.0
_BEGUN = ("Serving at ", "Working on ")
_OFFSET = "+1h"
_AT_ONCE = 5
"""Runs of one worker: few, so that all workers have some."""


def wrong_clock() -> dict[str, str]:
    """An environment in which a process sees the time of day an hour ahead, while its monotonic clock runs as it should."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise MissingProgramError(
            "There is no libfaketime, which gives a process a wrong clock. Install the package `faketime`."
        )
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME": _OFFSET,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(Path(__file__).parent / "wrong_clock"),
    }


class Node:
    """One process and the next ones in its place: same arguments, same port, same proxy."""

    def __init__(self, name: str, command: Sequence[str], folder: Path, proxy: DatabaseProxy, data: Mapping[str, str]) -> None:
        self.name = name
        self.proxy = proxy
        self.url = ""
        self.lost: list[str] = []
        self.wanted = False
        self.frozen = False
        self._command = list(command)
        self._folder = folder
        self._environment = environment(
            STEPWELL_DATA_DIR=str(folder / "data"), STEPWELL_DATABASE_URL=proxy.url(DATABASE), **data
        )
        self._said = folder / "said"
        self._said_before = 0
        self._process: Started | subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def output(self) -> str:
        return self._said.read_text(errors="replace") if self._said.exists() else ""

    async def start(self) -> None:
        self.wanted = True
        await asyncio.to_thread(self._start)

    async def kill(self) -> None:
        """As a crash does it. Whoever wants it again starts it."""
        self.wanted = False
        await asyncio.to_thread(self._end, signal.SIGKILL)

    async def stop(self) -> None:
        self.wanted = False
        await asyncio.to_thread(self._end, signal.SIGTERM)

    def freeze(self) -> None:
        self.frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.frozen = False
        self._signal(signal.SIGCONT)

    async def until_begun(self) -> None:
        async with asyncio.timeout(READY_S):
            while not self._has_begun():
                assert self.runs, f"{self.name} ended:\n{self.output[-3000:]}"
                await asyncio.sleep(0.05)

    async def look_after(self) -> None:
        """Start it again if it has ended by itself."""
        if not self.wanted or self._process is None or self.runs:
            return
        if self._has_begun():
            self.lost.append(f"{self.name} ended by itself ({self._process.poll()}):\n{self.output[-2000:]}")
        await self.start()

    def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._said.touch()
        self._said_before = self._said.stat().st_size
        if "LD_PRELOAD" in self._environment:
            self._process = self._start_cold()
        else:
            self._process = start_warm(self._command, self._folder, self._environment, out=self._said, err=self._said)

    def _start_cold(self) -> subprocess.Popen[bytes]:
        """What is preloaded has to be there from the first instruction on, so this one cannot be forked."""
        with self._said.open("ab") as said:
            return subprocess.Popen(
                [sys.executable, "-m", "stepwell", *self._command],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def _end(self, how: signal.Signals) -> None:
        self.frozen = False
        if self._process is None:
            return
        self._signal(how)
        self._signal(signal.SIGCONT)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.lost.append(f"{self.name} does not end on {how.name}:\n{self.output[-2000:]}")
            self._process.kill()
            self._process.wait(60)
        self._process = None

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(number)

    def _has_begun(self) -> bool:
        said = self._said.read_bytes()[self._said_before :].decode(errors="replace")
        return any(line.startswith(_BEGUN) for line in said.splitlines())


class Installation:
    """`cluster` runs already."""

    def __init__(
        self,
        cluster: PostgresCluster,
        folder: Path,
        *,
        workers: int,
        wrong_clock: bool = False,
        redis: RedisServer | None = None,
        **variables: str,
    ) -> None:
        self.cluster = cluster
        self.redis = redis
        self.redis_away = asyncio.Lock()
        """Held by whoever disturbs Redis."""
        self.servers: list[Node] = []
        self.workers: list[Node] = []
        self.away = asyncio.Lock()
        """Held by whoever has the database away."""
        self._folder = folder
        self._count = workers
        self._wrong_clock = wrong_clock
        self._variables = variables | ({"STEPWELL_REDIS_URL": redis.url} if redis else {})
        self._opened = AsyncExitStack()

    @property
    def nodes(self) -> list[Node]:
        return [*self.servers, *self.workers]

    @property
    def lost(self) -> list[str]:
        return [one for node in self.nodes for one in node.lost]

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.cluster.create, DATABASE)
        for number in range(SERVERS):
            port = free_port()
            command = ["serve", "--port", str(port), "--concurrency", "0"]
            node = await self._add(f"server-{number}", command)
            node.url = f"http://127.0.0.1:{port}"
            self.servers.append(node)
        for number in range(self._count):
            late = wrong_clock() if self._wrong_clock and number == self._count - 1 else {}
            self.workers.append(await self._add(f"worker-{number}", ["worker", "--concurrency", str(_AT_ONCE)], **late))
        await asyncio.gather(*(node.start() for node in self.nodes))  # each would make the tables; one does
        # One with a wrong clock starts from nothing, and is not waited for.
        await asyncio.gather(
            *(node.until_begun() for node in self.nodes if not (self._wrong_clock and node is self.workers[-1]))
        )
        self._keeping = asyncio.create_task(self._keep())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keeping.cancel()
        await asyncio.gather(self._keeping, return_exceptions=True)
        for node in self.nodes:
            await node.kill()
        await self._opened.aclose()

    async def stop(self) -> None:
        """All processes of ours, politely."""
        self._keeping.cancel()
        await asyncio.gather(*(node.stop() for node in self.nodes))

    def drivers(self) -> list[Node]:
        """Workers that drive something now."""
        try:
            with psycopg.connect(self.cluster.url(DATABASE), connect_timeout=1) as connection:
                holders = connection.execute("SELECT DISTINCT lease_holder FROM threads WHERE lease_run IS NOT NULL").fetchall()
        except psycopg.OperationalError:
            return []
        pids = {holder.partition("-")[0] for (holder,) in holders}
        return [worker for worker in self.workers if str(worker.pid) in pids]

    async def restart_database(self, how: signal.Signals, away_s: float) -> None:
        async with self.away:
            await asyncio.to_thread(self.cluster.stop, how=how)
            await asyncio.sleep(away_s)
            await asyncio.to_thread(self.cluster.start)

    async def disturb_redis(self, do: Callable[[RedisServer], object], away_s: float) -> None:
        assert self.redis is not None
        async with self.redis_away:
            await asyncio.to_thread(do, self.redis)
            if not self.redis.runs:
                await asyncio.sleep(away_s)
                await asyncio.to_thread(self.redis.start)

    async def _add(self, name: str, command: Sequence[str], **variables: str) -> Node:
        socket = self.cluster.socket
        proxy = await self._opened.enter_async_context(DatabaseProxy(socket))
        command = [*command, "--graphs", str(GRAPHS)]
        return Node(name, command, self._folder / name, proxy, {**self._variables, **variables})

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(0.2)
            for node in self.nodes:
                await node.look_after()
