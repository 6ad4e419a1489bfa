"""The journal of effects over a real database: what was begun, what was done, and who may say so."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from stepwell.clock import SystemClock
from stepwell.database.effect_journal import SqlEffects
from stepwell.database.sqlite.database import Database
from stepwell.database.types import Lease
from stepwell.errors import LeaseLostError, StorageUnavailableError
from stepwell.tools.effect_journal import Begun, Done, Unknown

LEASE = Lease(thread_id="t", run_id="r1", fence=1, owner="me", worker="worker")


@pytest.fixture
def database(tmp_path: Path):
    database = Database(tmp_path / "stepwell.db")
    database.write_now(
        lambda connection: connection.execute(
            "INSERT INTO threads (thread_id, owner, status, metadata, config, created_at, updated_at, fence, lease_run, lease_holder)"
            " VALUES ('t', 'me', 'busy', '{}', '{}', 0, 0, 1, 'r1', 'worker')"
        )
    )
    yield database
    database.close()


def take_over(database: Database, run_id: str = "r2") -> Lease:
    database.write_now(lambda connection: connection.execute("UPDATE threads SET fence = 2, lease_run = ?", (run_id,)))
    return replace(LEASE, run_id=run_id, fence=2)


def journal(database: Database, lease: Lease = LEASE) -> SqlEffects:
    return SqlEffects(database, lease, SystemClock())


async def test_begun_then_unknown_until_finished_then_done(database):
    effects = journal(database)
    assert await asyncio.wrap_future(effects.begin("k")) == Begun()
    assert effects.begin("k").result() == Unknown()
    effects.finish("k", b"\x00result").result()
    assert effects.begin("k").result() == Done(b"\x00result")


def test_keys_do_not_know_one_another(database):
    effects = journal(database)
    assert [effects.begin(key).result() for key in ("a", "b")] == [Begun(), Begun()]


def test_what_was_released_can_begin_again(database):
    effects = journal(database)
    effects.begin("k").result()
    effects.release("k").result()
    assert effects.begin("k").result() == Begun()


def test_what_is_done_cannot_be_released(database):
    effects = journal(database)
    effects.begin("k").result()
    effects.finish("k", b"x").result()
    effects.release("k").result()
    assert effects.begin("k").result() == Done(b"x")


def test_another_run_of_the_thread_sees_what_the_first_began(database):
    journal(database).begin("k").result()
    later = journal(database, take_over(database))
    assert later.begin("k").result() == Unknown()
    assert later.begin("other").result() == Begun()


def test_a_begun_effect_survives_closing_the_file(tmp_path, database):
    journal(database).begin("k").result()
    database.close()
    again = Database(tmp_path / "stepwell.db")
    try:
        assert journal(again).begin("k").result() == Unknown()
    finally:
        again.close()


@pytest.mark.parametrize("say", ["begin", "finish", "release", "barrier"])
def test_a_lost_lease_is_refused_and_nothing_is_written(database, say):
    stale = journal(database)
    stale.begin("before").result()
    later = journal(database, take_over(database))
    arguments = {"begin": ("k",), "finish": ("before", b"late"), "release": ("before",), "barrier": ()}[say]
    with pytest.raises(LeaseLostError):
        getattr(stale, say)(*arguments).result()
    assert later.begin("k").result() == Begun()
    assert later.begin("before").result() == Unknown()


def test_the_barrier_is_done_after_everything_handed_in_before(database):
    effects = journal(database)
    handed_in = [effects.begin(str(n)) for n in range(300)]
    effects.barrier().result()
    assert all(future.done() for future in handed_in)


def test_a_closed_database_says_so(database):
    database.close()
    with pytest.raises(StorageUnavailableError):
        journal(database).begin("k")
