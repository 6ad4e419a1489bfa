"""Model usage of runs, summed up. Rows are written when a run ends, and when an attempt at it ends. The totals of an erased thread stay,
without the thread's id. If the process is killed, what the current attempt has used is unknown.

A total is for one key and one model. Its cost adds up the known prices, and is `None` if none is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from stepwell.database.records.base import RecordsPart
from stepwell.database.records.searching import Clause, all_of, personal
from stepwell.database.records.types import UsageGroup, UsageRow
from stepwell.database.rows import to_time
from stepwell.database.types import Lease, ModelUsage
from stepwell.sql import Connection, Row

_KEYS: Mapping[UsageGroup, str] = {
    "run": "run_id",
    "thread": "COALESCE(thread_id, '')",  # '' collects what is left of erased threads
    "owner": "owner",
    "model": "model",
}


class UsageRecords(RecordsPart):
    """The part of the repository that is about usage."""

    async def usage(
        self, owner: str | None, group_by: UsageGroup, *, thread_id: str | None = None, since: datetime | None = None
    ) -> list[UsageRow]:
        """`since`: only runs that ended at that time or later."""
        chosen = [personal(owner)]
        if since is not None:
            chosen.append(Clause("finished_at >= ?", (to_time(since),)))
        if thread_id is not None:
            chosen.append(Clause("thread_id = ?", (thread_id,)))
        where, day = all_of(*chosen), self._database.dialect.day("finished_at")
        sql = (
            f"SELECT {_KEYS.get(group_by, day)} AS key, model, COUNT(DISTINCT run_id) AS runs, SUM(calls) AS calls,"  # noqa: S608 - names of ours
            " SUM(input_tokens) AS input_tokens, SUM(output_tokens) AS output_tokens, SUM(cost_usd) AS cost_usd,"
            " COUNT(DISTINCT run_id) FILTER (WHERE cost_usd IS NULL) AS unpriced"
            f" FROM usage WHERE {where.sql} GROUP BY key, model ORDER BY key, model"
        )
        return await self._database.read(lambda connection: [_sum(row) for row in connection.execute(sql, where.bound)])


def keep_usage(
    connection: Connection, lease: Lease, usage: Sequence[ModelUsage], now: float, counts_for: str | None = None
) -> None:
    """Add an attempt's usage to that of earlier attempts of its run. If one price is unknown, the total is unknown. `counts_for` is the
    thread that it counts for, if that is not the run's own."""
    for used in usage:
        connection.execute(
            "INSERT INTO usage (run_id, thread_id, owner, model, calls, input_tokens, output_tokens, cost_usd, finished_at)"
            " VALUES (?, ?, COALESCE((SELECT owner FROM runs WHERE run_id = ?), ?), ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (run_id, model) DO UPDATE SET calls = usage.calls + excluded.calls,"
            " input_tokens = usage.input_tokens + excluded.input_tokens, output_tokens = usage.output_tokens + excluded.output_tokens,"
            " cost_usd = usage.cost_usd + excluded.cost_usd, thread_id = excluded.thread_id, finished_at = excluded.finished_at",
            (
                # On a thread that several users share, each run counts for the user who started it.
                *(lease.run_id, counts_for or lease.thread_id, lease.run_id, lease.owner),
                *(used.model, used.calls, used.input_tokens, used.output_tokens, used.cost_usd),
                now,
            ),
        )


def _sum(row: Row) -> UsageRow:
    used = ModelUsage(row["model"], row["calls"], row["input_tokens"], row["output_tokens"], row["cost_usd"])
    return UsageRow(row["key"], row["runs"], used, row["unpriced"])
