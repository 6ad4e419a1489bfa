"""`stepwell serve`: the server, from its arguments to its shutdown.

```
arguments -> settings -> socket (fails at once if the port is in use) -> graphs -> database, engine -> HTTP, until a signal arrives
```

Messages for the user (`serve_screen`) go to standard output; the log goes to standard error.
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

from stepwell.cli.operator.doctor.extras import missing_packages
from stepwell.cli.serve_screen import Farewell, first_screen
from stepwell.errors import ConfigurationError, MissingExtraError
from stepwell.private_files import make_private_folder
from stepwell.settings import Settings, prefer_in_environment
from stepwell.terminal.database_place import PostgresPlace, database_place

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
    bound: socket.socket | None = None,
) -> int:
    """Run the command and return its exit code. `bound` is a socket that is bound already (`run_reloading`)."""
    # Set before LangGraph is imported, which reads it once. Checkpoints then hold only data, never executable objects.
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    require_extra()
    from stepwell.server.deferred_packages import defer_packages, import_with_late_models
    from stepwell.server.garbage_collection import pause_until_loaded

    pause_until_loaded()
    defer_packages()
    import_with_late_models()
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
    with bound or bind(server_settings.host, server_settings.port) as bound:
        from stepwell.cli.compose import graphs_to_serve
        from stepwell.server.monitoring.logs import open_logs

        with open_logs(server_settings.log_format, server_settings.log_level) as log:
            # No demos on servers with sign-in: people come there to work, and demo threads would pile up in their accounts.
            served = graphs_to_serve(graphs, demo=demo and not server_settings.asks_who)
            stuck, superseded = False, Superseded()
            runner = asyncio.Runner(loop_factory=loop_factory())
            try:
                serving = _serve(settings, server_settings, served, database, bound, log, concurrency, superseded)
                stuck = run_to_its_end(runner, serving)
            except KeyboardInterrupt:  # Ctrl-C during the start-up; later the listener handles signals
                return 130
            finally:
                if not stuck:
                    runner.close()
    _say("Stopped.")
    if stuck:
        # Everything is stored and closed. Only steps that ignore cancellation are left, and Python would wait for them.
        os._exit(superseded.exit_code)
    return superseded.exit_code


def run_reloading(**options: Any) -> int:
    """The same, started again whenever the project's code changes. Runs are handed back at once then, unless `drain_s` says otherwise."""
    require_extra()
    from stepwell.cli import reload
    from stepwell.server.listening import bind
    from stepwell.server.settings import ServerSettings

    settings = ServerSettings.load(
        Settings.load().server, host=options["host"], port=options["port"], insecure=options["insecure"]
    )
    if options.get("drain_s") is None:
        options["drain_s"] = 0
    with bind(settings.host, settings.port) as bound:
        return reload.run(run, _folders_to_watch(options["graphs"]), bound, options)


def _folders_to_watch(langgraph_json: Path | None) -> tuple[Path, ...]:
    """The project's folder and those it imports from; without a project, the working folder, where a product may be written."""
    if langgraph_json is None:
        return (Path(),)
    from stepwell.runs.graphs.langgraph_json import read_langgraph_json

    return read_langgraph_json(langgraph_json).import_folders


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
    """Serve until a signal arrives. Returns whether some tasks could not be stopped."""
    from stepwell.cli.compose import open_server
    from stepwell.runs.graphs.node_threads import NodeThreads
    from stepwell.server.garbage_collection import collect_less_often
    from stepwell.server.listening import listen, local_url_of, network_urls_of

    def tell() -> None:
        prefix = served.http.mount_prefix
        address = local_url_of(bound, server_settings.host) + prefix
        others = [url + prefix for url in network_urls_of(bound, server_settings.host)]
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
    metrics.show("stepwell_log_lines_lost", "Log lines that could not be written in time", lambda: log.dropped)


class Superseded:
    """Called when a newer version has migrated the database: stops this process as a signal would. The log says why."""

    def __init__(self) -> None:
        self.exit_code = 0

    def __call__(self, sentence: str) -> None:
        self.exit_code = 1
        signal.raise_signal(signal.SIGTERM)


def _say(text: str) -> None:
    print(text, flush=True)


async def has_stuck_tasks() -> bool:
    """Cancel the remaining tasks once more; returns whether some of them ignore it."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    return bool(left) and bool((await asyncio.wait(left, timeout=_LAST_CHANCE_S))[1])


def require_extra() -> None:
    if missing_packages("server"):
        raise MissingExtraError("The server", "server")


def _require_folder(variable: str, folder: Path) -> None:
    """Check the folder at start-up, so that a problem does not show only at the first upload."""
    try:
        make_private_folder(folder)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write to the folder '{folder.name}' of {variable}: {error.strerror}. Give this user write access, or set another "
            "folder."
        ) from error


def run_to_its_end(runner: asyncio.Runner, main: Coroutine[Any, Any, T]) -> T:
    """Like `runner.run(main)`, but a `SystemExit` or `KeyboardInterrupt` in another task fails only that task. An event loop stops when
    a task calls `exit()`, as a graph does if a tool wraps a command-line program; we restart the loop, and the run ends with that error.
    Ctrl-C before `main` has installed its own handlers cancels `main` and is raised."""
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
