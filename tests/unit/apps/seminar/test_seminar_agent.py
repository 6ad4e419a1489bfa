"""The older seminar agent: one versioned artifact, paid for in one piece."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from stepwell.apps.seminar.agent import Price, build
from stepwell.errors import ConfigurationError, PaymentError
from stepwell.models import CAPABLE
from stepwell.testing import ScriptedModel, call, calls, say

THREAD = {"configurable": {"thread_id": "1"}}
WRITE = call("write_artifact", text="Sound money keeps its worth.", note="first draft")


@dataclass
class Till:
    """A purse over one session, which keeps sums instead of tokens."""

    balance: int
    done: list[str] = field(default_factory=list)
    held: dict[str, int] = field(default_factory=dict)

    async def session(self, owner, session_id):
        self.done.append("session")
        if session_id != "f1":
            raise PaymentError(f"There is no session '{session_id}'.")

    async def reserve(self, owner, session_id, key, amount_sats):
        self.done.append("reserve")
        if amount_sats > self.balance:
            raise PaymentError(f"The seminar costs {amount_sats} sats, and there are {self.balance}.")
        self.held[key] = amount_sats
        return SimpleNamespace(key=key, attempt=1)

    async def settle(self, reservation, cost_sats):
        self.done.append("settle")
        self.balance -= cost_sats
        return SimpleNamespace(charged=cost_sats, key=self.held.pop(reservation.key))

    async def confirm(self, session_id, keys=None):
        self.done.append("confirm")
        return len(keys)

    async def refund(self, owner, session_id):
        self.done.append("refund")
        rest, self.balance = self.balance, 0
        return SimpleNamespace(token_id="r1", amount=rest)


def paid(till, *script, sats=30):
    return build(ScriptedModel(list(script)), price=Price(till, sats), checkpointer=InMemorySaver())


async def run(graph, **state):
    return await graph.ainvoke({"messages": [("user", "Write on sound money")], **state}, THREAD)


async def test_a_run_is_validated_redeemed_worked_charged_and_refunded_in_this_order():
    """T1: the legacy agent."""
    till = Till(100)
    values = await run(paid(till, WRITE, say("Written.")), funding_id="f1")
    assert till.done == ["session", "reserve", "settle", "confirm", "refund"]
    assert (values["payment_status"], values["payment_spent_sats"], values["payment_refund_id"]) == ("refunded", 30, "r1")
    assert values["artifact"][-1]["text"] == "Sound money keeps its worth."
    assert till.held == {}


@pytest.mark.parametrize(("balance", "funding"), [(100, None), (100, "f9"), (10, "f1")])
async def test_without_enough_money_no_model_is_asked_and_nothing_is_taken(balance, funding):
    till = Till(balance)
    values = await run(paid(till), funding_id=funding)
    assert values["payment_status"] == "exhausted"
    assert "sats" in values["messages"][-1].text or "no session" in values["messages"][-1].text
    assert till.balance == balance
    assert not {"settle", "refund"} & set(till.done)


async def test_a_reservation_that_is_sent_in_is_not_taken():
    till = Till(100, held={"another payer's": 30})
    values = await run(paid(till), payment_held={"key": "another payer's", "attempt": 1}, payment_status="active")
    assert values["payment_status"] == "exhausted"
    assert till.held == {"another payer's": 30}


async def test_a_run_that_fails_is_not_charged():
    till = Till(100)
    with pytest.raises(RuntimeError):
        await run(paid(till, RuntimeError("down")), funding_id="f1")
    assert till.balance == 100
    assert "settle" not in till.done


async def test_every_change_is_a_version_and_two_in_one_step_are_refused():
    patch = call("patch_artifact", search="worth", replace="value", note="a word")
    twice = calls(patch, call("patch_artifact", search="Sound", replace="Good", note="another"))
    graph = build(
        ScriptedModel([WRITE, twice, patch, call("patch_artifact", search="x", replace="y", note=""), say("Done.")]),
        checkpointer=InMemorySaver(),
    )
    values = await run(graph)
    assert [version["text"] for version in values["artifact"]] == [
        "Sound money keeps its worth.",
        "Sound money keeps its value.",
    ]
    errors = [message.text for message in values["messages"] if message.type == "tool" and message.status == "error"]
    assert len(errors) == 3
    assert "stands 0 times" in errors[-1]


class WeakModel(ScriptedModel):
    """A model that says of itself that it cannot use tools."""

    capabilities: Any = replace(CAPABLE, tools=False)


def test_a_model_that_cannot_use_tools_is_refused_with_the_way_out():
    with pytest.raises(ConfigurationError, match="deeptutor"):
        build(WeakModel([]))
