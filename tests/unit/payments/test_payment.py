"""A paid agent: every model call is charged once, a failed one is free, and without money the run pauses and goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import RubricMiddleware, create_deep_agent
from stepwell.backends.sync_async import run_in_portal
from stepwell.errors import AnswerShapeError, TokenInvalidError
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.middleware import CashuPaymentMiddleware
from stepwell.payments.pricing import FlatPrice, Rate, TokenPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import MemoryMint, ScriptedModel, call, fail, say

PRICE = 10
ASK = {"messages": [("user", "hello")]}


@pytest.fixture
def mint() -> MemoryMint:
    return MemoryMint(fee_ppk=100)


@pytest.fixture
def wallet(mint: MemoryMint) -> Iterator[Wallet]:
    ledger = MemoryLedger()
    yield Wallet(ledger, [mint], bytes(32), pause_s=0)
    ledger.close()


def paid(wallet: Wallet, *replies: Any, **more: Any) -> Any:
    payment = CashuPaymentMiddleware(WalletMeter(wallet, more.pop("price", FlatPrice(PRICE))), owner="alice")
    return create_deep_agent(ScriptedModel(list(replies)), middleware=[payment], checkpointer=InMemorySaver(), **more)


def fund(wallet: Wallet, mint: MemoryMint, sats: int, **more: Any) -> str:
    return run_in_portal(wallet.fund("alice", mint.issue_token(sats), **more)).session_id


def thread(session_id: str | None = None, name: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": name, **({"funding_id": session_id} if session_id else {})}}


def look(wallet: Wallet, session_id: str) -> Any:
    return run_in_portal(wallet.session(None, session_id))


def invoke(agent: Any, colour: str, given: Any, config: dict[str, Any]) -> Any:
    return agent.invoke(given, config) if colour == "sync" else asyncio.run(agent.ainvoke(given, config))


@pytest.fixture(params=["sync", "async"])
def colour(request: pytest.FixtureRequest) -> str:
    return request.param


def test_p2_each_model_call_is_charged_once(wallet: Wallet, mint: MemoryMint, colour: str):
    """P2."""
    session_id = fund(wallet, mint, 100)
    agent = paid(wallet, call("write_file", file_path="/a.md", content="x"), say("done"))
    result = invoke(agent, colour, ASK, thread(session_id))
    session = look(wallet, session_id)
    assert (session.spent, session.balance, session.reserved) == (20, 79, 0)
    assert (result["payment_spent_sats"], result["payment_balance_sats"], result["payment_status"]) == (20, 79, "active")
    assert "cashu" not in repr(result)


def test_a_failed_call_is_free(wallet: Wallet, mint: MemoryMint, colour: str):
    session_id = fund(wallet, mint, 100)
    agent = paid(wallet, fail(RuntimeError("the model is gone")), say("done"))
    with pytest.raises(RuntimeError, match="gone"):
        invoke(agent, colour, ASK, thread(session_id))
    session = look(wallet, session_id)
    assert (session.spent, session.reserved) == (0, 0)
    invoke(agent, colour, None, thread(session_id))
    assert look(wallet, session_id).spent == 10


def test_p3_a_run_pauses_without_money_and_goes_on_when_it_is_funded(wallet: Wallet, mint: MemoryMint, colour: str):
    """P3."""
    session_id = fund(wallet, mint, 16)
    agent = paid(wallet, call("write_file", file_path="/a.md", content="x"), say("done"))
    paused = invoke(agent, colour, ASK, thread(session_id))
    (question,) = paused["__interrupt__"]
    assert {**question.value, "message": ""} == {
        "type": "payment_exhausted",
        "spent_sats": 10,
        "needed_sats": 10,
        "balance_sats": 5,
        "accepted_mints": [mint.url],
        "unit": "sat",
        "code": "balance_short",
        "message": "",
    }
    assert fund(wallet, mint, 100, session_id=session_id) == session_id
    result = invoke(agent, colour, Command(resume={question.id: {"funding_id": session_id}}), thread(session_id))
    assert result["messages"][-1].content == "done"
    assert look(wallet, session_id).spent == 20
    assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"], "no step was repeated"


def test_a_session_that_a_thread_changes_to_ends_with_that_thread(wallet: Wallet, mint: MemoryMint, colour: str):
    first, second = fund(wallet, mint, 16), fund(wallet, mint, 100)
    agent = paid(wallet, call("write_file", file_path="/a.md", content="x"), say("done"))
    (question,) = invoke(agent, colour, ASK, thread(first))["__interrupt__"]
    invoke(agent, colour, Command(resume={question.id: {"funding_id": second}}), thread(first))
    assert look(wallet, second).spent == 10
    run_in_portal(wallet.ledger.detach("t"))
    assert (look(wallet, first).ending, look(wallet, second).ending) == (True, True)


def test_a_run_that_nobody_pays_for_asks_first(wallet: Wallet, mint: MemoryMint, colour: str):
    agent = paid(wallet, say("done"))
    paused = invoke(agent, colour, ASK, thread())
    (question,) = paused["__interrupt__"]
    assert (question.value["needed_sats"], question.value["balance_sats"]) == (10, 0)
    result = invoke(agent, colour, Command(resume={question.id: {"funding_id": fund(wallet, mint, 100)}}), thread())
    assert result["payment_spent_sats"] == 10


def test_who_does_not_want_to_pay_gets_a_last_message(wallet: Wallet, mint: MemoryMint, colour: str):
    agent = paid(wallet, say("never"))
    (question,) = invoke(agent, colour, ASK, thread())["__interrupt__"]
    result = invoke(agent, colour, Command(resume={question.id: {"cancel": True}}), thread())
    assert "nobody paid" in result["messages"][-1].content


def test_subagents_draw_on_their_callers_session(wallet: Wallet, mint: MemoryMint, colour: str):
    session_id = fund(wallet, mint, 100)
    helper = {
        "name": "helper",
        "description": "helps",
        "system_prompt": "help",
        "model": ScriptedModel([say("helped")]),
    }
    agent = paid(wallet, call("task", description="do it", subagent_type="helper"), say("done"), subagents=[helper])
    result = invoke(agent, colour, ASK, thread(session_id))
    assert result["messages"][-1].content == "done"
    assert look(wallet, session_id).spent == 30


def test_a_model_that_judges_is_paid_too(wallet: Wallet, mint: MemoryMint, colour: str):
    session_id = fund(wallet, mint, 100)
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(PRICE)), owner="alice")
    judge = ScriptedModel([call("GraderResponse", result="satisfied", explanation="Good.", criteria=[])])
    stack = [payment, RubricMiddleware(rubric="- good", model=judge)]
    agent = create_deep_agent(ScriptedModel([say("done")]), middleware=stack, checkpointer=InMemorySaver())
    result = invoke(agent, colour, ASK, thread(session_id))
    assert [each["result"] for each in result["checks"].values()] == ["satisfied"]
    assert look(wallet, session_id).spent == 20


def test_a_judgement_waits_for_money(wallet: Wallet, mint: MemoryMint, colour: str):
    session_id = fund(wallet, mint, 15)
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(PRICE)), owner="alice")
    judge = ScriptedModel([call("GraderResponse", result="satisfied", explanation="Good.", criteria=[])])
    stack = [payment, RubricMiddleware(rubric="- good", model=judge)]
    agent = create_deep_agent(ScriptedModel([say("done")]), middleware=stack, checkpointer=InMemorySaver())
    (question,) = invoke(agent, colour, ASK, thread(session_id))["__interrupt__"]
    assert question.value["type"] == "payment_exhausted"
    result = invoke(agent, colour, Command(resume={question.id: {"cancel": True}}), thread())
    (evaluation,) = result["checks"].values()
    assert evaluation["result"] == "grader_error"
    assert result["messages"][-1].content == "done"
    assert not judge.asked


def test_an_answer_is_confirmed_once_it_is_in_the_thread_and_a_branch_is_charged_again(
    wallet: Wallet, mint: MemoryMint, colour: str
):
    session_id = fund(wallet, mint, 100)
    agent = paid(wallet, say("one"), say("two"))
    invoke(agent, colour, ASK, thread(session_id))
    before = next(state for state in agent.get_state_history(thread()) if state.next == ("model",))
    invoke(agent, colour, None, {**before.config, "configurable": {**before.config["configurable"], "funding_id": session_id}})
    session = look(wallet, session_id)
    assert (session.spent, session.lost_answers) == (20, 0), "both answers are in the thread's history"


def test_p5_an_agent_asks_for_money_and_a_person_decides(wallet: Wallet, mint: MemoryMint, colour: str):
    """P5."""
    session_id = fund(wallet, mint, 100)
    agent = paid(wallet, call("request_funding", amount_sats=500, reason="forty pages to read"), say("thanks"))
    (question,) = invoke(agent, colour, ASK, thread(session_id))["__interrupt__"]
    assert (question.value["needed_sats"], question.value["reason"]) == (500, "forty pages to read")
    assert (question.value["spent_sats"], question.value["balance_sats"]) == (10, 89)
    assert look(wallet, session_id).credits == 100
    fund(wallet, mint, 500, session_id=session_id)
    result = invoke(agent, colour, Command(resume={question.id: {"funding_id": session_id}}), thread(session_id))
    assert result["messages"][-1].content == "thanks"


def test_p5_declining_costs_nothing(wallet: Wallet, mint: MemoryMint):
    """P5."""
    session_id = fund(wallet, mint, 100)
    agent = paid(wallet, call("request_funding", amount_sats=500, reason="more"), say("then not"))
    (question,) = agent.invoke(ASK, thread(session_id))["__interrupt__"]
    result = agent.invoke(Command(resume={question.id: {"cancel": True}}), thread(session_id))
    assert "declined" in result["messages"][-2].content
    assert look(wallet, session_id).credits == 100


def test_the_status_says_exhausted_while_the_next_call_cannot_be_paid(wallet: Wallet, mint: MemoryMint, colour: str):
    """T7"""
    session_id = fund(wallet, mint, 16)
    agent = paid(wallet, call("write_todos", todos=[]), say("done"))
    (question,) = invoke(agent, colour, ASK, thread(session_id))["__interrupt__"]
    assert agent.get_state(thread()).values["payment_status"] == "exhausted"
    fund(wallet, mint, 100, session_id=session_id)
    assert (
        invoke(agent, colour, Command(resume={question.id: {"funding_id": session_id}}), thread())["payment_status"] == "active"
    )


def test_a_refund_shows_in_the_thread_when_it_goes_on(wallet: Wallet, mint: MemoryMint, colour: str):
    """T7"""
    session_id = fund(wallet, mint, 100)
    agent = paid(wallet, say("one"), say("two"))
    invoke(agent, colour, ASK, thread(session_id))
    refund = run_in_portal(wallet.refund("alice", session_id))
    paused = invoke(agent, colour, ASK, thread())
    assert (paused["payment_status"], paused["payment_refund_claimed"]) == ("refunded", False)
    mint.spend(run_in_portal(wallet.claim("alice", refund.token_id)))
    run_in_portal(wallet.sweep())
    (question,) = paused["__interrupt__"]
    invoke(agent, colour, Command(resume={question.id: {"cancel": True}}), thread())
    assert invoke(agent, colour, ASK, thread())["payment_refund_claimed"] is True


def test_anothers_session_in_the_input_shows_nothing_of_it(wallet: Wallet, mint: MemoryMint):
    theirs = run_in_portal(wallet.fund("bob", mint.issue_token(100))).session_id
    agent = paid(wallet, say("never"))
    given = {**ASK, "funding_id": theirs, "payment_status": "active"}
    with pytest.raises(Exception, match="No payment session"):
        agent.invoke(given, thread())
    assert "payment_balance_sats" not in agent.get_state(thread()).values


def test_a_token_that_enters_the_graph_is_refused(wallet: Wallet, mint: MemoryMint):
    agent = paid(wallet, say("never"))
    with pytest.raises(TokenInvalidError) as refused:
        agent.invoke(ASK, {"configurable": {"thread_id": "t", "payment_token": mint.issue(10)}})
    assert refused.value.code == "token_in_graph"
    (question,) = agent.invoke(ASK, thread(name="u"))["__interrupt__"]
    with pytest.raises(AnswerShapeError, match="funding_id"):
        agent.invoke(Command(resume={question.id: {"payment_token": mint.issue(10)}}), thread(name="u"))
    assert agent.get_state(thread(name="u")).interrupts == (question,), "it is still asked"


def test_another_ones_session_is_not_drawn_on(wallet: Wallet, mint: MemoryMint):
    session_id = run_in_portal(wallet.fund("bob", mint.issue_token(100))).session_id
    with pytest.raises(Exception, match="No payment session"):
        paid(wallet, say("never")).invoke(ASK, thread(session_id))
    assert look(wallet, session_id).spent == 0


def test_a_price_by_tokens_charges_what_was_used(wallet: Wallet, mint: MemoryMint):
    session_id = fund(wallet, mint, 10_000)
    price = TokenPrice({"*": Rate(1_000_000, 1_000_000)}, minimum_sats=0)
    agent = paid(wallet, say("four words and more"), price=price)
    result = agent.invoke(ASK, thread(session_id))
    answer = result["messages"][-1]
    session = look(wallet, session_id)
    assert 0 < session.spent < 4096, "less than what was reserved"
    if answer.usage_metadata:
        assert session.spent == answer.usage_metadata["input_tokens"] + answer.usage_metadata["output_tokens"]


class ForgetfulSaver(InMemorySaver):
    """Loses what a step has written, once: as if the process had died between the charge and the checkpoint."""

    dies = False

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if self.dies and any(name == "payment_charged" for name, _ in writes):
            self.dies = False
            raise OSError("killed")
        super().put_writes(config, writes, task_id, task_path)


def test_p2_an_answer_that_is_lost_in_a_crash_is_not_charged_and_is_counted(wallet: Wallet, mint: MemoryMint):
    """P2."""
    session_id = fund(wallet, mint, 100)
    saver = ForgetfulSaver()
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(PRICE)), owner="alice")
    agent = create_deep_agent(ScriptedModel([say("lost"), say("kept")]), middleware=[payment], checkpointer=saver)
    saver.dies = True
    with pytest.raises(OSError, match="killed"):
        agent.invoke(ASK, thread(session_id), durability="sync")
    assert look(wallet, session_id).spent == 10, "it looks charged"
    result = agent.invoke(None, thread(session_id), durability="sync")
    assert [message.content for message in result["messages"]] == ["hello", "kept"]
    session = look(wallet, session_id)
    assert (session.spent, session.lost_answers) == (10, 1)
