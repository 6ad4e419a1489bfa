"""Steps of threads in the database: a run adds its steps, the thread's owner reads them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from stepwell.database.fence import fenced_part
from stepwell.database.records.base import RecordsPart
from stepwell.database.records.searching import Clause, all_of
from stepwell.database.records.threads import owned_thread
from stepwell.database.records.types import ThreadUsage
from stepwell.database.rows import dumps, from_time, to_time
from stepwell.database.types import KeptStep, Lease, Step
from stepwell.sql import Change, Connection, Row, insert_rows, insertions

_COLUMNS = (
    "steps (thread_id, number, run_id, kind, name, node, agent, namespace, call_id, started_at, seconds, status, error,"
    " input_tokens, output_tokens, cost_usd)"
)
_NEWEST = """
SELECT thread_id, MAX(number) AS newest FROM steps WHERE thread_id IN (SELECT value FROM json_each(?)) GROUP BY thread_id
"""
# The usage of ended runs, and of the current run so far, according to its steps.
_USED = """
SELECT COALESCE(SUM(calls), 0) AS calls, COALESCE(SUM(input_tokens), 0) AS input, COALESCE(SUM(output_tokens), 0) AS output,
  SUM(cost_usd) AS cost, COUNT(DISTINCT CASE WHEN cost_usd IS NULL THEN run_id END) AS unpriced
FROM (
  SELECT run_id, calls, input_tokens, output_tokens, cost_usd FROM usage WHERE thread_id = :thread
  UNION ALL
  SELECT s.run_id, 1, s.input_tokens, s.output_tokens, s.cost_usd FROM runs AS r CROSS JOIN steps AS s
  WHERE r.thread_id = :thread AND r.status IN ('pending', 'running') AND s.run_id = r.run_id AND s.kind = 'model'
    AND NOT EXISTS (SELECT 1 FROM usage AS u WHERE u.run_id = r.run_id)
) AS used
"""
_LAST_CALL = (
    "SELECT name, input_tokens, output_tokens FROM steps WHERE thread_id = ? AND kind = 'model' AND agent IS NULL"
    " AND input_tokens IS NOT NULL ORDER BY number DESC LIMIT 1"
)


class StepRecords(RecordsPart):
    """The part of the repository that is about steps."""

    async def add_steps(self, lease: Lease, steps: Sequence[Step]) -> None:
        """Store steps that have ended, with their thread. Refused with `LeaseLostError` like any write."""
        await self._database.write(fenced_part(lease, (lease, steps), _keep_all))

    async def steps(
        self, owner: str | None, thread_id: str, *, run_id: str | None = None, after: int = 0, limit: int = 100
    ) -> list[KeptStep]:
        """The steps after number `after`, of the thread or of one run, in the order they ended."""
        chosen = [Clause("thread_id = ?", (thread_id,)), Clause("number > ?", (after,))]
        if run_id is not None:
            chosen.append(Clause("run_id = ?", (run_id,)))
        where = all_of(*chosen)
        sql = f"SELECT * FROM steps WHERE {where.sql} ORDER BY number LIMIT ?"  # noqa: S608 - clauses of ours

        def work(connection: Connection) -> list[KeptStep]:
            owned_thread(connection, owner, thread_id)
            return [_kept(row) for row in connection.execute(sql, (*where.bound, limit))]

        return await self._database.read(work)

    async def thread_usage(self, owner: str | None, thread_id: str) -> ThreadUsage:
        def work(connection: Connection) -> ThreadUsage:
            owned_thread(connection, owner, thread_id)
            used = connection.execute(_USED, {"thread": thread_id}).fetchone()
            last = connection.execute(_LAST_CALL, (thread_id,)).fetchone()
            return ThreadUsage(
                calls=used["calls"],
                input_tokens=used["input"],
                output_tokens=used["output"],
                cost_usd=used["cost"],
                unpriced_runs=used["unpriced"],
                context_tokens=last and last["input_tokens"] + (last["output_tokens"] or 0),
                context_model=last and last["name"],
            )

        return await self._database.read(work)


def step_insertions(lease: Lease, steps: Sequence[Step], newest: int) -> Iterator[Change]:
    """The statements that add steps after the one with the number `newest`. The caller checks that the lease still holds."""
    rows = [(lease.thread_id, number, lease.run_id, *_columns(step)) for number, step in enumerate(steps, newest + 1)]
    return insertions(_COLUMNS, rows)


def _keep_all(connection: Connection, parts: Sequence[tuple[Lease, Sequence[Step]]]) -> None:
    threads = dumps(sorted({lease.thread_id for lease, _ in parts}))
    newest = Counter({row["thread_id"]: row["newest"] for row in connection.execute(_NEWEST, (threads,))})
    rows = []
    for lease, steps in parts:
        for step in steps:
            newest[lease.thread_id] += 1
            rows.append((lease.thread_id, newest[lease.thread_id], lease.run_id, *_columns(step)))
    insert_rows(connection, _COLUMNS, rows)


def _columns(step: Step) -> tuple[object, ...]:
    return (
        *(step.kind, step.name, step.node, step.agent, step.namespace, step.call_id),
        *(to_time(step.started_at), step.seconds, step.status, step.error),
        *(step.input_tokens, step.output_tokens, step.cost_usd),
    )


def _kept(row: Row) -> KeptStep:
    step = Step(
        kind=row["kind"],
        name=row["name"],
        started_at=from_time(row["started_at"]),
        seconds=row["seconds"],
        status=row["status"],
        node=row["node"],
        agent=row["agent"],
        namespace=row["namespace"],
        call_id=row["call_id"],
        error=row["error"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cost_usd=row["cost_usd"],
    )
    return KeptStep(row["number"], row["run_id"], step)
