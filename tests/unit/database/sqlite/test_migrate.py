"""A database between two forms: a step that does not come to its end has not begun."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from stepwell.database.sqlite.backup import back_up, restore
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.migrate import migrate, migrations, version_of


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "stepwell.db", isolation_level=None)) as opened:
        yield opened


@pytest.mark.parametrize("step", migrations(), ids=lambda step: step.name)
def test_a_step_that_is_broken_off_leaves_the_form_before_it(connection: sqlite3.Connection, step: object) -> None:
    """At its last statement, which sets the number: everything the step had made goes with it."""
    number = getattr(step, "number", 0)

    def refuse(action: int, name: str | None, value: str | None, *_: object) -> int:
        broken = action == sqlite3.SQLITE_PRAGMA and name == "user_version" and value == str(number)
        return sqlite3.SQLITE_DENY if broken else sqlite3.SQLITE_OK

    connection.set_authorizer(refuse)
    with pytest.raises(sqlite3.DatabaseError):
        migrate(connection)
    connection.set_authorizer(None)
    assert version_of(connection) == max((known.number for known in migrations() if known.number < number), default=0)
    assert not connection.in_transaction
    migrate(connection)
    assert version_of(connection) == migrations()[-1].number
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_what_a_killed_backup_and_a_killed_restore_have_left_is_in_nobodys_way(tmp_path: Path) -> None:
    database, copy = tmp_path / "stepwell.db", tmp_path / "copy.db"
    Database(database).close()
    for left in ("copy.db.partial", "stepwell.db.restoring"):
        (tmp_path / left).write_bytes(b"half a database")
    back_up(database, copy)
    assert restore(copy, database, kept_as="before") == tmp_path / "stepwell.db.before"
    with closing(sqlite3.connect(database)) as connection:
        assert version_of(connection) == migrations()[-1].number
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "copy.db",
        "stepwell.db",
        "stepwell.db.before",
        "stepwell.db.lock",
    ]
