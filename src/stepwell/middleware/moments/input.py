"""`on_input`: messages of the user arrive. A step of its own, before the agent does anything with them.

Every message of the user that has not been checked is new, wherever it stands in the thread: an input may hold several, in any order, and
may replace an older one. So each middleware notes a fingerprint of what it has checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, cast

from langchain.agents.middleware.types import hook_config
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from stepwell.middleware.moments.asking import Course, arun, consult, run
from stepwell.middleware.moments.base import HookedMiddleware, HooksState, no_handler, place_of, withheld
from stepwell.middleware.moments.events import InputEvent
from stepwell.middleware.own_words import own_answer
from stepwell.middleware.turns import feedback_id


class OnInput(HookedMiddleware):
    state_schema = HooksState

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", run(self.check_input(state, runtime), no_handler))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", await arun(self.check_input(state, runtime), no_handler))

    def check_input(self, state: Any, runtime: Runtime[Any]) -> Course:
        """The state's update after asking about each new message; None if none is new."""
        all_checked: Mapping[str, Mapping[str, str]] = state.get("checked_input") or {}
        # By what a private channel says, because a user could write any mark into a message.
        ours = {feedback_id(each) for each in state.get("_rubric_evaluations") or ()}
        human = [message for message in state["messages"] if message.type == "human" and message.id not in ours]
        known = all_checked.get(self.name, {})
        new = [message for message in human if known.get(message.id or "") != _fingerprint(message)]
        if not new:
            return None
        changed: list[BaseMessage] = []
        answer: list[AnyMessage] = []
        for message in new:
            given = InputEvent(**place_of(state, runtime), message=message)
            event, verdict = yield from consult(self.hooks["on_input"], given)
            if verdict:
                # Their text is taken out of the thread, because a later turn would show it to the model.
                changed = [withheld(each, "[This message was withheld by a check.]") for each in new]
                answer = [own_answer(verdict.sentence, "hook")]
                break
            if event.message is not message:
                changed.append(event.message)
        update: dict[str, Any] = {"checked_input": self._noted(all_checked, human, changed)}
        if changed:
            update["messages"] = [*changed, *answer]
        return {**update, "jump_to": "end"} if answer else update

    def _noted(
        self, checked: Mapping[str, Mapping[str, str]], human: Sequence[HumanMessage], changed: Sequence[BaseMessage]
    ) -> dict[str, dict[str, str]]:
        """The fingerprints after this check. What this check changed is not new for a middleware that saw it before."""
        before = {message.id or "": _fingerprint(message) for message in human}
        after = {**before, **{message.id or "": _fingerprint(message) for message in changed}}
        others = {
            name: {key: after[key] if before.get(key) == print_ else print_ for key, print_ in prints.items()}
            for name, prints in checked.items()
        }
        return {**others, self.name: after}


def _fingerprint(message: BaseMessage) -> str:
    return blake2b(repr(message.content).encode(errors="surrogatepass"), digest_size=12).hexdigest()
