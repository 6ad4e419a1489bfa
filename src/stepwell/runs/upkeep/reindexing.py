"""Keeps the store's index complete while a server is open: items that another index embedded, or none, are embedded in the background.

Until then a search by meaning does not find them. Only the process that leads does it; where that one serves another project, items wait
for the next put.
"""

from __future__ import annotations

import asyncio
import logging
from types import TracebackType
from typing import Self

from stepwell.database.persistence import Persistence
from stepwell.database.store.reindexing import reindex
from stepwell.supervision import Supervisor, stop

EVERY_S = 3600.0
_log = logging.getLogger(__name__)


class Reindexing:
    """`async with Reindexing(...)`: at once, and then every hour, because an older server may still write without the index."""

    def __init__(self, persistence: Persistence, supervisor: Supervisor, *, every_s: float = EVERY_S) -> None:
        self._persistence = persistence
        self._supervisor = supervisor
        self._every_s = every_s
        self._task: asyncio.Task[None] | None = None
        self._left_out = 0

    async def __aenter__(self) -> Self:
        self._task = self._supervisor.repeat("store index", self._step, self._every_s)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task:
            await stop([self._task])

    async def _step(self) -> None:
        index = self._persistence.store_rules.index
        if index is None or not self._persistence.maintenance.leads():
            return
        done = await reindex(self._persistence.database, self._persistence.clock, index)
        if done.embedded:
            _log.info(
                "%d items of the store were embedded with '%s'; searches by meaning find them now.", done.embedded, index.name
            )
        if done.left_out not in (0, self._left_out):
            _log.warning(
                "'%s' cannot embed %s of the store, so searches by meaning do not find what is left out. It is tried again every hour.",
                index.name,
                "1 item" if done.left_out == 1 else f"{done.left_out} items",
            )
        self._left_out = done.left_out
