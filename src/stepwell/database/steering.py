"""Messages for the run that holds a lease, on their way from the database into its thread.

`give` and the saver's writes are one pipeline, in order. The saver notes a message as taken in the transaction that stores the step with
it (`among`), so a crash neither loses it nor lets it enter twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from stepwell.database import sent_messages
from stepwell.database.database import SqlDatabase
from stepwell.database.fence import fenced
from stepwell.database.types import Lease
from stepwell.sql import Connection
from stepwell.state.steering import SteeringMessage

_MESSAGES = "messages"


class SqlSteering:
    """`expected`: whether messages may wait from the start."""

    def __init__(self, database: SqlDatabase, lease: Lease, *, expected: bool) -> None:
        self._database = database
        self._lease = lease
        self._fresh = expected
        self._given: set[str] = set()

    def wake(self) -> None:
        """A message has come in."""
        self._fresh = True

    @property
    def pending(self) -> bool:
        return self._fresh or bool(self._given)

    def give(self) -> Future[Sequence[SteeringMessage]]:
        self._fresh = False  # before the query: what comes during it sets this again

        def work(connection: Connection) -> Sequence[SteeringMessage]:
            given = sent_messages.give(connection, self._lease)
            self._given = {message.id for message in given}
            return given

        return self._database.submit(fenced(self._lease, work))

    def note_stored(self, ids: Iterable[str]) -> None:
        stored = set(ids)
        self._given -= stored
        self._database.submit(
            fenced(self._lease, lambda connection: sent_messages.take(connection, self._lease.thread_id, stored))
        )

    def among(self, writes: Sequence[tuple[str, Any]]) -> set[str]:
        """Which of the given messages these writes store in the thread. They count as taken from now on."""
        if not self._given:
            return set()
        written = [value for channel, value in writes if channel == _MESSAGES]
        flat = [each for value in written for each in (value if isinstance(value, list) else [value])]
        taken = {message.id for message in flat if getattr(message, "id", None) in self._given}
        self._given -= taken
        return taken
