"""A database that was put back from an older copy, or begun anew with the old seed: its counters are behind the mint's (NUT-13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.unit.payments.conftest import SEED

from stepwell.errors import TokenSpentError
from stepwell.payments.cashu.money import BlindedMessage, BlindSignature
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint


async def pay(wallet: Wallet, mint: MemoryMint, sats: int, key: str) -> str:
    session_id = (await wallet.fund("alice", mint.issue_token(sats))).session_id
    await wallet.settle(await wallet.reserve("alice", session_id, key, 10), 10)
    return session_id


@pytest.mark.parametrize("earlier", [[100], [64], [100, 37, 5000], [255] * 40], ids=["same", "other", "several", "many"])
async def test_outputs_that_the_mint_has_signed_before_are_passed_over(mint: MemoryMint, earlier: list[int]):
    lost = MemoryLedger()
    before = Wallet(lost, [mint], SEED, pause_s=0)
    for number, sats in enumerate(earlier):
        await pay(before, mint, sats, f"k{number}")
    ledger = MemoryLedger()
    wallet = Wallet(ledger, [mint], SEED, pause_s=0)
    swaps = mint.swaps
    session_id = await pay(wallet, mint, 100, "k")
    assert mint.swaps == swaps + 1, "the payer's token was taken"
    session = await wallet.session("alice", session_id)
    assert (session.credits, session.spent, session.balance) == (100, 10, 89)
    assert not {proof.point for proof in await ledger.session_proofs(session_id)} & await points_of(lost)
    refund = await wallet.refund("alice", session_id)
    assert mint.spend(await wallet.claim("alice", refund.token_id)) == refund.amount
    audit = await wallet.audit()
    assert (audit.adds_up, audit.spent_elsewhere) == (True, 0)
    assert (await before.audit()).spent_elsewhere == 0, "and nothing of what was there before was touched"
    lost.close()
    ledger.close()


async def test_a_token_that_was_spent_in_part_is_refused_also_behind_old_outputs(mint: MemoryMint):
    lost, ledger = MemoryLedger(), MemoryLedger()
    await pay(Wallet(lost, [mint], SEED, pause_s=0), mint, 100, "k")
    wallet = Wallet(ledger, [mint], SEED, pause_s=0)
    token = mint.issue(100)
    session_id = (await wallet.fund("alice", decode_token(token))).session_id
    pieces = decode_token(token).proofs
    mint.spend(encode_token(Token(mint.url, "sat", pieces[:1])))
    with pytest.raises(TokenSpentError):
        await wallet.reserve("alice", session_id, "k", 10)
    session = await wallet.session("alice", session_id)
    assert (session.state, session.credits) == ("rejected", 0)
    lost.close()
    ledger.close()


async def test_a_swap_that_another_worker_is_just_doing_is_not_taken_for_an_old_one(
    mint: MemoryMint, monkeypatch: pytest.MonkeyPatch
):
    """Between the question what is spent and the one what is signed, the other one's swap is done."""
    ledger = MemoryLedger()
    first, second = (Wallet(ledger, [mint], SEED, pause_s=0) for _ in range(2))
    session_id = (await first.fund("alice", mint.issue_token(100))).session_id
    mint.faults = ["before"] * 99
    with pytest.raises(Exception, match="nothing done"):
        await first.reserve("alice", session_id, "k", 10)
    mint.faults = ["pending"]
    ask = mint.restore

    async def finish_first(outputs: Sequence[BlindedMessage]) -> Mapping[str, BlindSignature]:
        monkeypatch.undo()
        assert await second.recover() == 0
        return await ask(outputs)

    monkeypatch.setattr(mint, "restore", finish_first)
    assert await first.recover() == 0
    assert (await ledger.session(None, session_id)).credits == 100
    assert mint.swaps == 1
    assert (await first.audit()).adds_up
    ledger.close()


async def points_of(ledger: MemoryLedger) -> set[str]:
    return {proof.point for holding in await ledger.holdings() for proof in (*holding.for_payers, *holding.earned)}
