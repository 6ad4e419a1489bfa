"""Chains of runs: a run, and the runs that answered its questions one after the other. Other protocols call a chain a task."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from stepwell.database.records.base import RecordsPart
from stepwell.database.records.searching import Clause, all_of, owned_by
from stepwell.database.rows import run_from_row
from stepwell.database.types import Run, RunStatus
from stepwell.sql import Connection, Dialect

_KEPT = "EXISTS (SELECT 1 FROM threads AS kept WHERE kept.thread_id = runs.thread_id AND kept.temporary = 0)"
_BEGINS = (
    "NOT EXISTS (SELECT 1 FROM runs AS asking WHERE asking.run_id = runs.resumes AND asking.assistant_id = runs.assistant_id)"
)
_NEWEST = """
WITH RECURSIVE chain (first_run, run_id, number) AS (
  SELECT run_id, run_id, number FROM runs WHERE {begins}
  UNION ALL
  SELECT chain.first_run, later.run_id, later.number FROM chain
  JOIN runs AS later ON later.resumes = chain.run_id AND later.resumes IS NOT NULL AND later.assistant_id = ?
), newest (first_run, number) AS (SELECT first_run, MAX(number) FROM chain GROUP BY first_run)
SELECT {columns} FROM newest JOIN runs ON runs.number = newest.number WHERE {where}
"""


@dataclass(frozen=True)
class ChainFilter:
    assistant_id: str
    thread_id: str | None = None
    statuses: Collection[RunStatus] | None = None
    """The status of the newest run is one of these."""
    since: float | None = None
    """The newest run was changed at this time or later."""


class ChainRecords(RecordsPart):
    """The part of the repository that is about chains."""

    async def list_chains(
        self, owner: str | None, wanted: ChainFilter, limit: int | None, offset: int = 0
    ) -> tuple[list[tuple[str, Run]], int]:
        """The first run's id and the newest run of each chain, the last changed first; and how many chains there are. Only on threads that
        are listed."""
        begins, where = _begins(self._database.dialect, owner, wanted), _ends(wanted)
        bound = (*begins.bound, wanted.assistant_id, *where.bound)
        count = _NEWEST.format(begins=begins.sql, columns="COUNT(*)", where=where.sql)
        page = _NEWEST.format(begins=begins.sql, columns="newest.first_run, runs.*", where=where.sql)
        page += " ORDER BY runs.updated_at DESC, runs.number DESC LIMIT ? OFFSET ?"

        def work(connection: Connection) -> tuple[list[tuple[str, Run]], int]:
            total = int(connection.execute(count, bound).fetchone()[0])
            rows = connection.execute(page, (*bound, total if limit is None else limit, offset))
            return [(str(row["first_run"]), run_from_row(row)) for row in rows], total

        return await self._database.read(work)


def _begins(dialect: Dialect, owner: str | None, wanted: ChainFilter) -> Clause:
    on_thread = () if wanted.thread_id is None else (Clause("thread_id = ?", (wanted.thread_id,)),)
    of_assistant = Clause("assistant_id = ?", (wanted.assistant_id,))
    return all_of(owned_by(dialect, owner, "runs"), of_assistant, *on_thread, Clause(_KEPT), Clause(_BEGINS))


def _ends(wanted: ChainFilter) -> Clause:
    clauses = []
    if wanted.statuses is not None:
        clauses.append(Clause(f"runs.status IN ({', '.join('?' * len(wanted.statuses)) or 'NULL'})", tuple(wanted.statuses)))
    if wanted.since is not None:
        clauses.append(Clause("runs.updated_at >= ?", (wanted.since,)))
    return all_of(*clauses)
