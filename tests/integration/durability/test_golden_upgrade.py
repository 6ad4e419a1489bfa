"""What every release has stored goes to newer tables: all of it, also if the process that upgrades is killed midway.

The newer tables are those of a product that is upgraded, so that there is always a step to take. Steps of our own tables are taken in the
same place, under the same locks.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from tests.fixtures.golden.opening import HERE, THREADS, open_golden
from tests.support.postgres import PostgresCluster
from tests.support.products import installed, write_product
from tests.support.waiting import wait_until

from stepwell.database.moving.move import Source, Sum, add_up, known_tables, move
from stepwell.database.moving.postgres_side import PostgresSource, PostgresTarget
from stepwell.database.moving.sqlite_side import SqliteSource
from stepwell.database.postgres.database import PostgresDatabase
from stepwell.database.sqlite.database import Database

RELEASES = sorted(HERE.glob("*.db"))
PATIENCE_S = 120.0
LOCK = 4711

NOTES = "CREATE TABLE notes (thread_id TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL);\n"
INDEX = "CREATE INDEX notes_by_text ON notes (text);\n"
FILL = "INSERT INTO notes (thread_id, text) SELECT 'added ' || thread_id, 'added' FROM notes;\n"
# In Postgres a step is sent as a whole. This one waits in its middle for a lock that the test holds.
WAIT = f"SELECT pg_advisory_xact_lock({LOCK});\n"

# Opens a file as `Database` does, and dies at a statement of the upgrade's transaction, before it is carried out.
DIES_AT = """
import os, signal, sqlite3, sys
from stepwell.database.sqlite.migrate import migrate

seen = []
def note(statement):
    if "COMMIT" not in seen and (seen or statement.startswith("BEGIN")):
        seen.append(statement)
        if len(seen) == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.set_trace_callback(note)
migrate(connection)
print(*seen, sep="\\n")
"""
OPENS = "import sys; from stepwell.database.postgres.database import PostgresDatabase; PostgresDatabase(sys.argv[1]).close()"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    return write_product(tmp_path, "notes", [NOTES], postgres=[NOTES.replace("TEXT", 'TEXT COLLATE "C"')])


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    second = INDEX + FILL
    return write_product(
        tmp_path, "notes", [NOTES, second], postgres=[NOTES.replace("TEXT", 'TEXT COLLATE "C"'), INDEX + WAIT + FILL]
    )


@pytest.fixture(params=RELEASES, ids=lambda path: path.stem)
def golden(request: pytest.FixtureRequest, tmp_path: Path, older: Path) -> Path:
    """What a release stored, in the form of today, beside what the older product has."""
    path = tmp_path / "golden.db"
    shutil.copy(request.param, path)
    with installed(older):
        database = Database(path)
        database.write_now(lambda connection: connection.execute("INSERT INTO notes VALUES ('one', 'remember')"))
        database.close()
    return path


@pytest.fixture
def golden_postgres(golden: Path, older: Path, postgres_cluster: PostgresCluster) -> Iterator[str]:
    """The same, moved."""
    name = f"golden-{golden.parent.name}"
    url = postgres_cluster.create(name)
    with installed(older), SqliteSource(golden) as source, PostgresTarget(url, "tests") as target:
        move(source, target, lambda *_: None)
    yield url
    postgres_cluster.drop(name)


def contents(source: Source) -> tuple[int, dict[str, Sum]]:
    """The form of the product, and a sum of every row of every table."""
    return source.forms.products["notes"], {table.name: add_up(source.rows(table)) for table in known_tables()}


def of_file(path: Path, product: Path) -> tuple[int, dict[str, Sum]]:
    with installed(product), SqliteSource(path) as source:
        return contents(source)


def of_postgres(url: str, product: Path) -> tuple[int, dict[str, Sum]]:
    with installed(product), PostgresSource(url, "tests") as source:
        return contents(source)


def python(code: str, *arguments: str, product: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(product)}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stdout=subprocess.PIPE, text=True)


def without_notes(found: dict[str, Sum]) -> dict[str, Sum]:
    return {table: total for table, total in found.items() if table != "notes"}


async def test_a_file_is_upgraded_wherever_an_earlier_attempt_was_killed(
    golden: Path, older: Path, newer: Path, tmp_path: Path
) -> None:
    before = of_file(golden, older)
    assert before[1]["notes"].rows == 1
    for died_at in count(1):
        path = tmp_path / f"killed-at-{died_at}.db"
        shutil.copy(golden, path)
        attempt = python(DIES_AT, str(path), str(died_at), product=newer)
        said, _ = attempt.communicate(timeout=PATIENCE_S)
        if attempt.returncode == 0:
            break
        assert attempt.returncode == -signal.SIGKILL
        assert of_file(path, older) == before, f"killed at statement {died_at}"
        with installed(newer):
            Database(path).close()
        assert of_file(path, newer)[0] == 2, f"killed at statement {died_at}"
    assert "COMMIT" in said
    assert died_at > len(["BEGIN", "INDEX", "FILL", "NOTE", "COMMIT"])
    form, after = of_file(path, newer)
    assert (form, after["notes"].rows, without_notes(after)) == (2, 2, without_notes(before[1]))
    async with open_golden(path) as opened:
        assert (await opened.persistence.records.get_thread(None, THREADS["plain"])).status == "idle"


def test_postgres_is_upgraded_after_an_earlier_attempt_was_killed(golden_postgres: str, older: Path, newer: Path) -> None:
    before = of_postgres(golden_postgres, older)
    with psycopg.connect(golden_postgres, autocommit=True) as connection:

        def number(rows: str) -> int:
            row = connection.execute(f"SELECT COUNT(*) FROM {rows}".encode()).fetchone()
            return row[0] if row else 0

        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
        attempt = python(OPENS, golden_postgres, product=newer)
        try:
            waiting = f"pg_locks WHERE locktype = 'advisory' AND objid = {LOCK} AND NOT granted"
            wait_until(lambda: number(waiting) == 1, "the upgrade waits in its middle")
        finally:
            attempt.kill()
            attempt.communicate()
        connection.execute("SELECT pg_advisory_unlock(%s)", (LOCK,))
        others = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        wait_until(lambda: number(others) == 0, "Postgres notices that the upgrade was killed")
    assert of_postgres(golden_postgres, older) == before
    with installed(newer):
        PostgresDatabase(golden_postgres).close()
    form, after = of_postgres(golden_postgres, newer)
    assert (form, after["notes"].rows, without_notes(after)) == (2, 2, without_notes(before[1]))
