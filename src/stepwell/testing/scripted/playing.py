"""The state of a scripted model: the calls so far, the ids it has assigned, and its failed checks.

It is separate from the model so that every copy of the model (a binding, a `model_copy`, a deep copy inside a config) continues at the
same place. Calls may come from many threads and tasks: positions and ids change under the lock. A test's functions run outside of the
lock, because they may wait; only the `key` of `by_agent` runs inside.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables.config import var_child_runnable_config

from stepwell.testing.scripted.asked import Asked
from stepwell.testing.scripted.replies import Computed, PlannedCall, Reply, ScriptError
from stepwell.testing.scripted.scripts import Script

MAIN_AGENT = "main"
_MESSAGE_PREFIX = "reply_"
_CALL_PREFIX = "call_"


class Player:
    """Plays one script."""

    __slots__ = ("_calls_made", "_lock", "_messages_made", "_times_asked", "asked", "failures", "script", "usage")

    def __init__(self, script: Script, *, usage: tuple[int, int] | None = None, remember: int | None = None) -> None:
        self.script = script
        self.usage = usage
        self.asked: deque[Asked] = deque(maxlen=remember)
        self.failures: list[AssertionError] = []
        self._lock = threading.Lock()
        self._times_asked = 0
        self._messages_made = 0
        self._calls_made = 0

    def ask(
        self, messages: list[BaseMessage], stop: list[str] | None, settings: dict[str, Any]
    ) -> tuple[Asked, Reply | Computed]:
        """Record a call and take the turn that answers it."""
        tools = settings.pop("tools", ())
        tool_choice = settings.pop("tool_choice", None)
        with self._lock:
            self._times_asked += 1
            asked = Asked(self._times_asked, _agent_name(), messages, tools, tool_choice, settings, stop)
            self.asked.append(asked)
            try:
                return asked, self.script.next_turn(asked)
            except ScriptError as failure:
                self.failures.append(failure)
                raise

    def build(self, reply: Reply, asked: Asked) -> AIMessage:
        """The message of a reply, with ids that are new to this model and to the conversation."""
        with self._lock:
            self._catch_up(asked.messages)
            self._messages_made += 1
            message_id = f"{_MESSAGE_PREFIX}{self._messages_made}"
            call_ids = [planned.id or self._next_call_id() for planned in reply.tool_calls]
        usage = self._usage_of(reply)
        if reply.message is not None:
            return _copy_of(reply.message, message_id, usage)
        return AIMessage(
            content=reply.text,
            id=message_id,
            tool_calls=[_tool_call(planned, call_id) for planned, call_id in zip(reply.tool_calls, call_ids, strict=True)],
            usage_metadata=usage,
            response_metadata={"model_name": "scripted"} if usage else {},
        )

    def _next_call_id(self) -> str:
        self._calls_made += 1
        return f"{_CALL_PREFIX}{self._calls_made}"

    def _catch_up(self, messages: Sequence[BaseMessage]) -> None:
        """Continue counting from the ids in a conversation that another scripted model began.

        A message whose id is already in the thread would silently replace the old one: for example, if a test restarts with a new model on
        a stored thread. The whole history is read only if we do not know its latest reply.
        """
        latest = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
        if latest is None or (self._messages_made and _number(latest.id, _MESSAGE_PREFIX) <= self._messages_made):
            return
        for message in messages:
            if not isinstance(message, AIMessage):
                continue
            self._messages_made = max(self._messages_made, _number(message.id, _MESSAGE_PREFIX))
            for call in message.tool_calls:
                self._calls_made = max(self._calls_made, _number(call["id"], _CALL_PREFIX))

    def _usage_of(self, reply: Reply) -> UsageMetadata | None:
        counts = reply.usage or self.usage
        if counts is None:
            return None
        return UsageMetadata(input_tokens=counts[0], output_tokens=counts[1], total_tokens=sum(counts))

    def __copy__(self) -> Player:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Player:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("A ScriptedModel cannot be pickled: its place in the script lives in this process only.")


def _agent_name() -> str:
    """The name that `create_agent(name=...)` puts into the metadata of the running graph."""
    config = var_child_runnable_config.get()
    metadata = config.get("metadata") if config else None
    return str(metadata.get("lc_agent_name") or MAIN_AGENT) if metadata else MAIN_AGENT


def _number(given: str | None, prefix: str) -> int:
    """The number in one of our ids, 0 for any other id."""
    if given is None or not given.startswith(prefix):
        return 0
    digits = given[len(prefix) :]
    return int(digits) if digits.isdecimal() else 0


def _copy_of(message: AIMessage, message_id: str, usage: UsageMetadata | None) -> AIMessage:
    """A copy of a message, because agents write their name on the messages they receive, and this message may be played again."""
    update: dict[str, Any] = {} if message.id else {"id": message_id}
    if usage and message.usage_metadata is None:
        update["usage_metadata"] = usage
    return message.model_copy(update=update)


def _tool_call(planned: PlannedCall, call_id: str) -> Any:
    return {"name": planned.name, "args": _fresh(planned.args), "id": call_id, "type": "tool_call"}


def _fresh(value: Any) -> Any:
    """Copies of lists and dicts, so that a tool that changes its arguments does not change the script."""
    if type(value) is dict:
        return {key: _fresh(item) for key, item in value.items()}
    if type(value) is list:
        return [_fresh(item) for item in value]
    return value
