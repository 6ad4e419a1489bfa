"""`stepwell db move`, with real commands and servers: SQLite to Postgres and back, and what becomes of a move that is broken off."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.integration.operations.conftest import Place, Served
from tests.integration.served.warm import start_warm
from tests.support.postgres import PostgresCluster

from stepwell.database.moving.move import known_tables
from stepwell.database.sqlite.database import Database

PATIENCE_S = 60.0
LARGE = 20_000
"""Rows of a table that takes long enough to be interrupted."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "data").mkdir()
    return Place(tmp_path)


@pytest.fixture
def empty(postgres_cluster: PostgresCluster, tmp_path: Path) -> Iterator[str]:
    """A database without any tables."""
    name = f"empty-{tmp_path.name}"
    yield postgres_cluster.create(name)
    postgres_cluster.drop(name)


@pytest.fixture
def full(place: Place) -> Place:
    """A file with something in every table, such as is hard to keep."""
    Database(place.database).close()
    with closing(sqlite3.connect(place.database)) as connection:
        fill_all_tables(connection)
        connection.commit()
    return place


def fill_all_tables(connection: sqlite3.Connection) -> None:
    """Rows made up after the schema: none of what is a table later can be forgotten here."""
    numbers = count(1)
    odd = {
        "TEXT": ("", "ümläut 🜁 \\N \\. \t\r\n'\"\\", "\x01\x1f\x7f"),
        "INTEGER": (0, 2**63 - 1, 2**53 + 1),
        "REAL": (0.1 + 0.2, -0.0, 1.7976931348623157e308),
        "BLOB": (b"", bytes(range(256)), b"\x00" * 1000),
    }
    for table in known_tables():
        for which in range(3):
            number = next(numbers)
            values: list[Any] = []
            for column, kind in zip(table.columns, table.kinds, strict=True):
                if table.name.startswith("payment_") and kind == "INTEGER":
                    values.append(number if column in (*table.key, "credits", "amount") else 0)
                elif column in table.key or kind in ("TEXT", "ANY"):
                    values.append(f"{odd['TEXT'][which]}{number}" if kind in ("TEXT", "ANY") else number)
                else:
                    values.append(odd[kind][which])
            listed, places = ", ".join(f'"{column}"' for column in table.columns), ", ".join("?" * len(values))
            if table.counter == "rowid":
                listed = listed.replace('"rowid"', "rowid")
                values[0] = number
            connection.execute(f"INSERT INTO {table.name} ({listed}) VALUES ({places})", values)
    connection.execute("UPDATE workers SET alive_until = 1.5")
    connection.execute("UPDATE sqlite_sequence SET seq = seq + 1000")  # as after runs that were deleted


def contents(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(file)) as connection:
        found = {}
        for name in (*(table.name for table in known_tables()), "sqlite_sequence"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info('{name}')")]
            rowid = "rowid, " if name in ("threads", "assistants") else ""
            typed = ", ".join(f'typeof("{column}"), "{column}"' for column in columns)
            found[name] = sorted(connection.execute(f"SELECT {rowid}{typed} FROM {name}"), key=repr)
        return found


def schema(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}


def move(place: Place, source: str | Path, target: str | Path, **variables: str) -> None:
    done = place.run("db", "move", "--from", str(source), "--to", str(target), **variables)
    assert done.returncode == 0, done.stderr
    assert "counts and checksums are the same on both sides" in done.stdout


def tables_of(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def test_what_moves_is_of_one_type_on_both_sides(shared_postgres: str) -> None:
    types = {"text": {"TEXT", "ANY"}, "bigint": {"INTEGER"}, "double precision": {"REAL"}, "bytea": {"BLOB"}}
    with psycopg.connect(shared_postgres) as connection:
        rows = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        )
        there = {
            (table, column): types[kind] for table, column, kind in rows if table not in ("stepwell_form", "product_forms")
        }
    ours = {
        (table.name, column): kind for table in known_tables() for column, kind in zip(table.columns, table.kinds, strict=True)
    }
    assert ours.keys() == there.keys()
    assert [column for column, kind in ours.items() if kind not in there[column]] == []


def test_every_table_and_every_value_goes_there_and_back(full: Place, empty: str) -> None:
    back = full.folder / "back.db"
    before = full.database.read_bytes()
    move(full, full.database, empty)
    move(full, empty, back)
    assert contents(back) == contents(full.database)
    assert schema(back) == schema(full.database), "triggers and indexes too"
    assert full.database.read_bytes() == before, "the source is not touched"
    assert not list(full.folder.glob("*.moving"))
    assert back.stat().st_mode & 0o777 == 0o600
    with psycopg.connect(empty) as connection:
        assert connection.execute("SELECT COUNT(*) FROM pg_trigger WHERE NOT tgisinternal AND tgenabled <> 'O'").fetchone() == (
            0,
        )
        [number] = connection.execute("SELECT nextval(pg_get_serial_sequence('runs', 'number'))").fetchone() or ()
    assert number == 1 + dict(sqlite_sequence(back))["runs"]


def sqlite_sequence(file: Path) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall()


@contextmanager
def serving(place: Place, **variables: str) -> Iterator[Served]:
    (place.folder / "out").unlink(missing_ok=True)
    with place.serving(**variables) as served:
        yield served


def until_ended(served: Served, thread_id: str, run_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        run = served.http.get(f"/threads/{thread_id}/runs/{run_id}").json()
        if run["status"] not in ("pending", "running"):
            return run
        time.sleep(0.05)
    raise AssertionError(f"the run has not ended: {run}")


def test_what_waits_goes_on_where_it_was_moved_to(place: Place, empty: str) -> None:
    """An interrupt is answered and a waiting run is run on Postgres; then everything goes back, and on."""
    with serving(place) as served:
        key = place.run("keys", "create", "--user", "ada").stdout.strip()
        asking, waiting, talked = served.thread(), served.thread(), served.thread()
        served.wait("asks", asking, input={"words": ["first"]})
        served.wait("words", talked, input={"words": ["one"]})
        served.http.put(
            "/store/items", json={"namespace": ["notes"], "key": "a", "value": {"text": "remember"}}
        ).raise_for_status()
        run = served.http.post(
            f"/threads/{waiting}/runs", json={"assistant_id": "words", "input": {"words": ["late"]}, "after_seconds": 3}
        ).json()
        history = served.http.post(f"/threads/{talked}/history", json={}).json()
        refused = place.run("db", "move", "--to", empty)
        assert refused.returncode == 2
        assert f"A server uses the database '{place.database}'. Stop it" in refused.stderr
        assert tables_of(empty) == set()
    move(place, place.database, empty)
    with serving(place, STEPWELL_DATABASE_URL=empty) as served:
        assert served.http.get(f"/threads/{asking}").json()["status"] == "interrupted"
        assert served.http.post(f"/threads/{talked}/history", json={}).json() == history
        assert served.wait("asks", asking, command={"resume": "second"})["words"] == ["first", "hello", "second"]
        assert until_ended(served, waiting, run["run_id"])["status"] == "success"
        assert served.http.get("/store/items", params={"namespace": "notes", "key": "a"}).json()["value"] == {
            "text": "remember"
        }
        refused = place.run("db", "move", "--from", empty, "--to", "back.db")
        assert refused.returncode == 2
        assert "is in use" in refused.stderr
    back = place.folder / "back.db"
    move(place, empty, back)
    with serving(place, STEPWELL_DATABASE_URL=f"sqlite:///{back}") as served:
        assert served.wait("words", asking, input={"words": []})["words"] == ["first", "hello", "second", "hello", "world"]
        assert served.http.get(f"/threads/{waiting}/state").json()["values"]["words"] == ["late", "hello", "world"]
        assert served.wait("words", talked, input={"words": []})["words"] == ["one", *["hello", "world"] * 2]
    assert key.split("_")[1] in place.run("keys", "list", "--database-url", f"sqlite:///{back}").stdout


def add_large_table(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executemany(
            "INSERT INTO trail (thread_id, seq, key, line) VALUES ('large', ?, ?, ?)",
            ((number, f"key {number}", b"x" * 500) for number in range(1, LARGE)),
        )
        connection.commit()


@contextmanager
def moving(place: Place, source: str, target: str) -> Iterator[Any]:
    """A move that is copying rows at this moment."""
    said = place.folder / "said"
    said.touch()
    process = start_warm(
        ["db", "move", "--from", source, "--to", target], place.folder, place.environment(), out=said, err=said
    )
    try:
        deadline = time.monotonic() + PATIENCE_S
        while "copying" not in said.read_text():
            assert process.poll() is None, said.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.002)
        yield process, said
    finally:
        process.kill()


def test_a_move_to_postgres_that_is_killed_leaves_nothing_and_is_begun_anew(full: Place, empty: str) -> None:
    add_large_table(full.database)
    before = contents(full.database)
    with moving(full, str(full.database), empty) as (process, said):
        process.send_signal(9)
        assert process.wait(PATIENCE_S) == -9
        assert "Moved" not in said.read_text()
    assert tables_of(empty) == set()
    assert contents(full.database) == before
    deadline = time.monotonic() + PATIENCE_S
    while (done := full.run("db", "move", "--to", empty)).returncode and time.monotonic() < deadline:
        assert "is in use" in done.stderr, "Postgres may not have noticed yet that the first one is gone"
    assert done.returncode == 0, done.stderr


def test_a_move_to_a_file_that_is_killed_leaves_no_database_and_is_begun_anew(full: Place, empty: str) -> None:
    add_large_table(full.database)
    move(full, full.database, empty)
    back = full.folder / "back.db"
    with moving(full, empty, str(back)) as (process, _):
        process.send_signal(9)
        assert process.wait(PATIENCE_S) == -9
    assert not back.exists()
    deadline = time.monotonic() + PATIENCE_S
    while (done := full.run("db", "move", "--from", empty, "--to", str(back))).returncode and time.monotonic() < deadline:
        assert "is in use" in done.stderr
    assert done.returncode == 0, done.stderr
    assert contents(back) == contents(full.database)
    assert not list(full.folder.glob("*.moving*"))


def test_a_connection_that_is_lost_is_said_and_changes_nothing(full: Place, empty: str) -> None:
    add_large_table(full.database)
    with moving(full, str(full.database), empty) as (process, said):
        with psycopg.connect(empty, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'stepwell'")
        assert process.wait(PATIENCE_S) == 2
    assert "Nothing was moved, and neither side has changed" in said.read_text()
    assert "Traceback" not in said.read_text()
    assert tables_of(empty) == set()


def test_text_with_the_character_zero_is_named_before_anything_is_written(full: Place, empty: str) -> None:
    with closing(sqlite3.connect(full.database)) as connection:
        connection.execute("UPDATE store_items SET value = ? WHERE key = (SELECT MIN(key) FROM store_items)", ("a\0b",))
        connection.commit()
    refused = full.run("db", "move", "--to", empty)
    assert refused.returncode == 2
    assert "store_items (owner=" in refused.stderr
    assert "value contains a NUL character" in refused.stderr
    assert tables_of(empty) == set()


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("PRAGMA user_version = 16", "before the first release (schema version 16)"),
        ("UPDATE product_forms SET number = 0 WHERE product = 'research'", "Upgrade it first"),
        ("PRAGMA user_version = 99", "knows versions up to"),
        ("UPDATE threads SET owner = CAST(x'ff' AS TEXT)", "cannot be read"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_refused(full: Place, empty: str, statement: str, sentence: str) -> None:
    with closing(sqlite3.connect(full.database, isolation_level=None)) as connection:
        connection.execute(statement)
    refused = full.run("db", "move", "--to", empty)
    assert refused.returncode == 2
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
    assert tables_of(empty) == set()


def test_a_database_that_is_not_there_is_named_with_its_options(full: Place, empty: str) -> None:
    refused = full.run("db", "move", "--to", empty.replace("/empty-", "/none-"))
    assert refused.returncode == 2
    assert "there is no such database. Make one with `createdb`, or name another. Check --from and --to." in refused.stderr


def test_nothing_is_moved_into_what_is_there(full: Place, empty: str) -> None:
    move(full, full.database, empty)
    again = full.run("db", "move", "--to", empty)
    assert again.returncode == 2
    assert "is not empty: there are rows in 'api_keys'" in again.stderr
    there = full.folder / "there.db"
    there.write_bytes(b"")
    for target in (there, full.folder / "missing" / "back.db"):
        refused = full.run("db", "move", "--from", empty, "--to", str(target))
        assert refused.returncode == 2
        assert "There is " in refused.stderr
    assert there.read_bytes() == b""
    same = full.run("db", "move", "--to", str(full.database))
    assert "cannot be moved to itself" in same.stderr


def test_a_key_that_is_made_meanwhile_is_not_lost_silently(full: Place, empty: str) -> None:
    add_large_table(full.database)
    with moving(full, str(full.database), empty) as (process, said):
        with closing(sqlite3.connect(full.database)) as connection:
            connection.execute("DELETE FROM api_keys")
            connection.commit()
        assert process.wait(PATIENCE_S) == 2
    assert "'stepwell.db' was written to while it was being moved" in said.read_text()
    assert tables_of(empty) == set()


def test_a_server_does_not_start_on_what_is_being_moved(full: Place, empty: str) -> None:
    add_large_table(full.database)
    with moving(full, str(full.database), empty) as (process, _):
        process.send_signal(19)  # SIGSTOP
        refused = full.run("keys", "list", "--database-url", empty)
        process.send_signal(18)
        assert refused.returncode == 2
        assert "being moved" in refused.stderr
        assert process.wait(PATIENCE_S) == 0
    made = full.run("keys", "create", "--user", "ada", "--database-url", empty)
    assert made.returncode == 0, made.stderr
