"""What journals keep of files is bounded and complete, wherever they are kept: in memory, in a folder, in the database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stepwell.clock import SystemClock
from stepwell.database.file_journal import SqlFileJournal
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease
from stepwell.tools.rewind.folder import FolderJournal
from stepwell.tools.rewind.journal import Entry, JournalFullError, MemoryJournal, hash_of

MB = 1_000_002
LIMIT = 5 * MB + 1000


@pytest.fixture(params=["memory", "folder", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield MemoryJournal(LIMIT)
    elif request.param == "folder":
        yield FolderJournal(tmp_path / "journal", LIMIT)
    else:
        database = Database(tmp_path / "stepwell.db")
        database.write_now(
            lambda connection: connection.execute(
                "INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at, fence, lease_run, lease_holder)"
                " VALUES ('t', 'me', 'busy', '{}', '{}', 0, 0, 1, 'r', 'worker')"
            )
        )
        yield SqlFileJournal(database, "t", Lease("t", "r", 1, "me", "worker"), SystemClock(), LIMIT)
        database.close()


def turn(journal: Any, number: int) -> None:
    journal.mark(Entry("turn", f"m{number}", checkpoint_id=f"c{number}")).result()


def change(journal: Any, path: str, before: bytes, after: bytes) -> list[int]:
    entry = Entry("change", path, before=hash_of(before), after=hash_of(after))
    numbers: list[int] = journal.begin([entry], {hash_of(before): before}).result()
    return numbers


def version(number: int) -> bytes:
    return number.to_bytes(2, "big") * (MB // 2)


def kept(journal: Any, versions: int) -> list[int]:
    return [number for number in range(versions) if journal.image(hash_of(version(number))).result() is not None]


def test_a_file_that_changes_with_every_turn_keeps_the_newest_ones(journal: Any) -> None:
    for number in range(20):
        turn(journal, number)
        change(journal, "/big", version(number), version(number + 1))
    assert kept(journal, 21) == [15, 16, 17, 18, 19]
    assert [each.name for each in journal.entries().result() if each.kind == "turn"] == [f"m{n}" for n in range(15, 20)]


def test_in_one_turn_a_file_is_kept_once(journal: Any) -> None:
    turn(journal, 0)
    for number in range(20):
        change(journal, "/big", version(number), version(number + 1))
    assert kept(journal, 21) == [0], "nobody can go back to the middle of a turn"
    turn(journal, 1)
    change(journal, "/big", version(20), version(21))
    assert kept(journal, 21) == [0, 20]


def test_a_turn_that_alone_is_too_much_is_refused_and_keeps_what_it_has(journal: Any) -> None:
    turn(journal, 0)
    for number in range(5):
        change(journal, f"/{number}", version(number), b"")
    before = journal.entries().result()
    with pytest.raises(JournalFullError):
        change(journal, "/5", version(5), b"")
    assert journal.entries().result() == before
    assert kept(journal, 6) == [0, 1, 2, 3, 4]
    assert change(journal, "/small", b"x", b"y")


@pytest.fixture
def eager_switching() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("eager_switching")
def test_tools_that_change_files_at_the_same_time_lose_no_image(journal: Any) -> None:
    turn(journal, 0)
    contents = {f"/{number}": b"content %d" % number for number in range(200)}
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda path: change(journal, path, contents[path], b""), contents))
    assert len({number for one in numbers for number in one}) == len(contents)
    assert sorted(each.name for each in journal.entries().result() if each.kind == "change") == sorted(contents)
    assert all(journal.image(hash_of(content)).result() == content for content in contents.values())
