"""Money of a real mint, kept in SQLite, with answers that get lost on the way."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.conftest import Effort
from tests.integration.payments import cashu_ts
from tests.integration.payments.mints import MintProcess, buy
from tests.support.fault_proxy import Fault, FaultProxy

from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.database.sqlite.database import Database
from stepwell.errors import MintUnavailableError, RefundUnavailableError, TokenSpentError
from stepwell.payments.cashu.curve import sign
from stepwell.payments.cashu.locks import unlock
from stepwell.payments.cashu.tokens import Token, decode_token, encode_token
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.mint import HttpMint
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import ScriptedModel, call, say

G = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
OWNER = "alice"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "stepwell.db")
    yield database
    database.close()


@pytest.fixture
async def mint(proxy: FaultProxy) -> AsyncIterator[HttpMint]:
    async with HttpMint(proxy.url, timeout_s=60, retry_pause_s=0.01) as mint:
        yield mint


@pytest.fixture
def wallet(mint: HttpMint, database: Database) -> Wallet:
    return Wallet(DatabaseLedger(database), [mint], os.urandom(32), pause_s=0.01)


async def pay(wallet: Wallet, session_id: str, key: str, sats: int) -> None:
    await wallet.settle(await wallet.reserve(OWNER, session_id, key, sats), sats)


async def worth(text: str, mint: HttpMint, database: Database) -> int:
    """What a token is worth to somebody else, who redeems it."""
    other = Wallet(DatabaseLedger(database), [mint], os.urandom(32), pause_s=0.01)
    funding = await other.fund("somebody", decode_token(text))
    await other.release(await other.reserve("somebody", funding.session_id, f"look at {funding.fingerprint}", 1))
    return (await other.session("somebody", funding.session_id)).credits


async def test_a_payer_pays_and_gets_the_rest_back(
    wallet: Wallet, mint: HttpMint, mint_process: MintProcess, database: Database, proxy: FaultProxy
):
    """P1, P2, P4: with a real mint and SQLite."""
    token = await buy(mint, mint_process, 100)
    value = await wallet.validate(decode_token(token))
    assert (value.amount_sats, value.fee_sats, value.net_sats) == (100, 1, 99)
    session_id = (await wallet.fund(OWNER, decode_token(token))).session_id
    assert "POST /v1/swap" not in proxy.seen
    await pay(wallet, session_id, "first", 10)
    asked = len(proxy.seen)
    for number in range(5):
        await pay(wallet, session_id, f"k{number}", 4)
    assert len(proxy.seen) == asked, "the mint is not asked in the steady state"
    refund = await wallet.refund(OWNER, session_id)
    assert refund.amount == 99 - 30 - 1
    assert await worth(await wallet.claim(OWNER, refund.token_id), mint, database) == refund.amount
    with pytest.raises(RefundUnavailableError):
        await wallet.claim(OWNER, refund.token_id)
    assert await worth((await wallet.payout(mint.url)).token, mint, database) == 30


@pytest.mark.parametrize("fault", ["lose_request", "lose_answer", "cut_answer", "unavailable"])
async def test_a_fault_on_the_way_loses_nothing(
    wallet: Wallet, mint: HttpMint, mint_process: MintProcess, proxy: FaultProxy, fault: Fault
):
    session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, mint_process, 64)))).session_id
    proxy.faults = [("POST /v1/swap", fault), ("POST /v1/restore", fault)]
    await pay(wallet, session_id, f"call behind {fault}", 5)
    proxy.faults = [("POST /v1/swap", fault), ("POST /v1/restore", fault)]
    refund = await wallet.refund(OWNER, session_id)
    session = await wallet.session(OWNER, session_id)
    assert (session.credits, session.spent, session.refunded + session.fees) == (64, 5, 59)
    assert refund.amount == 57
    audit = await wallet.audit()
    assert audit.adds_up
    assert audit.spent_elsewhere == 0


async def test_a_mint_that_answers_with_pages_leaves_the_swap_to_be_found_out(
    wallet: Wallet, mint: HttpMint, mint_process: MintProcess, proxy: FaultProxy
):
    session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, mint_process, 64)))).session_id
    proxy.faults = [("POST /v1/swap", "html")] * 99
    with pytest.raises(MintUnavailableError):
        await wallet.reserve(OWNER, session_id, "k", 5)
    proxy.faults = []
    assert (await wallet.session(OWNER, session_id)).state == "redeeming"
    assert await wallet.recover() == 0
    assert (await wallet.session(OWNER, session_id)).balance == 63


async def test_a_database_that_was_put_back_takes_every_token_all_the_same(
    mint: HttpMint, mint_process: MintProcess, database: Database, tmp_path: Path
):
    """Its counters are behind: the mint has signed what it would have signed now."""
    seed, older = os.urandom(32), Database(tmp_path / "older.db")
    before, after = (Wallet(DatabaseLedger(opened), [mint], seed, pause_s=0.01) for opened in (database, older))
    for wallet in (before, after):
        session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, mint_process, 100)))).session_id
        await pay(wallet, session_id, "first", 10)
        assert (await wallet.session(OWNER, session_id)).balance == 89
    assert await worth(await after.claim(OWNER, (await after.refund(OWNER, session_id)).token_id), mint, database) == 88
    for wallet in (before, after):
        audit = await wallet.audit()
        assert (audit.adds_up, audit.spent_elsewhere) == (True, 0)
    older.close()


async def test_fifty_uses_of_one_token_at_once_are_one_credit(
    mint: HttpMint, mint_process: MintProcess, database: Database, proxy: FaultProxy
):
    """As many wallets, which share nothing but the database."""
    token, seed = await buy(mint, mint_process, 100), os.urandom(32)
    wallets = [Wallet(DatabaseLedger(database), [mint], seed, pause_s=0.05) for _ in range(50)]

    async def use(number: int) -> str:
        session_id = (await wallets[number].fund(OWNER, decode_token(token))).session_id
        async with asyncio.timeout(60):
            while True:
                try:
                    await wallets[number].reserve(OWNER, session_id, f"use {number}", 1)
                except MintUnavailableError:  # another one's swap is under way at the mint
                    continue
                return session_id

    (session_id,) = set(await asyncio.gather(*(use(number) for number in range(50))))
    session = await wallets[0].session(OWNER, session_id)
    assert (session.credits, session.fees, session.reserved) == (100, 1, 50)
    entries = await wallets[0].ledger.entries(OWNER, session_id)
    assert [entry.kind for entry in entries].count("credit") == 1


async def test_a_token_spent_after_validation_is_rejected_before_the_first_call(
    wallet: Wallet, mint: HttpMint, mint_process: MintProcess, database: Database, tmp_path: Path
):
    token = await buy(mint, mint_process, 32)
    session_id = (await wallet.fund(OWNER, decode_token(token))).session_id
    elsewhere = Database(tmp_path / "elsewhere.db")
    assert await worth(token, mint, elsewhere) == 32
    elsewhere.close()
    with pytest.raises(TokenSpentError):
        await wallet.reserve(OWNER, session_id, "k", 1)
    assert (await wallet.session(OWNER, session_id)).state == "rejected"


async def test_a_locked_refund_is_opened_by_the_payers_key_alone(
    wallet: Wallet, mint: HttpMint, mint_process: MintProcess, database: Database
):
    private = os.urandom(32)
    funding = await wallet.fund(OWNER, decode_token(await buy(mint, mint_process, 64)), refund_pubkey=sign(G, private))
    await pay(wallet, funding.session_id, "a locked one", 10)
    token = decode_token(await wallet.claim(OWNER, (await wallet.refund(OWNER, funding.session_id)).token_id))
    opened = Token(token.mint, token.unit, tuple(unlock(proof, private) for proof in token.proofs))
    with pytest.raises(Exception, match="locked"):
        await wallet.validate(token)
    assert await worth(encode_token(opened), mint, database) == 52


async def test_a_payer_with_another_wallet_pays_an_agent_and_gets_the_change(mint_process: MintProcess, database: Database):
    """P1 to P4, with cashu-ts on the payer's side."""
    token = await asyncio.to_thread(cashu_ts.ask, mint_process.url, "buy", "100")
    async with HttpMint(mint_process.url, timeout_s=60) as mint:
        wallet = Wallet(DatabaseLedger(database), [mint], os.urandom(32))
        session_id = (await wallet.fund(OWNER, decode_token(token))).session_id
        payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(10)), owner=OWNER)
        agent = create_deep_agent(ScriptedModel([call("write_todos", todos=[]), say("done")]), middleware=[payment])
        result = await agent.ainvoke(
            {"messages": [("user", "hello")]}, {"configurable": {"thread_id": "t", "funding_id": session_id}}
        )
        assert (result["payment_spent_sats"], result["payment_balance_sats"]) == (20, 79)
        refund = await wallet.refund(OWNER, session_id)
        received = await asyncio.to_thread(
            cashu_ts.ask, mint_process.url, "receive", await wallet.claim(OWNER, refund.token_id)
        )
        assert (refund.amount, received) == (78, "77"), "its own swap costs it one more"
        with pytest.raises(RefundUnavailableError):
            await wallet.claim(OWNER, refund.token_id)


@pytest.mark.prove
@pytest.mark.parametrize("fault", ["lose_request", "lose_answer", "cut_answer", "unavailable", "html"])
async def test_one_lost_answer_of_a_mint_stops_nobody(
    mint_process: MintProcess, tmp_path: Path, proxy: FaultProxy, fault: Fault, effort: Effort
):
    """The n-th request fails, for n = 1, 2, 3 ... until there is none: the token is taken, the call is paid, the rest comes back."""
    for number in count(0, effort.cases(4, 1)):
        database = Database(tmp_path / f"{number}.db")
        async with HttpMint(proxy.url, timeout_s=30, retry_pause_s=0.01) as buyer:
            token = await buy(buyer, mint_process, 64)
        async with HttpMint(proxy.url, timeout_s=30, retry_pause_s=0.01) as mint:
            wallet = Wallet(DatabaseLedger(database), [mint], os.urandom(32), pause_s=0.01)
            proxy.faults = [*[("", "none")] * number, ("", fault)]
            session_id = (await wallet.fund(OWNER, decode_token(token))).session_id
            await pay(wallet, session_id, "call", 5)
            refund = await wallet.refund(OWNER, session_id)
            left, proxy.faults = proxy.faults, []
            assert refund.amount == 57
            assert (await wallet.audit()).adds_up
        database.close()
        if left:
            break
    assert number > 4
