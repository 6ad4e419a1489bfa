"""The seller is killed again and again while it redeems, reserves, settles and refunds, and every sat is found."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort
from tests.integration.payments.mints import MintProcess, buy_many
from tests.integration.payments.paying_child import CALLS, OWNER, PRICE

from stepwell.payments.mint import HttpMint
from stepwell.payments.wallet import Wallet
from stepwell.runs.embedded.file.database import Database
from stepwell.runs.embedded.ledger import EmbeddedLedger

SATS = 64
LATEST_KILL_S = 0.8
SEED = bytes(range(32))


class Sellers:
    """The process that forks sellers."""

    def __init__(self, folder: Path, url: str) -> None:
        self._order = {"folder": str(folder), "url": url, "seed": SEED.hex()}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("paying_child.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self._read() == "warm"

    def start(self) -> int:
        return int(self._say(self._order).removeprefix("pid "))

    def reap(self, pid: int) -> int:
        return int(self._say({"reap": pid}).removeprefix("gone "))

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _say(self, order: dict[str, Any]) -> str:
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        return self._process.stdout.readline().strip()


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_no_kill_loses_a_sat_or_charges_twice(
    mint_process: MintProcess, tmp_path: Path, effort: Effort, record_property: Callable[[str, object], None]
):
    """P2, P4: 500 kill -9 across redeem, reserve, settle and refund, on a real mint and SQLite; a short form in `make test`."""
    kills, chance = effort.cases(8, 500), random.Random(20_261)
    async with HttpMint(mint_process.url, timeout_s=60) as mint:
        tokens = await buy_many(mint, mint_process, SATS, effort.cases(6, 280))
        (tmp_path / "tokens").write_text(json.dumps(tokens))
        sellers = Sellers(tmp_path, mint_process.url)
        killed = _kill_again_and_again(sellers, kills, chance)
        assert sellers.reap(sellers.start()) == 0, "left alone, it finishes"
        sellers.close()
        database = Database(tmp_path / "stepwell.db")
        wallet = Wallet(EmbeddedLedger(database), [mint], SEED)
        lost = await _check(wallet, len(tokens), (tmp_path / "answers").read_text().split("\n"))
        database.close()
    record_property("kills", killed)
    record_property("sessions", len(tokens))
    record_property("lost_answers", lost)
    assert killed > 0, "it was done before it could be killed"


def _kill_again_and_again(sellers: Sellers, kills: int, chance: random.Random) -> int:
    killed = 0
    for _ in range(kills):
        pid = sellers.start()
        time.sleep(chance.uniform(0, LATEST_KILL_S))
        os.kill(pid, signal.SIGKILL)  # a child that has ended is still there until it is reaped
        killed += sellers.reap(pid) == signal.SIGKILL
    return killed


async def _check(wallet: Wallet, sessions: int, answers: list[str]) -> int:
    """Every checkpointed answer was charged once, every rest came back, and the mint agrees with all of it."""
    found = await wallet.ledger.sessions(OWNER)
    assert len(found) == sessions
    keys = [line for line in answers if "/" in line]
    assert len(keys) == len(set(keys)) == sessions * CALLS
    for session in found:
        assert (session.credits, session.spent, session.balance) == (SATS, CALLS * PRICE, 0)
        assert session.refunded + session.fees == SATS - CALLS * PRICE
        assert await wallet.ledger.operations() == []
    refunds = await wallet.ledger.unclaimed(OWNER)
    assert sum(refund.amount for refund in refunds) == sum(session.refunded for session in found)
    for refund in refunds:
        value = await wallet.validate(await wallet.claim(OWNER, refund.token_id))
        assert value.amount_sats == refund.amount, "the mint takes it"
    audit = await wallet.audit()
    assert audit.adds_up
    assert audit.spent_elsewhere == 0
    return sum(session.lost_answers for session in found)
