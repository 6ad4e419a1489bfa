"""How rows are found in a database that has no statistics yet, as after its first start."""

from __future__ import annotations

import psycopg
from tests.support.driven_runs import OWNER, a_run, new_id
from tests.support.waiting import wait_until

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue.types import Admission

_SCANS = "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname IN ('threads', 'runs')"
_LOOKUPS = 20


async def test_a_run_and_its_thread_are_found_by_their_ids_and_not_among_all_of_their_owner(postgres_url: str):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SELECT pg_stat_reset()")
    async with PostgresPersistence(postgres_url) as persistence:
        runs = [a_run(new_id()) for _ in range(_LOOKUPS)]
        for run in runs:
            await persistence.queue.admit(Admission(run, create_thread=True))
        for run in runs:
            await persistence.records.get_run(OWNER, run.thread_id, run.run_id)
            await persistence.records.get_thread(OWNER, run.thread_id, with_values=False)

    def counted() -> dict[str, int] | None:
        with psycopg.connect(postgres_url) as connection:
            scans = dict(connection.execute(_SCANS).fetchall())
        return scans if scans["runs_run_id_key"] >= _LOOKUPS and scans["threads_pkey"] >= _LOOKUPS else None

    scans = wait_until(counted, "the lookups are counted by the indexes of ids")
    assert scans["runs_of_owner"] == scans["threads_by_owner"] == 0
