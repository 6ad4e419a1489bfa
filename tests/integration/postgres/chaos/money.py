"""Money for a chaos run: a session that a mint in this process has filled, so that no worker asks a mint; and the sweep afterwards."""

from __future__ import annotations

from pathlib import Path

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.payments.configuration import Charging
from stepwell.payments.gate import Cashier
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.settings import Secret
from stepwell.testing import MemoryMint

MINT = "http://127.0.0.1:9"
"""Nobody is there: a worker that asked it would fail."""
SEED = bytes(range(32))
PRICE = 5
_DEPOSIT = 2**20

VARIABLES = {
    "STEPWELL_MINTS": MINT,
    "STEPWELL_SATS_PER_CALL": str(PRICE),
    "STEPWELL_WALLET_SEED": SEED.hex(),
    "STEPWELL_PAID_GRAPHS": "sold",
}


async def fund_session(url: str, owner: str) -> str:
    """A session with money in it; a call that is reserved and released makes the ledger redeem its token."""
    mint = MemoryMint(MINT)
    async with PostgresPersistence(url) as persistence:
        wallet = Wallet(DatabaseLedger(persistence.database, persistence.clock), [mint], SEED)
        session_id = (await wallet.fund(owner, mint.issue_token(_DEPOSIT))).session_id
        await wallet.release(await wallet.reserve(owner, session_id, "opening:0", PRICE))
    return session_id


async def sweep(url: str) -> None:
    """What the leader does every minute: charges of answers that were lost are taken back, and what is held for nobody is free again."""
    charging = Charging((MINT,), FlatPrice(PRICE), Secret(SEED.hex()), ("sold",))
    async with PostgresPersistence(url) as persistence:
        wallet = Wallet(DatabaseLedger(persistence.database, persistence.clock), [MemoryMint(MINT)], SEED)
        cashier = Cashier(wallet, WalletMeter(wallet, charging.price), charging, ("sold",), persistence)
        await cashier.resolve_charges()


def read_answers(path: Path) -> list[tuple[str, str]]:
    """Thread and answer, as the model wrote them down outside."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [(thread_id, name) for thread_id, name in (line.split() for line in lines)]
