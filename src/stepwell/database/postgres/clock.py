"""The database's time without a query each time: this machine's monotonic clock plus the offset between the two when last compared.

So the leases of all processes follow one clock. It does not matter if a machine's own clock is an hour off, or is set while the machine
runs.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

from stepwell.database.postgres.connection import PostgresConnection

_ASK = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


class PostgresClock:
    """`Clock`. Usable after the first `ask`, which is repeated now and then because clocks drift."""

    def __init__(self, seconds: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._ahead_s: float | None = None

    def ask(self, connection: PostgresConnection) -> None:
        """Compare with the database. It took its time at some moment between our sending and receiving, so assume the middle."""
        before = self._seconds()
        there: float = connection.execute(_ASK).fetchone()[0]
        self._ahead_s = there - (before + self._seconds()) / 2

    def now(self) -> datetime:
        if self._ahead_s is None:
            raise AssertionError("the database has not been asked for its time yet")
        return datetime.fromtimestamp(self._seconds() + self._ahead_s, UTC)
