"""Which file a `--database-url` means."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.cli.operator.database_file import database_file
from stepwell.errors import ConfigurationError
from stepwell.settings import Settings

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
    assert database_file(url, SETTINGS) == Path(file)


@pytest.mark.parametrize(
    "url", ["postgresql://me:hunter2@db/x", "postgres://db/x", "postgresql+psycopg://db/x", "mysql://db/x"]
)
def test_other_databases_are_refused_without_repeating_a_password(url: str):
    with pytest.raises(ConfigurationError, match="one SQLite file") as refused:
        database_file(url, SETTINGS)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "/var/lib/x.db", "http://x/y.db"])
def test_what_is_no_file_is_refused(url: str):
    with pytest.raises(ConfigurationError, match="must name a file"):
        database_file(url, SETTINGS)
