"""`on_stop`: the agent is about to finish. A step of its own, which may send the agent back to work.

What the agent is told then is stored beside the messages (`stop_notes`) and shown to the model after the message with which it wanted to
finish. As a message of the thread it would look like the user's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain.agents.middleware.types import hook_config
from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.runtime import Runtime

from stepwell.middleware.moments.asking import Course, arun, consult, run
from stepwell.middleware.moments.base import HookedMiddleware, HooksState, StopNote, no_handler, place_of
from stepwell.middleware.moments.events import StopEvent
from stepwell.middleware.own_words import is_own_answer
from stepwell.middleware.request import ModelCall
from stepwell.middleware.turns import turn_of


class OnStop(HookedMiddleware):
    state_schema = HooksState

    def prepare(self, call: ModelCall) -> None:
        """Show the model what it was told when it was sent back, each time after the message with which it wanted to finish."""
        notes: Sequence[StopNote] = call.stored("stop_notes") or ()
        if not notes:
            return
        told = {note["after"]: note["text"] for note in notes}
        shown: list[AnyMessage] = []
        for message in call.messages:
            shown.append(message)
            if message.id in told:
                shown.append(HumanMessage(f"[{told[message.id]}]", id=f"{message.id}-sent-back"))
        call.messages = shown

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", run(self._about_to_stop(state, runtime), no_handler))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", await arun(self._about_to_stop(state, runtime), no_handler))

    def _about_to_stop(self, state: Any, runtime: Runtime[Any]) -> Course:
        message = state["messages"][-1]
        turn = turn_of(state["messages"])
        times = sum(note["turn"] == turn for note in state.get("stop_notes") or ())
        if times >= self.max_returns or is_own_answer(message) or message.type == "human":
            return None
        given = StopEvent(**place_of(state, runtime), message=message, times_sent_back=times)
        _, verdict = yield from consult(self.hooks["on_stop"], given)
        if verdict is None:
            return None
        note: StopNote = {"after": message.id or "", "turn": turn, "text": verdict.sentence}
        return {"stop_notes": [note], "jump_to": "model"}
