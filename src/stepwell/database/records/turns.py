"""A thread's turns, and their order. A turn is a run with an input, together with the runs that continued it after an answer.

```
turn 1 ── turn 2 ── turn 3        a turn begins at a checkpoint; the run that wrote its parent shows which turn it follows
             └───── turn 3'       the same message, edited: a turn with the same `previous`
```

The first turn has no predecessor to fork from, so another version of it starts from its own first checkpoint, where its input was received
and nothing had been done with it yet.
"""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.database.records.base import RecordsPart
from stepwell.database.records.threads import owned_thread
from stepwell.database.records.types import Turn, Turns
from stepwell.database.rows import run_from_row
from stepwell.database.types import Run
from stepwell.sql import Connection, Row

_PAGE = "SELECT * FROM runs WHERE thread_id = ? AND number < ? AND resumes IS NULL AND attempt > 0 ORDER BY number DESC LIMIT ?"
_RESUMING = "SELECT * FROM runs WHERE resumes = ? ORDER BY number"
_WRITTEN = (
    "SELECT MIN(checkpoint_id) AS first, MAX(checkpoint_id) AS last FROM checkpoints"
    " WHERE thread_id = ? AND run_id = ? AND checkpoint_ns = ''"
)
_CHECKPOINT = (
    "SELECT run_id, parent_checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
)
_NEWEST = "SELECT MAX(checkpoint_id) AS newest FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
_FROM_THE_NEWEST = 2**62
_LONGEST_WAY = 100
"""The maximum number of checkpoints that no run wrote between two turns: each time a person edits the state, that adds one."""


@dataclass(frozen=True)
class _Place:
    """A turn's first checkpoint, the parent of the first one, and the turn's last checkpoint."""

    first: str | None = None
    parent: str | None = None
    last: str | None = None


class TurnRecords(RecordsPart):
    """The part of the repository that is about turns."""

    async def turns(self, owner: str | None, thread_id: str, *, before: int | None = None, limit: int = 50) -> Turns:
        """A page of the thread's turns, newest first; with the cursor `before`, only older ones."""

        def work(connection: Connection) -> Turns:
            owned_thread(connection, owner, thread_id)
            bound = (thread_id, _FROM_THE_NEWEST if before is None else before, limit + 1)
            rows = connection.execute(_PAGE, bound).fetchall()
            way = _Way(connection, thread_id)
            turns = [way.turn(run_from_row(row), row["number"]) for row in rows[:limit]]
            return Turns(turns, way.turn_at(way.newest()), more=len(rows) > limit)

        return await self._database.read(work)


class _Way:
    """Finds turns and the way from one to the next, in one thread and within one transaction."""

    def __init__(self, connection: Connection, thread_id: str) -> None:
        self._connection = connection
        self._thread_id = thread_id

    def turn(self, run: Run, number: int) -> Turn:
        runs = self._runs(run)
        place = self._place(runs)
        return Turn(
            turn_id=run.run_id,
            previous=self._previous(place),
            run_ids=[each.run_id for each in runs],
            status=runs[-1].status,
            created_at=run.created_at,
            checkpoint_id=place.first,
            last_checkpoint_id=place.last,
            fork_from=self._fork(place),
            input=run.request.input,
            cursor=number,
        )

    def newest(self) -> str | None:
        newest: str | None = self._connection.execute(_NEWEST, (self._thread_id,)).fetchone()["newest"]
        return newest

    def turn_at(self, checkpoint_id: str | None) -> str | None:
        """The turn a checkpoint belongs to, or the nearest one before it."""
        for _ in range(_LONGEST_WAY):
            row = self._checkpoint(checkpoint_id)
            if row is None:
                return None
            if turn := self._turn_of_run(row["run_id"]):
                return turn
            checkpoint_id = row["parent_checkpoint_id"]
        return None

    def _runs(self, first: Run) -> list[Run]:
        found, look = [first], [first.run_id]
        while look:
            resuming = [run_from_row(row) for row in self._connection.execute(_RESUMING, (look.pop(0),))]
            found += resuming
            look += [run.run_id for run in resuming]
        return sorted(found, key=lambda run: run.created_at)

    def _place(self, runs: list[Run]) -> _Place:
        written = [self._connection.execute(_WRITTEN, (self._thread_id, run.run_id)).fetchone() for run in runs]
        first = written[0]["first"]
        row = self._checkpoint(first)
        last = max((each["last"] for each in written if each["last"]), default=None)
        return _Place(first, row["parent_checkpoint_id"] if row else None, last)

    def _fork(self, place: _Place) -> str | None:
        if place.parent is None:
            return place.first
        origin = self._checkpoint(place.parent)
        return place.parent if origin is not None else None  # a pruned checkpoint can't be returned to

    def _previous(self, place: _Place) -> str | None:
        """The previous turn. Another version of the first turn starts from the first turn's first checkpoint, but also has no previous
        turn."""
        parent = self._checkpoint(place.parent)
        if parent is None or (parent["parent_checkpoint_id"] is None and self._is_first(place.parent, parent["run_id"])):
            return None
        return self.turn_at(place.parent)

    def _is_first(self, checkpoint_id: str | None, run_id: str) -> bool:
        written = self._connection.execute(_WRITTEN, (self._thread_id, run_id)).fetchone()
        return bool(written["first"] == checkpoint_id and written["last"] != checkpoint_id)

    def _turn_of_run(self, run_id: str) -> str | None:
        while True:
            row = self._connection.execute("SELECT thread_id, resumes FROM runs WHERE run_id = ?", (run_id,)).fetchone()
            if row is None or row["thread_id"] != self._thread_id:
                return None
            if row["resumes"] is None:
                return run_id
            run_id = row["resumes"]

    def _checkpoint(self, checkpoint_id: str | None) -> Row | None:
        if checkpoint_id is None:
            return None
        row: Row | None = self._connection.execute(_CHECKPOINT, (self._thread_id, checkpoint_id)).fetchone()
        return row
