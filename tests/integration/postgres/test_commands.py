"""`stepwell db` and `stepwell wallet` on Postgres: each does what it does on a file, or says what to use instead."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from tests.integration.operations.conftest import Place
from tests.support.driven_runs import a_run, driving, new_id

from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue.types import Admission

PAYMENTS = {"STEPWELL_MINTS": "https://mint.test", "STEPWELL_SATS_PER_CALL": "5", "STEPWELL_WALLET_SEED": "0f" * 32}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "data").mkdir()
    return Place(tmp_path)


@pytest.fixture
def in_use(postgres_url: str) -> Iterator[PostgresDatabase]:
    """Somebody has the database open, as a server has it."""
    with closing(PostgresDatabase(postgres_url)) as database:
        yield database


async def make_threads(url: str, count: int) -> None:
    async with PostgresPersistence(url) as persistence, driving(persistence, worker="one") as worker:
        for _ in range(count):
            await persistence.queue.admit(Admission(a_run(new_id()), create_thread=True))
            await worker.end(await worker.next())


async def test_status_says_what_is_there_and_prune_deletes_what_is_old(place: Place, postgres_url: str) -> None:
    await make_threads(postgres_url, 3)
    said = place.run("db", "status", "--database-url", postgres_url)
    assert said.returncode == 0, said.stderr
    assert "in use       no" in said.stdout
    assert "threads      3" in said.stdout
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("UPDATE threads SET updated_at = 1 WHERE rowid = (SELECT MIN(rowid) FROM threads)")
    tried = place.run("db", "prune", "--older-than", "30d", "--dry-run", "--database-url", postgres_url)
    assert "Would delete: 1 threads" in tried.stdout, tried.stderr
    done = place.run("db", "prune", "--older-than", "30d", "--compact", "--database-url", postgres_url)
    assert "Deleted: 1 threads" in done.stdout, done.stderr
    assert "VACUUM FULL" in done.stdout
    assert "threads      2" in place.run("db", "status", "--database-url", postgres_url).stdout


def test_status_says_who_uses_it(place: Place, postgres_url: str, in_use: PostgresDatabase) -> None:
    assert "in use       by 1 connection" in place.run("db", "status", "--database-url", postgres_url).stdout


def test_copies_are_made_with_the_tools_of_postgres(place: Place, postgres_url: str) -> None:
    for command, tool in ((["backup", "copy.db"], "pg_dump --format=custom"), (["restore", "copy.db"], "pg_restore")):
        refused = place.run("db", *command, STEPWELL_DATABASE_URL=postgres_url)
        assert refused.returncode == 2
        assert tool in refused.stderr
    assert os.listdir(place.folder / "data") == []


def test_the_help_says_what_is_otherwise_on_postgres(place: Place) -> None:
    said = " ".join(place.run("db", "--help", COLUMNS="200").stdout.split())
    for part in ("for Postgres use pg_dump", "for Postgres use pg_restore", "from SQLite to Postgres"):
        assert part in said


@pytest.mark.parametrize("command", [["recover"], ["sweep"]])
def test_money_is_moved_where_no_server_is(place: Place, postgres_url: str, command: list[str]) -> None:
    done = place.run("wallet", *command, STEPWELL_DATABASE_URL=postgres_url, **PAYMENTS)
    assert done.returncode == 0, done.stderr


def test_money_is_not_moved_beside_a_server(place: Place, postgres_url: str, in_use: PostgresDatabase) -> None:
    for command in (["sweep"], ["recover"], ["payout"], ["settle", "x"]):
        refused = place.run("wallet", *command, STEPWELL_DATABASE_URL=postgres_url, **PAYMENTS)
        assert refused.returncode == 2
        assert "only one process may move money. Ask the server with --url" in refused.stderr
    read = place.run("wallet", "owed", STEPWELL_DATABASE_URL=postgres_url, **PAYMENTS)
    assert read.returncode == 0, read.stderr
