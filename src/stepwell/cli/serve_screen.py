"""What `stepwell serve` prints on standard output: its address and configuration, and its progress when it stops.

```
Serving at <address>      once it answers requests; do not change this line, because scripts wait for it
Stopping: ...             at the first Ctrl-C, if runs are active; then how many are left, until they finish or time is up
Stopped.                  at the end
```
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

from stepwell.errors import StepwellError
from stepwell.products import others_graphs, payable_graphs
from stepwell.settings import Settings
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.cli.compose import Graphs
    from stepwell.server.settings import ServerSettings

CONNECT_A_MODEL = "Connect one on the page (Settings > Models) or with `stepwell models use`."
_LOOK_S = 0.1
_SAY_AGAIN_S = 3.0


def first_screen(
    address: str, others: list[str], settings: Settings, server_settings: ServerSettings, served: Graphs, database: object
) -> Iterator[str]:
    """The lines to show once the server answers requests. `others` are addresses at which other machines can reach it."""
    yield f"Stepwell {version('stepwell')}"
    yield f"Serving at {address}"
    if others:
        yield f"  network   {', '.join(others)} (all addresses of this machine, --host {server_settings.host})"
    broken = served.registry.problems
    demos = served.registry.demos
    yield f"  graphs    {', '.join(name for name in served.registry.names if name not in broken and name not in demos)}"
    if demos:
        yield "  demo      on the page, without a model or a key (turn off with --no-demo)"
    yield from (f"  not built {problem}" for problem in broken.values())
    if served.ours:
        yield from _model(settings)
    yield from (f"  note      {note}" for note in _notes(server_settings, served))
    yield f"  data      {database}"
    if server_settings.power_loss:
        yield "            every write reaches the disk before it is confirmed"
    if server_settings.run_timeout_s:
        yield f"  limit     a run is stopped after {server_settings.run_timeout_s} s of work"
    yield from _payments(settings, served)
    yield f"  users     {_users(server_settings, served)}"
    if served.http.has_page:
        yield f"  page      open {address} in a browser" + (", once the project has signed you in" if _has_auth(served) else "")
    yield f"  talk      {_talk(address, served)}"
    if "meta" not in served.http.disabled:
        yield f"  API       {address}/docs"
    yield "  stop      Ctrl-C lets runs finish for a while; a second one stops at once"


class Farewell:
    """Tells the user who pressed Ctrl-C what the server is waiting for."""

    def __init__(self, under_way: Callable[[], int], patience_s: float, say: Callable[[str], None]) -> None:
        self._under_way = under_way
        self._patience_s = patience_s
        self._say = say

    async def draining(self) -> None:
        """Say at once why the server is still running, then report progress until cancelled."""
        loop = asyncio.get_running_loop()
        began = said_at = loop.time()
        left = self._under_way()
        if not left:
            return
        self._say(
            f"Stopping: {_runs(left)} under way, with up to {self._patience_s:g} s to finish. Unfinished runs resume at the next start. "
            "Press Ctrl-C again to stop now; stored data is safe."
        )
        while left:
            await asyncio.sleep(_LOOK_S)
            now, before, left = loop.time(), left, self._under_way()
            if left and (left != before or now - said_at >= _SAY_AGAIN_S):
                said_at = now
                self._say(f"  {_runs(left)} under way, {max(self._patience_s - (now - began), 0):.0f} s left")

    def drained(self, handed_back: int) -> None:
        """Report the runs that did not finish in time."""
        if handed_back:
            self._say(f"  {_runs(handed_back)} not finished in time; will resume at the next start")


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{number} runs"


def _model(settings: Settings) -> Iterator[str]:
    """The model our applications use and why, or how to set one up. Imports no provider's package."""
    from stepwell.models.choice import model_from_environment, warning_about
    from stepwell.models.local.catalogue import DEFAULT_LOCAL_MODEL
    from stepwell.models.providers import check_installed

    try:
        choice = model_from_environment(settings)
        if choice is None:
            yield f"  model     none set by the environment. {CONNECT_A_MODEL}"
            yield f"            Until then local:{DEFAULT_LOCAL_MODEL} answers: enough to try things, too small for real work."
            return
        check_installed(choice.provider)
    except StepwellError as error:
        yield f"  model     none: {error}"
        return
    yield f"  model     {choice} ({choice.reason})"
    if warning := warning_about(choice, settings):
        yield f"            {warning}"


def _payments(settings: Settings, served: Graphs) -> Iterator[str]:
    """Which agents cost money, the price, and the accepted mints. Yields nothing if payments are off."""
    from stepwell.payments.configuration import load_charging

    if charging := load_charging(settings.payments):
        paid = charging.graphs(payable_graphs())
        free = [name for name in served.registry.names if name not in paid]
        yield f"  payments  {charging.price.in_words()}, for {', '.join(sorted(paid))}" + (
            f" (free: {', '.join(free)})" if free else ""
        )
        yield f"            accepted mints: {', '.join(charging.mints)}"


def _notes(settings: ServerSettings, served: Graphs) -> Iterator[str]:
    from stepwell.server.project import note_on_origins

    yield from served.notes
    if note := note_on_origins(served.http, asks_who=settings.asks_who or _has_auth(served)):
        yield note


def _talk(address: str, served: Graphs) -> str:
    """The command to chat. By itself it takes Stepwell's own agent, or the newest assistant, so the project's first graph is named."""
    own = [name for name in (served.project.graphs if served.project else others_graphs()) if name in served.registry.names]
    choice = [] if not own or served.registry.names == own[:1] else ["--assistant", shlex.quote(own[0])]
    sent = " (STEPWELL_API_KEY is sent as x-api-key)" if _has_auth(served) else ""
    return " ".join([spell_command("chat --url"), address, *choice]) + sent


def _has_auth(served: Graphs) -> bool:
    return served.project is not None and served.project.auth is not None


def _users(settings: ServerSettings, served: Graphs) -> str:
    if served.project is not None and served.project.auth is not None:
        return f"as '{served.project.auth.target.shown}' of the project says"
    if settings.asks_who:
        return f"must sign in, with a key from `{spell_command('keys create --user NAME')}`" + (
            " or a token" if settings.jwt else ""
        )
    if settings.reachable:
        return "ANYBODY who can reach this address, all as one user (--insecure)"
    return "anybody on this machine, all as one user"
