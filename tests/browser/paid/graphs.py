"""Agents that are paid for: one makes as many calls as it is asked for, one meets a plan, a request for money and an approval in a row,
one asks for money and for a change of the person's files at once."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool
from langgraph.types import interrupt

from stepwell import CashuPaymentMiddleware, ClientToolsMiddleware, create_deep_agent
from stepwell.testing import Asked, ScriptedModel, call, calls, say, slow

_PLAN = {
    "objective": "Order pumps.",
    "steps": [{"id": "s1", "tool": "web_search", "input": "pumps", "rationale": "To know prices.", "depends_on": []}],
    "estimated_token_budget": 1000,
    "revision": 1,
}


def _results(asked: Asked) -> list[str]:
    newest = max(place for place, message in enumerate(asked.messages) if message.type == "human")
    return [message.text for message in asked.messages[newest:] if message.type == "tool"]


def _count(asked: Asked) -> Any:
    """`work 3`: two steps of planning, then an answer."""
    wanted = int(next(message.text for message in reversed(asked.messages) if message.type == "human").split()[-1])
    done = len(_results(asked))
    if done + 1 < wanted:
        return slow(call("write_todos", todos=[{"content": f"step {done}", "status": "pending"}]), seconds_per_chunk=0.05)
    return say(f"All {wanted} calls are made.")


@tool
def propose_plan() -> str:
    """Propose a plan."""
    answer = interrupt({"type": "plan_approval", "plan": _PLAN, "audit": None, "estimate": None})
    return f"plan {'approved' if answer is True else answer['decision']}"


@tool
def order(count: int) -> str:
    """Order some pumps."""
    return f"ordered {count}"


def _work(asked: Asked) -> Any:
    done = _results(asked)
    steps = [
        call("propose_plan"),
        call("request_funding", amount_sats=40, reason="Comparing twelve suppliers takes about eight calls."),
        call("order", count=3),
        say(f"Done: {' | '.join(done)}"),
    ]
    return steps[min(len(done), 3)]


def _ask_for_both(asked: Asked) -> Any:
    done = _results(asked)
    if done:
        return say(f"Done: {' | '.join(done)}")
    change = call("write_file", file_path="/project/notes.md", content="changed\n")
    return calls(call("request_funding", amount_sats=40, reason="The notes are long."), change)


counter = create_deep_agent(ScriptedModel.answering(_count), middleware=[CashuPaymentMiddleware()])
planner = create_deep_agent(
    ScriptedModel.answering(_work), [propose_plan, order], interrupt_on={"order": True}, middleware=[CashuPaymentMiddleware()]
)
secretary = create_deep_agent(
    ScriptedModel.answering(_ask_for_both), middleware=[CashuPaymentMiddleware(), ClientToolsMiddleware(mount="/project/")]
)
gratis = create_deep_agent(ScriptedModel.answering(lambda asked: say("This costs nothing.")))
