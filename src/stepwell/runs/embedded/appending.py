"""Gathers appends of one event loop into few transactions.

Hundreds of runs that each say a word now and then would cost a round trip to the writer's thread per word. Instead at most one
piece of work is with the writer; what is appended meanwhile waits and goes together. A lonely append waits for nobody.

```
append ──> waiting ──(nothing is with the writer)──> written together ──commit──> handed over, callers go on
```

Each append stands for itself: one that is refused takes none of the others with it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from stepwell.errors import LeaseLostError
from stepwell.runs.embedded import fence
from stepwell.runs.embedded.database import Database
from stepwell.runs.embedded.event_rows import insert_events
from stepwell.runs.records import Lease, NewEvent, RunEvent

HandOver = Callable[[str, Sequence[RunEvent]], None]
"""Told of committed events of a thread."""


@dataclass(frozen=True)
class _Append:
    lease: Lease
    events: Sequence[NewEvent]
    now: float
    done: asyncio.Future[list[RunEvent]]


class Appends:
    """Belongs to the loop it is used in."""

    def __init__(self, database: Database, hand_over: HandOver) -> None:
        self._database = database
        self._hand_over = hand_over
        self._waiting: list[_Append] = []
        self._writing = False

    async def append(self, lease: Lease, events: Sequence[NewEvent], now: float) -> list[RunEvent]:
        """Gives the events as numbered, once they are committed. Whoever is cancelled meanwhile has perhaps written all the same."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(_Append(lease, events, now, done))
        if not self._writing:
            self._write()
        written: list[RunEvent] = await done
        return written

    def _write(self) -> None:
        batch, self._waiting = self._waiting, []
        self._writing = True
        written = asyncio.wrap_future(self._database.submit(lambda connection: [_append(connection, each) for each in batch]))
        written.add_done_callback(lambda answers: self._written(batch, answers))

    def _written(self, batch: list[_Append], answers: asyncio.Future[list[list[RunEvent] | LeaseLostError]]) -> None:
        self._writing = False
        failed = answers.exception()
        for index, append in enumerate(batch):
            answer = failed or answers.result()[index]
            if isinstance(answer, list):
                self._hand_over(append.lease.thread_id, answer)
            if append.done.done():  # its caller was cancelled
                continue
            if isinstance(answer, list):
                append.done.set_result(answer)
            else:
                append.done.set_exception(answer)
        if self._waiting:
            self._write()


def _append(connection: sqlite3.Connection, append: _Append) -> list[RunEvent] | LeaseLostError:
    lease = append.lease
    try:
        # Before anything is written, so that a refusal leaves nothing behind in the common transaction.
        fence.require(connection, lease)
    except LeaseLostError as error:
        return error
    return insert_events(connection, lease.thread_id, lease.run_id, append.events, append.now)
