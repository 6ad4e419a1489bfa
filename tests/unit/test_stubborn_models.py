"""Every application on models that do not do as they are told: each run ends or reaches the user within ten model calls, and costs what
it should. (Research, which has no tools, is in tests/integration/research/test_stubborn_research.py.)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell import create_deep_agent
from stepwell.backends.objects import memory_bucket
from stepwell.demo.simple import build as build_simple
from stepwell.demo.web import ScriptedWeb
from stepwell.middleware.own_words import is_own_answer, is_refusal
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.middleware import CashuPaymentMiddleware
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.deep.agent import build_agent as build_deep_research
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.policy.file import default_policy
from stepwell.testing import Asked, MemoryMint, ScriptedModel, call, calls, say
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tutor.agent import build as build_tutor
from stepwell.workspace.agent import build_agent as build_workspace
from stepwell.workspace.places import InBucket

MOST_CALLS = 10
PRICE = 10


@dataclass(frozen=True)
class Product:
    """How a product is built, and calls of its tools: two that give the same result each time, one that is refused, whom it can ask."""

    build: Callable[..., Any]
    same: tuple[str, dict[str, Any]]
    other: tuple[str, dict[str, Any]]
    refused: tuple[str, dict[str, Any]]
    helper: str | None = None


class NoEngine:
    name = "none"

    async def search(self, query: str, limit: int = 10) -> Any:
        raise AssertionError("no behaviour here searches")


def deep_research(model: ScriptedModel, **options: Any) -> Any:
    vault = MemoryVault()
    equipment = Equipment(
        policy=default_policy(),
        web=ScriptedWeb({}),
        search=lambda web: SearchChain([NoEngine()]),
        embedder=LexicalEmbedder(),
        models=ModelRoutes(model),
        vault_for=lambda config: vault,
    )
    return build_deep_research(equipment, **options)


def workspace(model: ScriptedModel, **options: Any) -> Any:
    return build_workspace(model, InBucket(memory_bucket()), **options)


LS = ("ls", {"path": "/"})
GLOB = ("glob", {"pattern": "*.md"})
TODOS = ("write_todos", {"todos": [{"content": "Think", "status": "pending"}]})
NOBODY = ("task", {"description": "do it", "subagent_type": "nobody"})
PRODUCTS = {
    "plain": Product(create_deep_agent, LS, GLOB, NOBODY, "general-purpose"),
    "simple": Product(build_simple, LS, GLOB, NOBODY, "general-purpose"),
    "tutor": Product(
        build_tutor, ("lint_seminar", {}), ("export", {"form": "md"}), ("set_phase", {"phase": "define"}), "reader"
    ),
    "deep research": Product(deep_research, LS, GLOB, NOBODY, "researcher"),
    "workspace": Product(workspace, TODOS, ("write_todos", {"todos": []}), NOBODY, "gcs-filesystem"),
}


def broken(asked: Asked, product: Product) -> AIMessage:
    cut = {
        "name": product.same[0],
        "args": '{"path": ',
        "id": f"broken_{asked.number}",
        "error": "cut",
        "type": "invalid_tool_call",
    }
    return AIMessage("", invalid_tool_calls=[cut])


def delegating(asked: Asked, product: Product, doing: Any) -> Any:
    """The main agent hands the same task out again and again; its helper does as it is told here."""
    if product.helper is None:
        return call("task", description="do it", subagent_type="helper")
    is_helper = asked.agent == product.helper
    return doing if is_helper else call("task", description="do it", subagent_type=product.helper)


Behaviour = Callable[[Asked, Product], Any]
BEHAVIOURS: dict[str, Behaviour] = {
    "the same call for ever": lambda asked, it: call(it.same[0], **it.same[1]),
    "two calls in turn": lambda asked, it: call((pair := (it.same, it.other)[asked.number % 2])[0], **pair[1]),
    "two calls at once, for ever": lambda asked, it: calls(call(it.same[0], **it.same[1]), call(it.other[0], **it.other[1])),
    "a refused call for ever": lambda asked, it: call(it.refused[0], **it.refused[1]),
    "a refused call with a counter": lambda asked, it: call(it.refused[0], **it.refused[1], attempt=asked.number),
    "a tool that does not exist": lambda asked, it: call("no_such_tool"),
    "another tool that does not exist each time": lambda asked, it: call(f"no_such_tool_{asked.number}"),
    "arguments that do not fit": lambda asked, it: call(TODOS[0], todos="everything"),
    "arguments that are not JSON": broken,
    "empty answers": lambda asked, it: say(""),
    "only thinking": lambda asked, it: AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}]),
    "only reasoning": lambda asked, it: AIMessage("", additional_kwargs={"reasoning_content": "hm"}),
    "a huge write for ever": lambda asked, it: call(
        "write_file", file_path="/scratch/a.md", content="x" * 300_000, overwrite=True
    ),
    "an empty question for ever": lambda asked, it: call("ask_user", question=" "),
    "the same task for ever": lambda asked, it: delegating(asked, it, say("Done.")),
    "the same task for ever, to somebody who is stuck": lambda asked, it: delegating(
        asked, it, call("read_file", file_path="/no/such.md")
    ),
    "silence after work": lambda asked, it: call(it.same[0], **it.same[1]) if asked.number == 1 else say(""),
}


def stubborn(behaviour: Behaviour, product: Product) -> ScriptedModel:
    return ScriptedModel.answering(lambda asked: behaviour(asked, product))


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
async def test_it_ends_or_reaches_the_user_within_ten_model_calls(name: str, behaviour: Behaviour):
    product = PRODUCTS[name]
    model = stubborn(behaviour, product)
    graph = product.build(model, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1", "gcs_root_path": "/acme/plans/"}}
    final = await graph.ainvoke({"messages": [("user", "Help me with my argument about cars in cities")]}, config)
    assert len(model.asked) <= MOST_CALLS, [asked.describe() for asked in model.asked]
    asking = [each.value for each in final.get("__interrupt__", ())]
    if any("action_requests" in each for each in asking):
        return  # a person approves each such call, and can stop it
    told = [asked for asked in model.asked if "nowhere" in asked.messages[-1].text or "not be used" in asked.messages[-1].text]
    by_budget = final["messages"][-1].response_metadata.get("finish_reason") == "budget"
    taken_over = name == "tutor"  # its method asks as soon as the model repeats itself
    assert told or by_budget or taken_over, "the model heard of it before the harness decided"
    if asking:
        assert asking[0]["question"].strip()
    else:
        assert final["messages"][-1].text.strip()
        assert is_own_answer(final["messages"][-1])


@pytest.mark.parametrize("name", ["plain", "tutor"])
@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
async def test_what_rules_of_ours_refused_is_not_charged_and_the_rest_is(name: str, behaviour: Behaviour):
    product, mint, ledger = PRODUCTS[name], MemoryMint(fee_ppk=100), MemoryLedger()
    wallet = Wallet(ledger, [mint], bytes(32), pause_s=0)
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(PRICE)), owner="alice")
    options: Any = {"payment": payment} if name == "tutor" else {"middleware": [payment]}
    model = stubborn(behaviour, product)
    graph = product.build(model, checkpointer=InMemorySaver(), **options)
    session_id = (await wallet.fund("alice", mint.issue_token(1000))).session_id
    config: Any = {"configurable": {"thread_id": "1", "funding_id": session_id}}
    final = await graph.ainvoke({"messages": [("user", "Help me with my argument about cars in cities")]}, config)
    session = await wallet.session("alice", session_id)
    assert session.spent == PRICE * charged_steps(final["messages"]) + PRICE * steps_of_helpers(model, product)
    assert (session.reserved, session.lost_answers) == (0, 0)
    assert (await wallet.audit()).adds_up
    ledger.close()


def charged_steps(messages: list[Any]) -> int:
    """The model's answers in a thread, but for those that came to nothing but refusals by rules of ours."""
    results = {message.tool_call_id: message for message in messages if message.type == "tool"}
    answers = [message for message in messages if message.type == "ai" and not is_own_answer(message)]
    return sum(not all(is_refusal(results[made["id"]]) for made in message.tool_calls) for message in answers)


def steps_of_helpers(model: ScriptedModel, product: Product) -> int:
    return sum(asked.agent == product.helper for asked in model.asked)


async def test_a_refused_state_change_costs_the_tutors_user_nothing():
    """Two calls of a tool that the method refuses, then the method's own question: not a sat."""
    mint = MemoryMint(fee_ppk=100)
    ledger = MemoryLedger()
    wallet = Wallet(ledger, [mint], bytes(32), pause_s=0)
    payment = CashuPaymentMiddleware(WalletMeter(wallet, FlatPrice(PRICE)), owner="alice")
    model = ScriptedModel.answering(lambda asked: call("set_phase", phase="define"))
    tutor = build_tutor(model, payment=payment, checkpointer=InMemorySaver())
    session_id = (await wallet.fund("alice", mint.issue_token(100))).session_id
    config: Any = {"configurable": {"thread_id": "1", "funding_id": session_id}}
    paused = await tutor.ainvoke({"messages": [("user", "Help me with my argument")]}, config)
    assert paused["__interrupt__"][0].value["question"].startswith("What question")
    assert (len(model.asked), (await wallet.session("alice", session_id)).spent) == (2, 0)
    assert paused["payment_spent_sats"] == 0
    ledger.close()
