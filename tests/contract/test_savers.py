"""Every saver passes the shared suite; so does LangGraph's own in memory, which shows that the suite asks for nothing special."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from tests.contract.suites.saver.conformance import FencedSaverConformance, SaverConformance

from stepwell.clock import SystemClock
from stepwell.database.checkpoints.saver import SqlSaver
from stepwell.database.checkpoints.serializer import strict_serializer
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease

# As the queue does when it claims a run: the fence goes up with every new holder.
_TAKE = """
INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at, fence, lease_holder, lease_run)
VALUES (:thread, 'ada', 'busy', '{}', '{}', 0, 0, 1, 'worker', :run)
ON CONFLICT (thread_id) DO UPDATE SET fence = threads.fence + 1, lease_run = :run RETURNING fence
"""


class TestEmbeddedSaver(FencedSaverConformance):
    @pytest.fixture(autouse=True)
    def database(self, tmp_path: Path) -> Iterator[None]:
        self.data = Database(tmp_path / "stepwell.db")
        yield
        self.data.close()

    def take(self, thread_id: str, run_id: str) -> Lease:
        names = {"thread": thread_id, "run": run_id}
        [fence] = self.data.write_now(lambda connection: connection.execute(_TAKE, names).fetchone())
        return Lease(thread_id, run_id, fence, "ada", "worker")

    def make_saver(self, thread_id: str, run_id: str) -> SqlSaver:
        return SqlSaver(self.data, self.take(thread_id, run_id), clock=SystemClock())

    def make_reader(self) -> SqlSaver:
        return SqlSaver(self.data, clock=SystemClock())

    def outdate(self, thread_id: str) -> None:
        # The same run, driven again: only the fence tells the two attempts apart.
        self.take(thread_id, "r")


class TestPostgresSaver(TestEmbeddedSaver):
    @pytest.fixture(autouse=True)
    def database(self, postgres_url: str) -> Iterator[None]:
        self.data = PostgresDatabase(postgres_url)
        yield
        self.data.close()


class TestInMemorySaver(SaverConformance):
    # It does not have these methods.
    test_deleting_a_run_takes_back_what_it_wrote = None
    test_a_copy_is_whole_and_lives_on_by_itself = None
    test_pruning_keeps_incremental_values = None
    test_a_compacted_thread_that_goes_on_is_rebuilt_as_langgraph_does = None

    def setup_method(self) -> None:
        self.saver = InMemorySaver(serde=strict_serializer())

    def make_saver(self, thread_id: str, run_id: str) -> BaseCheckpointSaver[Any]:
        return self.saver
