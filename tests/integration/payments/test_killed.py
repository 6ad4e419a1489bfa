"""The seller is killed again and again while it redeems, reserves, settles and refunds, and every sat is found."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Effort
from tests.integration.payments.mints import MintProcess, buy_many
from tests.integration.payments.paying_child import CALLS, OWNER, PRICE, Point

from stepwell.database.sqlite.database import Database
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.wallet.mint import HttpMint
from stepwell.payments.wallet.wallet import Wallet

SATS = 64
LATEST_KILL_S: dict[Point, float] = {"redeem": 0.08, "reserve": 0.004, "settle": 0.004, "charged": 0, "refund": 0.08}
"""After a seller has come to a point: while it is at it, or just behind it."""
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

    def start(self, until: Point | None = None) -> tuple[int, bool]:
        """A seller that goes on until it comes to a point; whether it has come there, or is done with everything."""
        pid, point = sorted(self._say({**self._order, "until": until}, lines=2), key=lambda line: not line.startswith("pid"))
        return int(pid.removeprefix("pid ")), point == f"at {until}"

    def reap(self, pid: int) -> int:
        return int(self._say({"reap": pid})[0].removeprefix("gone "))

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _say(self, order: dict[str, Any], lines: int = 1) -> list[str]:
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return [self._read() for _ in range(lines)]

    def _read(self) -> str:
        return self._process.stdout.readline().strip()


@pytest.mark.prove
@pytest.mark.timeout(3600)
async def test_no_kill_loses_a_sat_or_charges_twice(
    mint_process: MintProcess, tmp_path: Path, effort: Effort, record_property: Callable[[str, object], None]
):
    """P2, P4: 500 kill -9 across redeem, reserve, settle and refund, on a real mint and SQLite; a short form in `make test`."""
    kills, chance = effort.cases(10, 500), random.Random(20_261)
    async with HttpMint(mint_process.url, timeout_s=60) as mint:
        tokens = await buy_many(mint, mint_process, SATS, effort.cases(8, 320))
        (tmp_path / "tokens").write_text(json.dumps(tokens))
        sellers, scene = Sellers(tmp_path, mint_process.url), Scene(tmp_path)
        killed = _kill_again_and_again(sellers, scene, kills, chance)
        assert sellers.reap(sellers.start()[0]) == 0, "left alone, it finishes"
        sellers.close()
        database = Database(tmp_path / "stepwell.db")
        wallet = Wallet(DatabaseLedger(database), [mint], SEED)
        lost = await _check(wallet, len(tokens), (tmp_path / "answers").read_text().split("\n"))
        database.close()
    record_property("kills", killed)
    record_property("sessions", len(tokens))
    record_property("lost_answers", lost)
    for what, count in sorted(scene.found.items()):
        record_property(f"killed_while_{what}", count)
    assert lost == len(scene.lost), "each answer that was charged and not kept is counted, and no other"
    assert killed == kills, "it was done before it could be killed"
    assert scene.found["charged"] >= lost >= kills // len(LATEST_KILL_S), "each that was killed with its answer in its hand"
    if effort.long:
        assert min(scene.found[what] for what in ("redeeming", "reserved", "refunding")) >= 20


class Scene:
    """What a seller left behind: in the middle of what it was killed, and which answers were charged and not kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.found: Counter[str] = Counter()
        self.lost: set[tuple[str, int]] = set()

    def look(self) -> None:
        path = self._folder / "stepwell.db"
        if not path.exists() or not (self._folder / "answers").exists():
            return
        kept = set((self._folder / "answers").read_text().split("\n")[:-1])
        # Read only: a connection that may write would tidy up after the seller, which is the next one's task.
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            try:
                under_way = {kind for (kind,) in connection.execute(_UNDER_WAY)}
                open_calls = connection.execute(_OPEN_CALLS).fetchall()
            except sqlite3.OperationalError:  # killed before there was a table
                return
        self.found.update({"redeem": "redeeming", "settle": "refunding"}[kind] for kind in under_way)
        self.found.update({"held": "reserved", "settled": "charged"}[state] for _, _, state in open_calls)
        self.lost |= {(key, attempt) for key, attempt, state in open_calls if state == "settled" and key not in kept}


_UNDER_WAY = "SELECT kind FROM payment_operations WHERE state = 'pending'"
_OPEN_CALLS = "SELECT key, attempt, state FROM payment_reservations WHERE state IN ('held', 'settled')"


def _kill_again_and_again(sellers: Sellers, scene: Scene, kills: int, chance: random.Random) -> int:
    killed, points = 0, list(LATEST_KILL_S)
    for number in range(kills):
        point = points[number % len(points)]
        pid, there = sellers.start(point)
        time.sleep(chance.uniform(0, LATEST_KILL_S[point]) if there else 0)
        os.kill(pid, signal.SIGKILL)  # a child that has ended is still there until it is reaped
        killed += sellers.reap(pid) == signal.SIGKILL
        scene.look()
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
        value = await wallet.validate(decode_token(await wallet.claim(OWNER, refund.token_id)))
        assert value.amount_sats == refund.amount, "the mint takes it"
    audit = await wallet.audit()
    assert audit.adds_up
    assert audit.spent_elsewhere == 0
    return sum(session.lost_answers for session in found)
