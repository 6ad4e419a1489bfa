"""`stepwell worker`: executes the runs of a shared database until a signal arrives. It serves no HTTP clients.

```
signal -> stop claiming runs, let active ones finish for a while -> hand the rest back at once, so nobody waits for a lease to expire
second signal -> exit immediately
```
Besides the database it needs the same graphs and the same settings as the servers.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.addresses import DEFAULT_HOST
from stepwell.cli.serve import Superseded, has_stuck_tasks, loop_factory, require_extra, run_to_its_end, show_lost_lines
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings, prefer_in_environment
from stepwell.terminal.database_place import PostgresPlace, database_place

if TYPE_CHECKING:
    from stepwell.cli.compose import Graphs
    from stepwell.server.monitoring.logs import LogSink
    from stepwell.server.settings import ServerSettings


def run(
    *,
    graphs: Path | None,
    database_url: str | None,
    concurrency: int,
    run_timeout_s: int | None = None,
    drain_s: int | None = None,
    metrics_host: str = DEFAULT_HOST,
    metrics_port: int | None = None,
) -> int:
    """Run the command and return its exit code."""
    # Set before LangGraph is imported, which reads it once. Checkpoints then hold only data, never executable objects.
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    require_extra()
    settings = Settings.load()
    database = database_place(database_url, settings)
    if not isinstance(database, PostgresPlace):
        raise ConfigurationError(
            "A worker needs a database that several processes can use. Set one with --database-url postgresql://user@host/name or "
            "DATABASE_URL. With SQLite, `stepwell serve` executes the runs itself."
        )
    from stepwell.server.deferred_packages import defer_packages, import_with_late_models

    defer_packages()
    import_with_late_models()
    from stepwell.cli.compose import graphs_to_serve
    from stepwell.server.listening import bind
    from stepwell.server.monitoring.logs import open_logs
    from stepwell.server.settings import ServerSettings

    # A worker has no clients, so it needs no sign-in.
    server_settings = ServerSettings.load(settings.server, insecure=True, run_timeout_s=run_timeout_s, drain_s=drain_s)
    bound = None if metrics_port is None else bind(metrics_host, metrics_port)
    with bound or nullcontext(), open_logs(server_settings.log_format, server_settings.log_level) as log:
        runner = asyncio.Runner(loop_factory=loop_factory())
        stuck, superseded = False, Superseded()
        try:
            working = _work(
                settings, server_settings, graphs_to_serve(graphs, demo=True), database, concurrency, bound, log, superseded
            )
            stuck = run_to_its_end(runner, working)
        finally:
            if not stuck:
                runner.close()
    print("Stopped.", flush=True)
    if stuck:
        # Everything is stored and handed back. Only steps that ignore cancellation are left, and Python would wait for them.
        os._exit(superseded.exit_code)
    return superseded.exit_code


async def _work(
    settings: Settings,
    server_settings: ServerSettings,
    graphs: Graphs,
    database: PostgresPlace,
    concurrency: int,
    bound: socket.socket | None,
    log: LogSink,
    superseded: Superseded,
) -> bool:
    """Work until a signal arrives. Returns whether some tasks could not be stopped."""
    from stepwell.cli.compose import open_server
    from stepwell.runs.graphs.node_threads import NodeThreads
    from stepwell.server.listening import local_url_of
    from stepwell.server.worker_door import open_worker_door

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.set_default_executor(NodeThreads())

    def listen() -> None:
        # From now on there may be runs to hand back. Before that, while we wait for the database, a signal ends the process at once.
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _stop, stop, number)

    opening = open_server(
        settings, server_settings, graphs, database, concurrency=concurrency, superseded=superseded, before_driving=listen
    )
    async with opening as server:
        show_lost_lines(server.services.metrics, log)
        print(f"Working on {database}, {concurrency} runs at once.", flush=True)
        async with open_worker_door(server.services, bound) if bound else nullcontext():
            if bound:
                print(f"Metrics at {local_url_of(bound, bound.getsockname()[0])}/metrics", flush=True)
            await stop.wait()
            if handed_back := await server.services.engine.drain():
                print(f"{handed_back} runs handed back; another worker resumes them.", flush=True)
    return await has_stuck_tasks()


def _stop(stop: asyncio.Event, number: int) -> None:
    """The first signal drains, the second one exits."""
    if stop.is_set():
        os.write(2, b"Stopped immediately. Other workers resume the active runs when their leases expire.\n")
        os._exit(128 + number)
    stop.set()
