"""The base class of the repository's parts: the database, the clock, and how threads are erased."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import uuid4

from stepwell.clock import Clock
from stepwell.database.database import SqlDatabase
from stepwell.database.records.erasing import finish_erasing


def _random_id() -> str:
    return uuid4().hex


def _nobody_listens(thread_id: str) -> None:
    """The default: there are no followers to notify."""


class RecordsPart:
    """`erased` is called for each deleted thread, after the commit."""

    def __init__(
        self,
        database: SqlDatabase,
        clock: Clock,
        *,
        new_id: Callable[[], str] = _random_id,
        erased: Callable[[str], None] = _nobody_listens,
    ) -> None:
        self._database = database
        self._clock = clock
        self._new_id = new_id
        self._erased = erased

    async def _erase(self, gone: Sequence[str]) -> None:
        """Notify the followers of deleted threads, then delete their rows."""
        for thread_id in gone:
            self._erased(thread_id)
        await finish_erasing(self._database, gone, self._new_id)
