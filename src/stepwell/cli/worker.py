"""`stepwell worker`: drives the runs of a database that servers share, until a signal comes. It serves nobody.

What it needs beside the database is what the servers have: the same graphs and the same settings.
"""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.cli.database_place import PostgresPlace, database_place
from stepwell.cli.serve import Superseded, has_stuck_tasks, loop_factory, require_extra
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings, prefer_in_environment

if TYPE_CHECKING:
    from stepwell.cli.compose import Graphs
    from stepwell.server.settings import ServerSettings


def run(*, graphs: Path | None, database_url: str | None, concurrency: int, run_timeout_s: int | None = None) -> int:
    """The command; gives the exit code."""
    # Before LangGraph is imported: it reads this once. Checkpoints then hold data only, never anything that runs.
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    require_extra()
    settings = Settings.load()
    database = database_place(database_url, settings)
    if not isinstance(database, PostgresPlace):
        raise ConfigurationError(
            "A worker needs a database that several processes can use. Name one with --database-url postgresql://user@host/name, or with "
            "DATABASE_URL. On a SQLite file, `stepwell serve` drives the runs itself."
        )
    from stepwell.cli.compose import graphs_to_serve
    from stepwell.server.monitoring.logs import open_logs
    from stepwell.server.settings import ServerSettings

    # Nobody reaches it, so nobody is asked who they are.
    server_settings = ServerSettings.load(settings.server, insecure=True, run_timeout_s=run_timeout_s)
    superseded = Superseded()
    with (
        open_logs(server_settings.log_format, server_settings.log_level),
        asyncio.Runner(loop_factory=loop_factory()) as runner,
    ):
        runner.run(_work(settings, server_settings, graphs_to_serve(graphs), database, concurrency, superseded))
    print("Stopped.", flush=True)
    return superseded.exit_code


async def _work(
    settings: Settings,
    server_settings: ServerSettings,
    graphs: Graphs,
    database: PostgresPlace,
    concurrency: int,
    superseded: Superseded,
) -> None:
    from stepwell.cli.compose import open_server
    from stepwell.runs.graphs.node_threads import NodeThreads

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.set_default_executor(NodeThreads())
    async with open_server(settings, server_settings, graphs, database, concurrency=concurrency, superseded=superseded):
        # From now on there is something to hand back; while the database is waited for, a signal ends the process at once.
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        print(f"Working on {database}, {concurrency} runs at once.", flush=True)
        await stop.wait()
    await has_stuck_tasks()
