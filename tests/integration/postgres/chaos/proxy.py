"""What stands between one process and the database: connections can be cut, held up and slowed down. Of what passes it recognises
commits only.

```python
async with DatabaseProxy(folder_of_sockets) as proxy:
    proxy.url("shared")      # the database through it
    proxy.cut()              # all connections are gone; new ones are let in
    proxy.block()            # nothing passes any more, and nobody is told, until...
    proxy.unblock()
    proxy.refuse()           # all connections are gone, and new ones are refused, until...
    proxy.let_in()
    proxy.delay_s = 0.05     # each piece comes so much later
    lost = proxy.lose_commit()   # the next commit is carried out, and its answer is lost with the connection: then `lost` is set
    proxy.keep_commits()     # or not, if nothing was committed until now
```
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.integration.postgres.wire import is_commit, statements

_LARGEST = 64 * 1024


class DatabaseProxy:
    """On a free port of this machine, in front of a Postgres that listens on a socket file. Belongs to the loop it is opened in."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._open = asyncio.Event()
        self._open.set()
        self._passing: set[asyncio.Task[None]] = set()
        self._refuses = False
        self._losing: asyncio.Event | None = None
        self.delay_s = 0.0
        self.connections = 0
        """All so far."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        passing = list(self._passing)
        self.cut()
        await asyncio.gather(*passing, return_exceptions=True)

    def url(self, database: str) -> str:
        port = self._server.sockets[0].getsockname()[1]
        return f"postgresql://postgres@127.0.0.1:{port}/{database}?sslmode=disable&gssencmode=disable"

    def cut(self) -> None:
        for task in self._passing:
            task.cancel()

    def block(self) -> None:
        self._open.clear()

    def unblock(self) -> None:
        self._open.set()

    def refuse(self) -> None:
        self._refuses = True
        self.cut()

    def let_in(self) -> None:
        self._refuses = False

    def lose_commit(self) -> asyncio.Event:
        self._losing = asyncio.Event()
        return self._losing

    def keep_commits(self) -> None:
        self._losing = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer))
        self._passing.add(task)
        task.add_done_callback(self._passing.discard)
        task.add_done_callback(lambda _: writer.transport.abort())  # not in the task: it may be cut before it begins

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._open.wait()
        if self._refuses:
            return
        try:
            back, there = await asyncio.open_unix_connection(str(self._socket))
        except OSError:
            return  # no database: whoever connected sees the connection end
        committing: asyncio.Future[asyncio.Event] = asyncio.get_running_loop().create_future()
        ways = [
            asyncio.create_task(way) for way in (self._ask(reader, there, committing), self._answer(back, writer, committing))
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            there.transport.abort()
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _ask(
        self, reader: asyncio.StreamReader, there: asyncio.StreamWriter, committing: asyncio.Future[asyncio.Event]
    ) -> None:
        async for statement, _ in statements(reader):
            await self._hold_up()
            if self._losing is not None and is_commit(statement):
                committing.set_result(self._losing)
                self._losing = None
            there.write(statement)
            await there.drain()

    async def _answer(
        self, back: asyncio.StreamReader, writer: asyncio.StreamWriter, committing: asyncio.Future[asyncio.Event]
    ) -> None:
        while piece := await back.read(_LARGEST):
            if committing.done():
                committing.result().set()
                return  # and with it goes the connection
            await self._hold_up()
            writer.write(piece)
            await writer.drain()

    async def _hold_up(self) -> None:
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        await self._open.wait()
