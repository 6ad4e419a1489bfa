"""A thread's evidence in the database: bytes under their hash, and the trail. The evidence is deleted with the thread. A vault with a
lease can write, fenced like all writes of a run; without a lease it can only read.
"""

from __future__ import annotations

from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.database import fence
from stepwell.database.database import SqlDatabase
from stepwell.database.types import Lease
from stepwell.errors import ConfigurationError, EvidenceDamagedError, EvidenceMissingError
from stepwell.research.audit.canonical import sha256 as hash_of
from stepwell.research.audit.trail import GENESIS, Entry, NewEntry, from_line, match_stored, seal, to_line
from stepwell.sql import Connection


class SqlVault:
    """An `EvidenceVault` for one thread."""

    def __init__(self, database: SqlDatabase, thread_id: str, lease: Lease | None = None, clock: Clock | None = None) -> None:
        self._database = database
        self._thread_id = thread_id
        self._lease = lease
        self._clock = clock or SystemClock()

    async def put(self, content: bytes) -> str:
        name, lease = hash_of(content), self._writer()

        def work(connection: Connection) -> None:
            fence.require(connection, lease)
            connection.execute(
                "INSERT INTO evidence (thread_id, sha256, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (self._thread_id, name, content),
            )

        await self._database.write(work)
        return name

    async def get(self, sha256: str) -> bytes:
        row = await self._database.read(
            lambda connection: connection.execute(
                "SELECT content FROM evidence WHERE thread_id = ? AND sha256 = ?", (self._thread_id, sha256)
            ).fetchone()
        )
        if row is None:
            raise EvidenceMissingError(f"Nothing is stored under sha256 {sha256[:64]}.")
        content = bytes(row["content"])
        if hash_of(content) != sha256:
            raise EvidenceDamagedError(f"The content stored under sha256 {sha256[:64]} has changed.")
        return content

    async def append(self, new: NewEntry) -> Entry:
        lease, at = self._writer(), timestamp(self._clock)

        def work(connection: Connection) -> Entry:
            fence.require(connection, lease)
            if known := _find(connection, self._thread_id, new.key):
                return match_stored(known, new)
            last = connection.execute(
                "SELECT line FROM trail WHERE thread_id = ? ORDER BY seq DESC LIMIT 1", (self._thread_id,)
            ).fetchone()
            before = from_line(last["line"]) if last else None
            entry = seal(new, seq=before.seq + 1 if before else 1, at=at, previous=before.hash if before else GENESIS)
            connection.execute(
                "INSERT INTO trail (thread_id, seq, key, line) VALUES (?, ?, ?, ?)",
                (self._thread_id, entry.seq, entry.key, to_line(entry)),
            )
            return entry

        return await self._database.write(work)

    async def entries(self, after: int = 0) -> list[Entry]:
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT line FROM trail WHERE thread_id = ? AND seq > ? ORDER BY seq", (self._thread_id, after)
            ).fetchall()
        )
        return [from_line(row["line"]) for row in rows]

    async def find(self, key: str) -> Entry | None:
        return await self._database.read(lambda connection: _find(connection, self._thread_id, key))

    def _writer(self) -> Lease:
        if self._lease is None:
            raise ConfigurationError("This evidence was opened for reading. Only a run writes to it.")
        return self._lease


def _find(connection: Connection, thread_id: str, key: str) -> Entry | None:
    row = connection.execute("SELECT line FROM trail WHERE thread_id = ? AND key = ?", (thread_id, key)).fetchone()
    return from_line(row["line"]) if row else None
