"""Each row of the mission about money, with a real mint, SQLite and an agent. `make prove` has them with the older mint too, whose keysets
have ids of the first version."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from tests.conftest import PROVE
from tests.integration.payments.mints import NEWEST, OLDER, MintProcess, buy, run_mint

from stepwell import CashuPaymentMiddleware, create_deep_agent
from stepwell.database.sqlite.database import Database
from stepwell.errors import RefundUnavailableError
from stepwell.payments.cashu.tokens import decode_token
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.mint import HttpMint
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import ScriptedModel, call, say

pytestmark = pytest.mark.prove
OWNER = "alice"
PRICE = 10
ASK = {"messages": [("user", "hello")]}
KEYSET_VERSIONS = {NEWEST: "01", OLDER: "00"}


@pytest.fixture(scope="module", params=[NEWEST, OLDER] if PROVE else [NEWEST])
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MintProcess]:
    if request.param == NEWEST:
        yield request.getfixturevalue("mint_process")
        return
    with run_mint(tmp_path_factory.mktemp("older mint"), request.param) as process:
        yield process


@pytest.fixture
async def mint(process: MintProcess) -> AsyncIterator[HttpMint]:
    async with HttpMint(process.url, timeout_s=60) as mint:
        yield mint


@pytest.fixture
def wallet(mint: HttpMint, tmp_path: Path) -> Iterator[Wallet]:
    database = Database(tmp_path / "stepwell.db")
    yield Wallet(DatabaseLedger(database), [mint], os.urandom(32))
    database.close()


def paid(wallet: Wallet, *replies: Any, **more: Any) -> Any:
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(PRICE)), owner=OWNER)
    return create_deep_agent(ScriptedModel(list(replies)), middleware=[payment], checkpointer=InMemorySaver(), **more)


def thread(session_id: str, name: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": name, "funding_id": session_id}}


async def states(mint: HttpMint, text: str) -> set[str]:
    return set((await mint.states([proof.point for proof in decode_token(text).proofs])).values())


async def test_p1_a_token_is_untouched_until_work_starts(
    wallet: Wallet, mint: HttpMint, process: MintProcess, request: pytest.FixtureRequest
):
    """P1."""
    token = await buy(mint, process, 100)
    version = KEYSET_VERSIONS[request.node.callspec.params["process"]]
    assert {name[:2] for name, info in (await mint.keysets()).items() if info.active} == {version}
    assert (await wallet.validate(decode_token(token))).net_sats == 99
    session_id = (await wallet.fund(OWNER, decode_token(token))).session_id
    assert await states(mint, token) == {"UNSPENT"}
    await paid(wallet, say("done")).ainvoke(ASK, thread(session_id))
    assert await states(mint, token) == {"SPENT"}


async def test_p2_each_answer_is_charged_once(wallet: Wallet, mint: HttpMint, process: MintProcess):
    """P2."""
    session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, process, 100)))).session_id
    agent = paid(wallet, call("write_todos", todos=[]), call("write_todos", todos=[]), say("done"))
    result = await agent.ainvoke(ASK, thread(session_id))
    session = await wallet.session(OWNER, session_id)
    assert (session.spent, session.balance, session.lost_answers) == (30, 69, 0)
    assert result["payment_spent_sats"] == 30
    assert [entry.kind for entry in await wallet.ledger.entries(OWNER, session_id)].count("charge") == 3


async def test_p3_a_run_that_runs_short_goes_on_when_it_is_funded(wallet: Wallet, mint: HttpMint, process: MintProcess):
    """P3."""
    session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, process, 16)))).session_id
    agent = paid(wallet, call("write_todos", todos=[]), say("done"))
    (question,) = (await agent.ainvoke(ASK, thread(session_id)))["__interrupt__"]
    assert (question.value["type"], question.value["balance_sats"]) == ("payment_exhausted", 5)
    await wallet.fund(OWNER, decode_token(await buy(mint, process, 32)), session_id=session_id)
    resumed = Command(resume={question.id: {"funding_id": session_id}})
    result = await agent.ainvoke(resumed, thread(session_id))
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
    session = await wallet.session(OWNER, session_id)
    assert (session.credits, session.spent, session.fees) == (48, 20, 2)


async def test_p4_the_rest_is_money_of_the_mint_until_it_is_claimed(wallet: Wallet, mint: HttpMint, process: MintProcess):
    """P4."""
    session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, process, 100)))).session_id
    await paid(wallet, say("done")).ainvoke(ASK, thread(session_id))
    refund = await wallet.refund(OWNER, session_id)
    tokens = {await wallet.claim(OWNER, refund.token_id) for _ in range(2)}
    assert refund.amount == 100 - 1 - PRICE - 1
    payer = Wallet(wallet.ledger, [mint], os.urandom(32))
    other = (await payer.fund("somebody", decode_token(tokens.pop()))).session_id
    await payer.release(await payer.reserve("somebody", other, "spend it", 1))
    with pytest.raises(RefundUnavailableError):
        await wallet.claim(OWNER, refund.token_id)
    audit = await wallet.audit()
    assert audit.adds_up
    assert audit.spent_elsewhere == 0


@pytest.mark.parametrize("pays", [True, False])
async def test_p5_an_agent_asks_for_money_and_a_person_decides(
    wallet: Wallet, mint: HttpMint, process: MintProcess, pays: bool
):
    """P5."""
    session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, process, 32)))).session_id
    agent = paid(wallet, call("request_funding", amount_sats=64, reason="forty pages"), say("done"))
    (question,) = (await agent.ainvoke(ASK, thread(session_id)))["__interrupt__"]
    assert (question.value["needed_sats"], question.value["reason"]) == (64, "forty pages")
    if pays:
        await wallet.fund(OWNER, decode_token(await buy(mint, process, 64)), session_id=session_id)
    answer = {"funding_id": session_id} if pays else {"cancel": True}
    result = await agent.ainvoke(Command(resume={question.id: answer}), thread(session_id))
    assert ("declined" in result["messages"][-2].content) is not pays
    rest = (await wallet.refund(OWNER, session_id)).amount
    assert rest == (96 - 3 if pays else 32 - 2) - 2 * PRICE


async def test_twenty_runs_at_once_on_one_session_never_overdraw_it(wallet: Wallet, mint: HttpMint, process: MintProcess):
    session_id = (await wallet.fund(OWNER, decode_token(await buy(mint, process, 256)))).session_id
    lowest = []

    async def run(number: int) -> int:
        """How many answers it got before the money was gone."""
        agent = paid(wallet, call("write_todos", todos=[]), call("write_todos", todos=[]), say("done"))
        result = await agent.ainvoke(ASK, thread(session_id, f"t{number}"))
        lowest.append((await wallet.session(OWNER, session_id)).available)
        return sum(message.type == "ai" for message in result["messages"])

    answers = sum(await asyncio.gather(*(run(number) for number in range(20))))
    session = await wallet.session(OWNER, session_id)
    assert (session.credits, session.reserved) == (256, 0)
    assert session.spent == answers * PRICE == 250, "sixty calls were wanted, and twenty-five could be paid for"
    assert min(lowest) >= 0
