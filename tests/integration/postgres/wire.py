"""What a client of Postgres sends, read as statements: for the proxies that lose a connection at a given one.

A statement is what ends in a `Query` or a `Sync` message of the wire protocol: a question that the sender waits for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

_WAITED_FOR = b"QSHXpcf"
"""Query, Sync, Flush, Terminate, a password, the end of a copy: behind these a client may wait for an answer."""


async def statements(reader: asyncio.StreamReader) -> AsyncIterator[tuple[bytes, bool]]:
    """What a client sends, in pieces that end where it waits for an answer, and whether that is a statement."""
    try:
        length = await reader.readexactly(4)
        yield length + await reader.readexactly(int.from_bytes(length) - 4), False
        piece = b""
        while True:
            kind = await reader.readexactly(1)
            length = await reader.readexactly(4)
            piece += kind + length + await reader.readexactly(int.from_bytes(length) - 4)
            if kind in _WAITED_FOR:
                yield piece, kind in b"QS"
                piece = b""
    except (asyncio.IncompleteReadError, ConnectionError):
        return


def words(statement: bytes) -> str:
    """A statement as far as its words are on the wire."""
    return " ".join(part.decode(errors="replace") for part in statement.split(b"\0") if len(part) > 6)[:200]


def is_commit(statement: bytes) -> bool:
    """Whether it ends a transaction: `COMMIT` as a `Query`, also behind other statements, or as a `Parse`."""
    return any(sql.rstrip(b"; \n").upper().rpartition(b";")[2].strip() == b"COMMIT" for sql in _sql_in(statement))


def _sql_in(statement: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(statement):
        kind, length = statement[place : place + 1], int.from_bytes(statement[place + 1 : place + 5])
        body = statement[place + 5 : place + 1 + length]
        if kind == b"Q":
            yield body.rstrip(b"\0")
        elif kind == b"P":  # the name of the prepared statement comes first
            yield body.split(b"\0")[1]
        place += 1 + length
