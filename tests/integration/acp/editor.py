"""An editor as far as the protocol goes: the official client, the process it starts, and what a person at it sees and decides."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from acp import connect_to_agent
from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    TextContentBlock,
    ToolCallUpdate,
)
from tests.integration.served.process import environment
from tests.integration.served.warm import Started, start_warm

PATIENCE_S = 120.0
Decide = Callable[[ToolCallUpdate, Sequence[PermissionOption]], str | None]
"""The id of the chosen option; None if the person stops the turn instead."""


class Editor:
    """Keeps what it is told. `decide` is the person."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[tuple[ToolCallUpdate, list[PermissionOption]]] = []
        self.decide: Decide = lambda call, options: options[0].option_id
        self._news = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self._news.set()

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((tool_call, options))
        self._news.set()
        chosen = self.decide(tool_call, options)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, **_: Any) -> Any:
        raise AssertionError("files are never read through the editor")

    async def write_text_file(self, **_: Any) -> Any:
        raise AssertionError("files are never written through the editor")

    def on_connect(self, conn: Any) -> None: ...

    def of(self, kind: str) -> list[Any]:
        return [each for each in self.updates if each.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(each.content.text for each in self.of(kind))

    async def until(self, fact: Callable[[], Any]) -> None:
        """Wait until what was told makes the fact true."""
        async with asyncio.timeout(PATIENCE_S):
            while not fact():
                self._news.clear()
                await self._news.wait()


def words(text: str) -> list[TextContentBlock]:
    return [TextContentBlock(type="text", text=text)]


@asynccontextmanager
async def editing(editor: Editor, data: Path, *arguments: str, **variables: str) -> AsyncIterator[tuple[Any, Started]]:
    """`stepwell acp`, as an editor starts it, after `initialize`."""
    own = environment(STEPWELL_DATA_DIR=str(data), NO_PROXY="127.0.0.1", **variables)
    with TemporaryDirectory() as place:
        told, said, err = (Path(place) / name for name in ("told", "said", "err"))
        os.mkfifo(told)
        os.mkfifo(said)
        process = start_warm(["acp", *arguments], data.parent, own, given=told, out=said, err=err)
        try:
            async with speaking(told, said) as (writer, reader):
                connection = connect_to_agent(editor, writer, reader)
                async with asyncio.timeout(PATIENCE_S):
                    await connection.initialize(protocol_version=1)
                yield connection, process
                await connection.close()
            await asyncio.to_thread(process.wait, PATIENCE_S)
        finally:
            process.kill()


@asynccontextmanager
async def speaking(told: Path, said: Path) -> AsyncIterator[tuple[asyncio.StreamWriter, asyncio.StreamReader]]:
    """Both pipes of a process, which waits until they are open at this end."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=50_000_000)
    heard = os.fdopen(os.open(said, os.O_RDONLY | os.O_NONBLOCK), "rb")
    hearing, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), heard)
    pipe = await asyncio.to_thread(told.open, "wb", buffering=0)
    speaking, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    try:
        yield asyncio.StreamWriter(speaking, protocol, None, loop), reader
    finally:
        speaking.close()
        hearing.close()
