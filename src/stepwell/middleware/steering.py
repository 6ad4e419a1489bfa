"""`SteeringMiddleware`: messages that enter a run while it works.

```
tool results stored ─▶ model call: are messages waiting? ─▶ the model sees them last ─▶ step: messages, then the answer
```
They enter with a model call, never between a call and its result, and are stored in the same step as the model's answer to them. Only the
main agent of a run takes them: a subagent works on a task that its agent gave it. A background subagent has a run of its own, so it takes
them too. Where nothing waits, this costs one look into the config.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import copy
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.config import get_config

from stepwell.middleware.moments.asking import Course, arun, run
from stepwell.middleware.moments.base import no_handler
from stepwell.middleware.moments.input import OnInput
from stepwell.middleware.request import ModelCall, RequestMiddleware
from stepwell.state.steering import STEERING, SteeringMessage, SteeringSource

STEERED = "stepwell_steered"
"""Marks a message that entered a run, in `additional_kwargs`."""
STEERED_EVENT = "steered"
"""The `type` of the custom event that says which messages a model call reads first."""


class SteeringMiddleware(RequestMiddleware):
    """Takes messages that were sent to a run while it works. Deep agents have it.

    Args:
        source: Where messages come from. By default the run's config says it: see `Steering.config`; a server does so by itself.
    """

    reaches_subagents = False

    def __init__(self, source: SteeringSource | None = None) -> None:
        super().__init__()
        self.source = source
        self._checks: Sequence[OnInput] = ()

    def with_checks(self, checks: Sequence[OnInput]) -> SteeringMiddleware:
        """The same middleware, whose messages pass the `on_input` hooks before the model sees them."""
        checking = copy(self)
        checking._checks = checks
        return checking

    def prepare(self, call: ModelCall) -> None:
        source = self._pending_source()
        if source is not None:
            run(self._take(call, source, source.give().result()), no_handler)

    async def aprepare(self, call: ModelCall) -> None:
        source = self._pending_source()
        if source is not None:
            await arun(self._take(call, source, await asyncio.wrap_future(source.give())), _no_async_handler)

    def _pending_source(self) -> SteeringSource | None:
        """The source, if it has something for this agent."""
        configurable = get_config().get("configurable") or {}
        source: SteeringSource | None = self.source or configurable.get(STEERING)
        if source is None or not source.pending:
            return None
        # Steps of the root graph have a namespace with one part.
        return None if "|" in configurable.get("checkpoint_ns", "") else source

    def _take(self, call: ModelCall, source: SteeringSource, given: Sequence[SteeringMessage]) -> Course:
        thread = cast("dict[str, Any]", call.request.state)["messages"]
        known = {message.id for message in thread if STEERED in message.additional_kwargs}
        if stored := [message.id for message in given if message.id in known]:
            source.note_stored(stored)
        entering: list[AnyMessage] = [
            HumanMessage(message.content, id=message.id, additional_kwargs={STEERED: True})  # type: ignore[arg-type]
            for message in given
            if message.id not in known
        ]
        if not entering:
            return
        for check in self._checks:
            entering = yield from self._check(call, check, entering)
            if call.answer is not None:
                break
        call.entering = entering
        # Clients show the messages before the answer, which the step stores together with them.
        call.request.runtime.stream_writer({"type": STEERED_EVENT, "messages": [_shown(message) for message in entering]})
        call.messages = [*call.messages, *entering]

    def _check(self, call: ModelCall, check: OnInput, entering: list[AnyMessage]) -> Course:
        """The messages as the hooks leave them. If a hook refuses one, the call is answered with its sentence."""
        state = {**call.request.state, **call.update}
        state["messages"] = [*call.request.state["messages"], *entering]
        update = yield from check.check_input(state, call.request.runtime)
        if update is None:
            return entering
        changed = {message.id: message for message in update.get("messages", ())}
        if "jump_to" in update:
            call.answer = cast("AIMessage", update["messages"][-1])
        call.update["checked_input"] = update["checked_input"]
        return [changed.get(message.id, message) for message in entering]


def _shown(message: AnyMessage) -> dict[str, Any]:
    return {"type": "human", "id": message.id, "content": message.content}


async def _no_async_handler(step: Any) -> Any:
    return no_handler(step)
