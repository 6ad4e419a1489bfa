"""`stepwell serve`: the server, with what it says when it starts.

```
arguments -> settings -> socket (a port in use is said at once) -> graphs -> database, engine -> HTTP, until a signal comes
```

What is printed goes to the standard output; the log goes to the standard error. The line `Serving at <address>` comes when
requests are answered, and stays as it is: scripts wait for it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from stepwell.cli.database import database_file
from stepwell.cli.doctor_server import NEEDED
from stepwell.errors import MissingExtraError, StepwellError
from stepwell.settings import Settings, prefer_in_environment

if TYPE_CHECKING:
    from stepwell.cli.compose import Graphs
    from stepwell.server.logs import LogSink
    from stepwell.server.settings import ServerSettings


_LAST_CHANCE_S = 0.5
SET_A_MODEL = "Set STEPWELL_MODEL=provider:name and the provider's key (such as ANTHROPIC_API_KEY), or OLLAMA_MODEL_NAME, and start again."


def run(*, host: str | None, port: int | None, graphs: Path | None, database_url: str | None, insecure: bool) -> int:
    """The command; gives the exit code."""
    # Before LangGraph is imported: it reads this once. Checkpoints then hold data only, never anything that runs.
    prefer_in_environment("LANGGRAPH_STRICT_MSGPACK", "true")
    _require_extra()
    settings = Settings.load()
    database = database_file(database_url, settings)
    from stepwell.server.settings import ServerSettings

    server_settings = ServerSettings.load(settings.server, host=host, port=port, insecure=insecure)
    from stepwell.server.listening import bind

    with bind(server_settings.host, server_settings.port) as bound:
        from stepwell.cli.compose import graphs_to_serve
        from stepwell.server.logs import open_logs

        with open_logs(server_settings.log_format, server_settings.log_level) as log:
            served = graphs_to_serve(graphs)
            deaf = False
            runner = asyncio.Runner(loop_factory=_loop_factory())
            try:
                deaf = runner.run(_serve(settings, server_settings, served, database, bound, log))
            except KeyboardInterrupt:  # before it served; later the listener takes care of it
                return 130
            finally:
                if not deaf:
                    runner.close()
    print("Stopped.", flush=True)
    if deaf:
        os._exit(0)  # all is stored and closed; only steps that nobody can stop are left, and Python would wait for them
    return 0


async def _serve(
    settings: Settings, server_settings: ServerSettings, served: Graphs, database: Path, bound: socket.socket, log: LogSink
) -> bool:
    """Serve until a signal comes. Gives whether something is still at work that does not stop."""
    from stepwell.cli.compose import open_server
    from stepwell.runs.node_threads import NodeThreads
    from stepwell.server.garbage import look_less_often
    from stepwell.server.listening import address_of, listen

    def tell() -> None:
        address = address_of(bound, server_settings.host)
        print("\n".join(_first_screen(address, settings, server_settings, served, database)), flush=True)

    asyncio.get_running_loop().set_default_executor(NodeThreads())
    async with open_server(settings, server_settings, served, database) as server:
        server.services.metrics.show("stepwell_log_lines_lost", "Lines that could not be written in time", lambda: log.dropped)
        look_less_often()
        await listen(server.app, server.services, bound, tell)
    return await _somebody_is_deaf()


async def _somebody_is_deaf() -> bool:
    """Nodes that were left behind because they go on when they are cancelled. They get a last chance."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    return bool(left) and bool((await asyncio.wait(left, timeout=_LAST_CHANCE_S))[1])


def _first_screen(
    address: str, settings: Settings, server_settings: ServerSettings, served: Graphs, database: Path
) -> Iterator[str]:
    yield f"Stepwell {version('stepwell')}"
    yield f"Serving at {address}"
    broken = served.registry.problems
    yield f"  graphs    {', '.join(name for name in served.registry.names if name not in broken)}"
    yield from (f"  not built {problem}" for problem in broken.values())
    if served.ours:
        yield from _model(settings)
    yield from (f"  note      {note}" for note in served.notes)
    yield f"  data      {database}"
    yield f"  users     {_users(server_settings)}"
    yield f"  talk      stepwell chat --url {address}"
    yield f"  API       {address}/docs"
    yield "  stop      Ctrl-C lets runs finish for a while; a second one stops at once"


def _model(settings: Settings) -> Iterator[str]:
    """The model our applications use and why, or what to do about it. Imports no provider's package."""
    from stepwell.cli.doctor import warning_about
    from stepwell.models.choice import choose_model
    from stepwell.models.providers import check_installed

    try:
        choice = choose_model(None, settings, embedded_fallback=True)
        check_installed(choice.provider)
    except StepwellError as error:
        yield f"  model     none: {error}"
        yield f"            {SET_A_MODEL}"
        return
    yield f"  model     {choice} ({choice.reason})"
    if warning := warning_about(choice, settings):
        yield f"            {warning}"


def _users(settings: ServerSettings) -> str:
    if settings.asks_who:
        return "must sign in, with a key of `stepwell keys create --user NAME`" + (" or a token" if settings.jwt else "")
    if settings.reachable:
        return "ANYBODY who reaches this address, as one user (--insecure)"
    return "whoever is on this machine, as one user"


def _require_extra() -> None:
    if any(importlib.util.find_spec(package) is None for package in NEEDED):
        raise MissingExtraError("The server", "server")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if importlib.util.find_spec("uvloop") is None:
        return None
    import uvloop

    return uvloop.new_event_loop
