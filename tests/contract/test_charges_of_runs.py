"""Whoever drives a run charges for it only as long as the lease holds, and only behind what was stored before."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.support.driven_runs import OWNER, driving, new_id

from stepwell.database import fence
from stepwell.database.persistence import Persistence
from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.errors import LeaseLostError, StorageUnavailableError
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.ledger.ledger import Session
from stepwell.payments.wallet.wallet import Wallet
from stepwell.sql import Connection
from stepwell.testing import MemoryMint

KEY = "thread:call"


@pytest.fixture(params=["sqlite", "postgres"])
async def persistence(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Persistence]:
    async with AsyncExitStack() as opened:
        if request.param == "sqlite":
            yield await opened.enter_async_context(EmbeddedPersistence(tmp_path / "stepwell.db"))
        else:
            yield await opened.enter_async_context(PostgresPersistence(request.getfixturevalue("postgres_url")))


@pytest.fixture
async def session(persistence: Persistence) -> Session:
    mint = MemoryMint()
    wallet = Wallet(DatabaseLedger(persistence.database, persistence.clock), [mint], bytes(32), pause_s=0)
    funding = await wallet.fund(OWNER, mint.issue_token(100))
    await wallet.release(await wallet.reserve(OWNER, funding.session_id, "first", 1))
    return await wallet.session(OWNER, funding.session_id)


async def test_whoever_was_overtaken_neither_charges_nor_confirms(persistence: Persistence, session: Session):
    """It would confirm the charge of an answer that it could not store, and the run that goes on would pay for the same call again."""
    async with driving(persistence) as runs:
        old = await runs.begin(new_id())
        overtaken = DatabaseLedger(persistence.database, persistence.clock, old.lease)
        reserved = await overtaken.reserve(OWNER, session.session_id, KEY, 10)
        await overtaken.settle(KEY, reserved.attempt, 10)
        new = await runs.lose(old)
        for write in (
            overtaken.confirm(session.session_id, [KEY]),
            overtaken.reserve(OWNER, session.session_id, "next", 10, confirms=[KEY]),
            overtaken.settle(KEY, reserved.attempt, 10),
        ):
            with pytest.raises(LeaseLostError):
                await write
        current = DatabaseLedger(persistence.database, persistence.clock, new.lease)
        again = await current.reserve(OWNER, session.session_id, KEY, 10)
        await current.settle(KEY, again.attempt, 10)
        await current.confirm(session.session_id, [KEY])
        await runs.end(new)
    assert (await DatabaseLedger(persistence.database, persistence.clock).session(OWNER, session.session_id)).spent == 10


async def test_nothing_is_confirmed_behind_a_checkpoint_that_could_not_be_stored(persistence: Persistence, session: Session):
    def refuse(connection: Connection) -> None:
        connection.execute("INSERT INTO no_such_table VALUES (1)")

    async with driving(persistence) as runs:
        claim = await runs.begin(new_id())
        ledger = DatabaseLedger(persistence.database, persistence.clock, claim.lease)
        reserved = await ledger.reserve(OWNER, session.session_id, KEY, 10)
        await ledger.settle(KEY, reserved.attempt, 10)
        with pytest.raises((StorageUnavailableError, sqlite3.Error)):
            await persistence.database.write(fence.in_order(claim.lease, refuse))
        with pytest.raises(StorageUnavailableError, match="earlier write"):
            await ledger.reserve(OWNER, session.session_id, "next", 10, confirms=[KEY])
        again = await runs.lose(claim)
        current = DatabaseLedger(persistence.database, persistence.clock, again.lease)
        await current.settle(KEY, (await current.reserve(OWNER, session.session_id, KEY, 10)).attempt, 10)
        await runs.end(again)
    assert (await DatabaseLedger(persistence.database, persistence.clock).session(OWNER, session.session_id)).spent == 10
