"""How `stepwell research`, `export` and `show` use a server: talk to it, and download the evidence it stores.

We download the bundle into a temporary file and verify it here before we use it, because the server is not trusted.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from stepwell.errors import RunError
from stepwell.research.commands.options import GRAPH, MODES
from stepwell.settings import Settings
from stepwell.terminal.dialogue.remote_session import RemoteSession, ServerLine, open_client
from stepwell.terminal.dialogue.server_errors import as_sentences, read_problem
from stepwell.terminal.own_command import spell_command

if TYPE_CHECKING:
    from stepwell.research.audit.export import Format


@dataclass(frozen=True)
class ResearchThread:
    """A thread of the server's research graph."""

    line: ServerLine
    thread_id: str

    @property
    def url(self) -> str:
        return self.line.url

    @property
    def carry_on(self) -> str:
        """The command that continues the thread."""
        return spell_command(f"research --url {self.url} --continue {self.thread_id}")

    def open(self) -> RemoteSession:
        return RemoteSession(self.line, self.thread_id, carry_on=self.carry_on)


@contextmanager
def connect_research(
    runner: asyncio.Runner, url: str, settings: Settings, thread_id: str, tell: Callable[[str], None]
) -> Iterator[ResearchThread]:
    """The thread on the server. Closes the connections when the `with` block ends."""
    with open_client(runner, url, settings) as (client, address):
        yield ResearchThread(ServerLine(client, address, GRAPH, tell, MODES), thread_id)


def write_from_server(runner: asyncio.Runner, thread: ResearchThread, form: Format) -> bytes:
    """A research on a server as a document."""
    from stepwell.research.audit.export import export_bundle

    with download_bundle(runner, thread) as bundle:
        return export_bundle(bundle, form)


@contextmanager
def download_bundle(runner: asyncio.Runner, thread: ResearchThread) -> Iterator[Path]:
    """The thread's evidence as a temporary file. Callers must verify it before they use it."""
    with tempfile.TemporaryDirectory() as folder:
        bundle = Path(folder) / f"{thread.thread_id}.zip"
        runner.run(_download(thread, bundle))
        yield bundle


async def _download(thread: ResearchThread, file: Path) -> None:
    with as_sentences(thread.url, thread.carry_on):
        http = thread.line.client.http.client
        async with http.stream("GET", f"/api/research/{thread.thread_id}/bundle") as response:
            if response.status_code != 200:
                raise RunError(await _explain_refusal(thread, response))
            with file.open("wb") as written:
                async for piece in response.aiter_bytes():
                    written.write(piece)


async def _explain_refusal(thread: ResearchThread, response: httpx.Response) -> str:
    return await read_problem(response) or (
        f"The server at {thread.url} does not offer evidence of its researches (it answered {response.status_code}), so it cannot be "
        f"checked or exported. To get the report alone, use standard output: {spell_command('research ... > report.md')}"
    )
