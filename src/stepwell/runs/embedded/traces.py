"""What an attempt of a run has left in its thread, for the attempt that comes after a crash."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from stepwell.runs.embedded.database import Database

_CHECKPOINTED = "SELECT 1 FROM checkpoints WHERE thread_id = ? AND run_id = ? AND checkpoint_ns = '' LIMIT 1"
# LangGraph puts an answer that is not yet any task's under the task of all zeros.
_RESUMED = """
SELECT DISTINCT task_id FROM writes
WHERE thread_id = ? AND run_id = ? AND channel = '__resume__' AND task_id <> '00000000-0000-0000-0000-000000000000'
"""


@dataclass(frozen=True)
class EmbeddedTraces:
    """A `RunTraces`."""

    checkpointed: bool
    resumed_tasks: frozenset[str]


async def run_wrote(database: Database, thread_id: str, run_id: str) -> EmbeddedTraces:
    """Look for a run's checkpoints and taken answers."""

    def work(connection: sqlite3.Connection) -> EmbeddedTraces:
        run = (thread_id, run_id)
        return EmbeddedTraces(
            checkpointed=connection.execute(_CHECKPOINTED, run).fetchone() is not None,
            resumed_tasks=frozenset(task_id for (task_id,) in connection.execute(_RESUMED, run)),
        )

    return await database.read(work)
