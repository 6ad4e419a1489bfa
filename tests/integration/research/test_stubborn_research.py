"""Research on models that do not do as they are told: it ends with a sentence, or goes on without them, within ten model calls."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from stepwell.demo.web import OfflineWorld
from stepwell.models.routing import ModelRoutes
from stepwell.testing import Asked, ScriptedModel, call, say

from .conftest import StartResearch
from .roles import audit, plan

QUESTION = "How long is the Vardal bridge?"
BEHAVIOURS: dict[str, Any] = {
    "chatter": lambda asked: say("Sure, I can help with that!"),
    "empty answers": lambda asked: say(""),
    "only reasoning": lambda asked: AIMessage("", additional_kwargs={"reasoning_content": "hm"}),
    "tool calls": lambda asked: call("web_search", query="bridges"),
    "broken JSON": lambda asked: say('{"objective": "x", "steps": ['),
    "the wrong form": lambda asked: say('{"objective": "x", "steps": "all"}'),
    "a form that changes": lambda asked: say(f'{{"attempt": {asked.number}}}'),
    "its own prompt": lambda asked: say(asked.human),
}


@pytest.mark.parametrize("behaviour", BEHAVIOURS.values(), ids=BEHAVIOURS)
@pytest.mark.parametrize("good_until", ["plan", "audit", "write", "judge"])
async def test_it_ends_within_ten_model_calls_of_the_stubborn_one(
    world: OfflineWorld, start: StartResearch, behaviour: Any, good_until: str
) -> None:
    """The model does as it is told until it is asked for this, and never again."""
    stubborn: list[int] = []

    def answer(asked: Asked) -> Any:
        role = _role(asked)
        if ROLES.index(role) >= ROLES.index(good_until):
            stubborn.append(asked.number)
            return behaviour(asked)
        return {"plan": plan(world.pages[0].subject), "audit": audit(), "write": _write(asked)}[role]

    research = start(models=ModelRoutes(ScriptedModel.answering(answer)))
    state = await research.ask(QUESTION)
    if "__interrupt__" in state:
        state = await research.answer(True)
    assert len(stubborn) <= 10
    assert state.get("error_message") or state["final_report"]


ROLES = ("plan", "audit", "write", "judge")


def _role(asked: Asked) -> str:
    if asked.system.startswith("You check one sentence"):
        return "judge"
    if asked.system.startswith("You audit"):
        return "audit"
    return "write" if "The evidence:" in asked.human else "plan"


def _write(asked: Asked) -> str:
    shown = [line for line in asked.human.splitlines() if line.startswith("e") and "): " in line]
    return "## Found\n\n" + "\n\n".join(f"{line.partition('): ')[2]} [{line.partition(' ')[0]}]" for line in shown[:6])
