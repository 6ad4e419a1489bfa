"""`on_input`: a message of the user arrives. A step of its own, before the agent does anything with the message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain.agents.middleware.types import hook_config
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from stepwell.middleware.moments.asking import Course, arun, consult, run
from stepwell.middleware.moments.base import HookedMiddleware, no_handler, place_of, withheld
from stepwell.middleware.moments.events import InputEvent
from stepwell.middleware.own_words import own_answer


class OnInput(HookedMiddleware):
    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", run(self._check_input(state, runtime), no_handler))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", await arun(self._check_input(state, runtime), no_handler))

    def _check_input(self, state: Any, runtime: Runtime[Any]) -> Course:
        changed: list[AnyMessage] = []
        for message in _new_messages(state["messages"]):
            given = InputEvent(**place_of(state, runtime), message=message)
            event, verdict = yield from consult(self.hooks["on_input"], given)
            if verdict:
                # Its text is taken out of the thread, because a later turn would show it to the model.
                hidden = withheld(message, "[This message was withheld by a check.]")
                return {"messages": [*changed, hidden, own_answer(verdict.sentence, "hook")], "jump_to": "end"}
            if event.message is not message:
                changed.append(event.message)
        return {"messages": changed} if changed else None


def _new_messages(messages: Sequence[AnyMessage]) -> list[HumanMessage]:
    """The user's messages since the agent's last one."""
    new: list[HumanMessage] = []
    for message in reversed(messages):
        if message.type != "human":
            break
        new.insert(0, message)
    return new
