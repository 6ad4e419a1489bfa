"""Which database a `--database-url` means."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.errors import ConfigurationError
from stepwell.settings import Settings
from stepwell.terminal.database_file import database_file
from stepwell.terminal.database_place import PostgresPlace, database_place

SETTINGS = Settings(data_dir=Path("/data"))


@pytest.mark.parametrize(
    ("url", "file"),
    [
        (None, "/data/stepwell.db"),
        ("sqlite:///here.db", "here.db"),
        ("sqlite:////var/lib/there.db", "/var/lib/there.db"),
        ("sqlite:///with%20space.db", "with space.db"),
    ],
)
def test_a_file_is_named(url: str | None, file: str):
    assert database_file(url, SETTINGS, "Use its own.") == Path(file)


@pytest.mark.parametrize("url", ["postgresql://me:hunter2@db/x", "postgres://db/x"])
def test_a_postgres_database_is_named_without_repeating_a_password(url: str):
    place = database_place(url, SETTINGS)
    assert isinstance(place, PostgresPlace)
    assert str(place) == "Postgres db/x"
    assert "hunter2" not in repr(place)
    with pytest.raises(ConfigurationError, match="works on a SQLite file") as refused:
        database_file(url, SETTINGS, "Use its own.")
    assert "hunter2" not in str(refused.value)


def test_the_environment_names_a_database_and_the_command_line_wins():
    settings = Settings.load({"DATABASE_URL": "postgres://db/x", "STEPWELL_DATABASE_URL": "postgres://other/y"})
    assert str(database_place(None, settings)) == "Postgres other/y"
    assert database_place("sqlite:///here.db", settings) == Path("here.db")


def test_only_a_database_that_is_named_for_stepwell_is_meant():
    theirs = Settings.load({"DATABASE_URL": "postgres://db/x"})
    ours = Settings.load({"STEPWELL_DATABASE_URL": "postgres://db/x"})
    places = [database_place(None, theirs), database_place(None, ours), database_place("postgres://db/x", theirs)]
    assert [place.is_meant for place in places if isinstance(place, PostgresPlace)] == [False, True, True]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///name?host=/run/pg&user=me",
        "postgresql://me@db",
        "postgresql://me:p%40ss%2F@[::1]:5433/name?sslmode=require",
        "postgres://one:5432,two:5433/name",
    ],
)
def test_addresses_as_libpq_reads_them_are_taken(url: str):
    assert isinstance(database_place(url, SETTINGS), PostgresPlace)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter@2@db/x",
        "postgresql://me:hunter/2@db/x",
        "postgresql://me:hunter:2@db/x",
        "postgresql://me:hunter?2@db/x",
        "postgresql://me:hunter#2@db/x",
        "postgresql://me:hunter 2@db/x",
        "postgresql://me:hunter%2@db/x",
        "postgresql://me:hunter2@db:port/x",
    ],
)
def test_a_password_that_breaks_the_address_is_not_repeated(url: str):
    with pytest.raises(ConfigurationError, match="as %40") as refused:
        database_place(url, SETTINGS)
    assert "hunter" not in str(refused.value)


@pytest.mark.parametrize("url", ["postgresql+psycopg://me:hunter2@db/x", "mysql://me:hunter2@db/x"])
def test_other_databases_are_refused_without_repeating_a_password(url: str):
    with pytest.raises(ConfigurationError, match="or a Postgres database") as refused:
        database_place(url, SETTINGS)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "/var/lib/x.db", "http://x/y.db"])
def test_what_is_no_file_is_refused(url: str):
    with pytest.raises(ConfigurationError, match="must name a file"):
        database_file(url, SETTINGS, "Use its own.")


def test_a_folder_that_is_not_there_is_refused_and_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match=r"after four at the root: sqlite:////no/such/dir/x\.db"):
        database_place("sqlite:///no/such/dir/x.db", SETTINGS)
    with pytest.raises(ConfigurationError, match=r"There is no folder .* Create it first"):
        database_place(f"sqlite:///{tmp_path}/absent/x.db", SETTINGS)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "there").mkdir()
    assert database_place("sqlite:///there/x.db", SETTINGS) == Path("there/x.db")
