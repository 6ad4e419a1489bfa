"""What stands between one process and the database and counts statements, to lose the connection at a given one.

```python
async with StatementProxy(cluster.socket) as proxy:
    proxy.lose(5, "answer")           # the fifth statement from now on is carried out, and its answer lost with the connection
    proxy.lose(5, "statement", 40)    # it does not arrive; all connections are gone, and the next 40 are refused
```
What a statement is, `wire` says.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from tests.integration.postgres.wire import statements, words

Lost = Literal["statement", "answer"]

_LARGEST = 64 * 1024


@dataclass
class _Way:
    """One connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    back: asyncio.StreamReader
    there: asyncio.StreamWriter
    answer_lost: bool = False

    def abort(self) -> None:
        self.writer.transport.abort()
        self.there.transport.abort()


class StatementProxy:
    """On a free port of this machine, in front of a Postgres that listens on a socket file."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._ways: set[asyncio.Task[None]] = set()
        self._open: list[_Way] = []
        self._left = 0
        self._what: Lost = "statement"
        self._then_refused = 0
        self.refusing = 0
        """Connections that are still refused."""
        self.lost = ""
        """The statement that was lost, as far as its words are on the wire."""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        ways = list(self._ways)
        for task in ways:
            task.cancel()
        await asyncio.gather(*ways, return_exceptions=True)

    def url(self, database: str) -> str:
        port = self._server.sockets[0].getsockname()[1]
        return f"postgresql://postgres@127.0.0.1:{port}/{database}?sslmode=disable&gssencmode=disable"

    def lose(self, number: int, what: Lost, then_refused: int = 0) -> None:
        self._left, self._what, self._then_refused, self.lost = number, what, then_refused, ""

    @property
    def is_over(self) -> bool:
        """Whether the loss has happened."""
        return self._left <= 0

    def forget(self) -> None:
        self._left = 0

    def let_in(self) -> None:
        self.refusing = 0

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._ways.add(task)
        task.add_done_callback(self._ways.discard)
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing > 0:
            self.refusing -= 1
            return
        try:
            back, there = await asyncio.open_unix_connection(str(self._socket))
        except OSError:
            return
        way = _Way(reader, writer, back, there)
        self._open.append(way)
        passing = [asyncio.create_task(self._ask(way)), asyncio.create_task(self._answer(way))]
        try:
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._open.remove(way)
            way.abort()
            for each in passing:
                each.cancel()
            await asyncio.gather(*passing, return_exceptions=True)

    async def _ask(self, way: _Way) -> None:
        async for statement, counts in statements(way.reader):
            if counts and self._is_next():
                self.lost = words(statement)
                self.refusing = self._then_refused
                if self._what == "statement":
                    self._cut(way)
                    return
                way.answer_lost = True
            way.there.write(statement)
            await way.there.drain()

    async def _answer(self, way: _Way) -> None:
        while piece := await way.back.read(_LARGEST):
            if way.answer_lost:
                self._cut(way)
                return
            way.writer.write(piece)
            await way.writer.drain()

    def _is_next(self) -> bool:
        self._left -= 1
        return self._left == 0

    def _cut(self, way: _Way) -> None:
        """An outage takes all connections with it, a moment's fault the one."""
        for each in list(self._open) if self._then_refused else [way]:
            each.abort()
