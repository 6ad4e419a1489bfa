"""`stepwell serve`: the server, from its arguments to its end.

```
arguments -> settings -> socket (a port in use is said at once) -> graphs -> database, engine -> HTTP, until a signal comes
```

What is printed (`serve_screen`) goes to the standard output; the log goes to the standard error.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from stepwell.cli.database_place import PostgresPlace, database_place
from stepwell.cli.operator.server_condition import NEEDED
from stepwell.cli.serve_screen import Farewell, first_screen
from stepwell.errors import ConfigurationError, MissingExtraError
from stepwell.private_files import make_private_folder
from stepwell.settings import Settings, prefer_in_environment

if TYPE_CHECKING:
    from stepwell.cli.compose import Graphs
    from stepwell.server.monitoring.logs import LogSink
    from stepwell.server.monitoring.metrics import Metrics
    from stepwell.server.settings import ServerSettings


T = TypeVar("T")

_LAST_CHANCE_S = 0.5


def run(
    *,
    host: str | None,
    port: int | None,
    graphs: Path | None,
    database_url: str | None,
    insecure: bool,
    run_timeout_s: int | None = None,
    power_loss: bool = False,
    demo: bool = True,
    concurrency: int | None = None,
    drain_s: int | None = None,
) -> int:
    """The command; gives the exit code."""
    # Before LangGraph is imported: it reads this once. Checkpoints then hold data only, never anything that runs.
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    require_extra()
    from stepwell.server.garbage_collection import pause_until_loaded

    pause_until_loaded()
    settings = Settings.load()
    database = database_place(database_url, settings)
    from stepwell.server.settings import ServerSettings

    server_settings = ServerSettings.load(
        settings.server,
        host=host,
        port=port,
        insecure=insecure,
        run_timeout_s=run_timeout_s,
        power_loss=power_loss,
        drain_s=drain_s,
    )
    from stepwell.server.listening import bind

    if settings.upload_dir is not None:
        _require_folder("STEPWELL_UPLOAD_DIR", settings.upload_dir)
    with bind(server_settings.host, server_settings.port) as bound:
        from stepwell.cli.compose import graphs_to_serve
        from stepwell.server.monitoring.logs import open_logs

        with open_logs(server_settings.log_format, server_settings.log_level) as log:
            # Where people sign in they have come to work, and what visitors leave behind would be somebody's.
            served = graphs_to_serve(graphs, demo=demo and not server_settings.asks_who)
            stuck, superseded = False, Superseded()
            runner = asyncio.Runner(loop_factory=loop_factory())
            try:
                serving = _serve(settings, server_settings, served, database, bound, log, concurrency, superseded)
                stuck = run_to_its_end(runner, serving)
            except KeyboardInterrupt:  # before it served; later the listener takes care of it
                return 130
            finally:
                if not stuck:
                    runner.close()
    _say("Stopped.")
    if stuck:
        # All is stored and closed; only steps that nobody can stop are left, and Python would wait for them.
        os._exit(superseded.exit_code)
    return superseded.exit_code


async def _serve(
    settings: Settings,
    server_settings: ServerSettings,
    served: Graphs,
    database: Path | PostgresPlace,
    bound: socket.socket,
    log: LogSink,
    concurrency: int | None,
    superseded: Superseded,
) -> bool:
    """Serve until a signal comes. Gives whether something is still at work that does not stop."""
    from stepwell.cli.compose import open_server
    from stepwell.runs.graphs.node_threads import NodeThreads
    from stepwell.server.garbage_collection import collect_less_often
    from stepwell.server.listening import listen, local_url_of, network_urls_of

    def tell() -> None:
        address, others = local_url_of(bound, server_settings.host), network_urls_of(bound, server_settings.host)
        _say("\n".join(first_screen(address, others, settings, server_settings, served, database)))

    asyncio.get_running_loop().set_default_executor(NodeThreads())
    async with open_server(
        settings, server_settings, served, database, concurrency=concurrency, superseded=superseded
    ) as server:
        show_lost_lines(server.services.metrics, log)
        collect_less_often()
        farewell = Farewell(lambda: server.services.engine.driving, server_settings.drain_s, _say)
        await listen(server.app, server.services, bound, tell, farewell, notice_s=server_settings.notice_s)
    return await has_stuck_tasks()


def show_lost_lines(metrics: Metrics, log: LogSink) -> None:
    metrics.show("stepwell_log_lines_lost", "Lines that could not be written in time", lambda: log.dropped)


class Superseded:
    """Hears that a newer version has taken the database over, which the log says, and stops this process as a signal does."""

    def __init__(self) -> None:
        self.exit_code = 0

    def __call__(self, sentence: str) -> None:
        self.exit_code = 1
        signal.raise_signal(signal.SIGTERM)


def _say(text: str) -> None:
    print(text, flush=True)


async def has_stuck_tasks() -> bool:
    """Nodes that were left behind because they go on when they are cancelled. They get a last chance."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    return bool(left) and bool((await asyncio.wait(left, timeout=_LAST_CHANCE_S))[1])


def require_extra() -> None:
    if any(importlib.util.find_spec(package) is None for package in NEEDED):
        raise MissingExtraError("The server", "server")


def _require_folder(variable: str, folder: Path) -> None:
    """Now, and not at the first upload."""
    try:
        make_private_folder(folder)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigurationError(
            f"Nothing can be stored in '{folder.name}', which {variable} names: {error.strerror}. Let this user write there, or name "
            "another folder."
        ) from error


def run_to_its_end(runner: asyncio.Runner, main: Coroutine[Any, Any, T]) -> T:
    """`runner.run(main)`, and `SystemExit` or `KeyboardInterrupt` in another task is that task's error. An event loop stops when a task
    calls `exit()`, as a graph may by a tool that is a command line; the task has the error nevertheless, and its run ends with it.
    A person's Ctrl-C cancels `main`, before it has handlers of its own, and is passed on."""
    task: asyncio.Task[T] | None = None

    async def noted() -> T:
        nonlocal task
        task = asyncio.current_task()
        return await main

    try:
        return runner.run(noted())
    except (SystemExit, KeyboardInterrupt):
        if task is None or task.done() or task.cancelling():
            raise
        while not task.done():
            with suppress(SystemExit, KeyboardInterrupt):
                runner.get_loop().run_until_complete(task)
        return task.result()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if importlib.util.find_spec("uvloop") is None:
        return None
    import uvloop

    return uvloop.new_event_loop
