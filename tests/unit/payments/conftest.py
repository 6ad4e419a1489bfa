"""A wallet over a mint in memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint

SEED = bytes(range(32))


class SetClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 15, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def mint() -> MemoryMint:
    return MemoryMint(fee_ppk=100)


@pytest.fixture
def ledger(clock: SetClock) -> Iterator[MemoryLedger]:
    ledger = MemoryLedger(clock)
    yield ledger
    ledger.close()


@pytest.fixture
def wallet(ledger: MemoryLedger, mint: MemoryMint, clock: SetClock) -> Wallet:
    return Wallet(ledger, [mint], SEED, clock=clock, pause_s=0)
