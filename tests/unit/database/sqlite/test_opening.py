"""A database file that cannot be opened: one sentence, whoever opens it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stepwell.clock import SystemClock
from stepwell.database.sqlite.backup import back_up
from stepwell.database.sqlite.condition import inspect_database
from stepwell.database.sqlite.database import Database
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.sqlite.process_lock import ProcessLock
from stepwell.errors import ConfigurationError


def a_file_where_the_folder_should_be(folder: Path) -> Path:
    (folder / "taken").touch()
    return folder / "taken" / "stepwell.db"


def a_folder_where_the_file_should_be(folder: Path) -> Path:
    (folder / "stepwell.db").mkdir()
    return folder / "stepwell.db"


def something_else(folder: Path) -> Path:
    (folder / "stepwell.db").write_text("a letter, and no database " * 50)
    return folder / "stepwell.db"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_file_where_the_folder_should_be, "'stepwell.db' cannot be opened: File exists. Fix that, or choose another folder"),
        (a_folder_where_the_file_should_be, "'stepwell.db' cannot be opened: unable to open database file. Fix that"),
        (something_else, "'stepwell.db' cannot be read: file is not a database. Restore a backup"),
    ],
)
async def test_a_server_and_a_command_get_the_same_sentence(tmp_path: Path, make: Callable[[Path], Path], said: str) -> None:
    path = make(tmp_path)

    with pytest.raises(ConfigurationError) as of_command:
        Database(path)
    with pytest.raises(ConfigurationError) as of_server:
        await EmbeddedPersistence(path, clock=SystemClock()).__aenter__()

    assert said in str(of_command.value)
    assert str(of_server.value) == str(of_command.value)
    assert str(tmp_path) not in str(of_command.value)


@pytest.mark.skipif(sys.platform != "linux", reason="counts this process's open files in /proc")
def test_a_file_that_is_refused_is_not_held_open(tmp_path: Path) -> None:
    path = something_else(tmp_path)

    with pytest.raises(ConfigurationError) as refusal:
        Database(path)

    assert refusal.traceback, "the frames are alive, so nothing was closed by being forgotten"
    assert path not in [Path(os.readlink(file)) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]


@pytest.mark.parametrize("look", [inspect_database, lambda path: back_up(path, path.with_name("copy.db"))])
def test_looking_at_and_copying_something_else_is_refused_too(tmp_path: Path, look: Callable[[Path], object]) -> None:
    with pytest.raises(ConfigurationError, match=r"'stepwell\.db' cannot be read: file is not a database"):
        look(something_else(tmp_path))
    assert not (tmp_path / "copy.db").exists()


def test_a_folder_that_cannot_be_written_does_not_count_as_a_server_at_work(tmp_path: Path) -> None:
    lock = ProcessLock(a_file_where_the_folder_should_be(tmp_path).with_name("stepwell.db.lock"))

    with pytest.raises(ConfigurationError, match=r"'stepwell\.db' cannot be opened"):
        lock.try_acquire()
