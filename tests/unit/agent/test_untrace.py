"""Our hooks run without LangChain's tracing wrapper; a caller's keep theirs."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware

from stepwell import CashuPaymentMiddleware, FilesystemMiddleware, PatchToolCallsMiddleware, create_deep_agent
from stepwell.agent.untrace import untrace
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import ScriptedModel, call, say

ASK = {"messages": [("user", "go")]}


class Theirs(AgentMiddleware):
    def wrap_model_call(self, request, handler):
        return handler(request)

    async def awrap_model_call(self, request, handler):
        return await handler(request)

    def wrap_tool_call(self, request, handler):
        return handler(request)

    async def awrap_tool_call(self, request, handler):
        return await handler(request)


def test_both_colours_of_both_hooks_are_found_in_what_langchain_builds():
    """Pins LangChain's internals: if this fails, steps cost more again."""
    agent = create_agent(ScriptedModel(), middleware=[FilesystemMiddleware()])
    assert untrace(agent) >= 4
    assert untrace(agent) == 0


@pytest.mark.parametrize("theirs_first", [True, False])
def test_only_ours_are_taken_out_of_a_longer_chain(theirs_first):
    stack = [PatchToolCallsMiddleware(), Theirs()]
    agent = create_agent(ScriptedModel(), [len_of], middleware=stack[::-1] if theirs_first else stack)
    assert untrace(agent) >= 4
    assert untrace(agent) == 0


def test_a_paid_call_costs_no_tracing_either():
    """It runs around every model call, and is measured."""
    ledger = MemoryLedger()
    payment = CashuPaymentMiddleware(WalletMeter(Wallet(ledger, [], bytes(32)), FlatPrice(1)))
    agent = create_agent(ScriptedModel(), [len_of], middleware=[payment])
    assert untrace(agent) >= 4
    assert untrace(agent) == 0
    ledger.close()


def len_of(text: str) -> int:
    """Length."""
    return len(text)


async def test_agents_with_a_caller_s_hooks_still_work():
    agent = create_deep_agent(ScriptedModel([call("len_of", text="abc"), say("3")] * 2), [len_of], middleware=[Theirs()])
    assert agent.invoke(ASK)["messages"][-2].content == "3"
    assert (await agent.ainvoke(ASK))["messages"][-2].content == "3"
