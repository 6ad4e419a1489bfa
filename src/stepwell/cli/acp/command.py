"""`stepwell acp`: open the place where threads live, and answer the editor until it closes the connection."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from acp import run_agent

from stepwell.errors import needs_extra
from stepwell.settings import Settings
from stepwell.terminal.acp.agent import EditorAgent
from stepwell.terminal.acp.conversation import EditorThreads
from stepwell.terminal.acp.pipes import take_over


def run(*, url: str | None, graph: str | None, graphs: Path | None, model: str | None, deny: tuple[str, ...]) -> int:
    """Run the command and return its exit code."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    settings = Settings.load()
    if url is None:
        from stepwell.cli.acp.here import choose_agent, open_threads_here

        opening: AbstractAsyncContextManager[EditorThreads] = open_threads_here(
            settings, choose_agent(graph, graphs, model, deny)
        )
    else:
        with needs_extra("Talking to a server", "server"):
            from stepwell.cli.acp.on_server import open_threads_on_server
        opening = open_threads_on_server(settings, url, graph)
    asyncio.run(_talk(opening))
    return 0


async def _talk(opening: AbstractAsyncContextManager[EditorThreads]) -> None:
    reader, writer = await take_over()
    async with opening as threads:
        agent = EditorAgent(threads)
        try:
            await run_agent(agent, writer, reader)  # type: ignore[arg-type]  # methods of later versions are left out
        finally:
            await agent.leave()
