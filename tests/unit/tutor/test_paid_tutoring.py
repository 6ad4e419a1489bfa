"""The tutor with real money of a mint in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.middleware import CashuPaymentMiddleware
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.settings import PAYMENT_VARIABLES
from stepwell.testing import MemoryMint, ScriptedModel, call, say
from stepwell.tutor.agent import build as build_tutor
from stepwell.tutor.agent import make_graph, make_seminar

PRICE = 10


@pytest.fixture
def mint() -> MemoryMint:
    return MemoryMint(fee_ppk=100)


@pytest.fixture
def wallet(mint: MemoryMint) -> Iterator[Wallet]:
    ledger = MemoryLedger()
    yield Wallet(ledger, [mint], bytes(32), pause_s=0)
    ledger.close()


async def test_each_call_of_the_tutor_is_charged_and_a_short_balance_pauses_it(wallet: Wallet, mint: MemoryMint):
    """T2, P3: the payment stands first, also in front of the reader, which draws on the same session."""
    script = {
        "deeptutor": [call("task", description="What do my notes say?", subagent_type="reader"), say("That is all they say.")],
        "reader": [say("They say little.")],
    }
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(PRICE)), owner="alice")
    tutor = build_tutor(ScriptedModel.by_agent(script), payment=payment, checkpointer=InMemorySaver())
    session_id = (await wallet.fund("alice", mint.issue_token(26))).session_id
    config: Any = {"configurable": {"thread_id": "1", "funding_id": session_id}}
    paused = await tutor.ainvoke({"messages": [("user", "Summarise what my notes say about cars.")]}, config)
    (question,) = [each for each in paused["__interrupt__"] if each.value["type"] == "payment_exhausted"]
    assert (question.value["spent_sats"], question.value["balance_sats"]) == (PRICE * 2, 5)
    await wallet.fund("alice", mint.issue_token(64), session_id=session_id)
    done = await tutor.ainvoke(Command(resume={question.id: {"funding_id": session_id}}), config)
    assert done["messages"][-1].text.startswith("That is all they say.")
    assert (await wallet.session("alice", session_id)).spent == PRICE * 3


@pytest.mark.parametrize("make", [make_graph, make_seminar])
def test_with_a_model_and_no_price_the_tutor_is_free(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch):
    """T1"""
    for name in PAYMENT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STEPWELL_MODEL", "anthropic:claude-sonnet-4-5")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no key at all")
    assert make().name == "deeptutor"
