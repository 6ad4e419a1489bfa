"""Questions to a mint, and its answers, get lost. A call that is to be paid waits a little and is paid, once."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.unit.payments.conftest import SEED

from stepwell.errors import MintUnavailableError
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint


class LossyMint:
    """A mint whose calls of any kind are lost: with `answers`, after it has done them."""

    def __init__(self, mint: MemoryMint, *, answers: bool) -> None:
        self.url = mint.url
        self.lost = range(0)
        self.asked = 0
        self._mint = mint
        self._answers = answers

    def __getattr__(self, name: str) -> Any:
        ask = getattr(self._mint, name)

        async def passed(*args: Any, **more: Any) -> Any:
            self.asked += 1
            lost = self.asked in self.lost
            if lost and not self._answers:
                raise MintUnavailableError("no answer")
            answer = await ask(*args, **more)
            if lost:
                raise MintUnavailableError("no answer")
            return answer

        return passed


@pytest.mark.parametrize("answers", [False, True], ids=["request", "answer"])
@pytest.mark.parametrize("length", [1, 2, 3], ids=lambda length: f"{length} in a row")
async def test_a_call_is_paid_whichever_questions_to_the_mint_are_lost(mint: MemoryMint, answers: bool, length: int):
    """The n-th and the ones behind it, for n = 1, 2, 3 ... until none is lost: the swap is found again, and nothing is paid twice."""
    for number in range(1, 100):
        ledger, lossy = MemoryLedger(), LossyMint(mint, answers=answers)
        wallet = Wallet(ledger, [lossy], os.urandom(32), pause_s=0)
        session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
        lossy.lost = range(lossy.asked + number, lossy.asked + number + length)
        await wallet.reserve("alice", session_id, "k", 10)
        session = await wallet.session("alice", session_id)
        assert (session.credits, session.reserved) == (100, 10)
        assert (await wallet.audit()).adds_up
        ledger.close()
        if lossy.asked < lossy.lost.start:
            break
    assert 3 < number < 99


async def test_a_call_waits_for_a_mint_that_is_still_at_work_on_the_lost_request(mint: MemoryMint):
    ledger = MemoryLedger()
    wallet = Wallet(ledger, [mint], SEED, pause_s=0)
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    mint.faults = ["before", "pending", "pending"]
    await wallet.reserve("alice", session_id, "k", 10)
    assert (await wallet.session("alice", session_id)).credits == 100
    ledger.close()


async def test_a_mint_that_is_gone_for_good_is_not_asked_for_ever(mint: MemoryMint):
    ledger, lossy = MemoryLedger(), LossyMint(mint, answers=False)
    wallet = Wallet(ledger, [lossy], SEED, pause_s=0)
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    lossy.lost = range(1, 10_000)
    with pytest.raises(MintUnavailableError):
        await wallet.reserve("alice", session_id, "k", 10)
    assert lossy.asked < 100
    ledger.close()
