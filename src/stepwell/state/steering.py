"""Messages for a run that is working: they wait here until its agent calls the model next.

```
send ─> waiting ── give ──> given to a model call ── the call's step is stored ──> in the thread's messages
           └─ withdraw                 └─ the step was not stored (crash, error): given again
```
An agent finds its source of messages in its config (`{"configurable": {STEERING: source}}`). On a server the source is the database
(`database/steering`); `Steering` is the one for a program that runs an agent itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from stepwell.errors import InvalidRequestError, SteerQueueFullError

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.runnables import RunnableConfig

STEERING = "__stepwell_steering"
"""The key in a config's `configurable`. Two underscores keep it out of metadata and checkpoints."""
MAX_WAITING = 10
"""How many messages wait for one run at most."""

MAX_ID_CHARS = 256

Content = str | list[dict[str, Any]]

_OF_AGENTS = frozenset({"tool_use", "tool_call", "tool_result", "server_tool_use", "thinking", "reasoning"})
"""Blocks that only agents and tools produce."""


@dataclass(frozen=True, slots=True)
class SteeringMessage:
    """A message of the user on its way into a run. `content` is text, or LangChain's content blocks."""

    id: str
    content: Content


class SteeringSource(Protocol):
    """Where an agent's run finds messages."""

    @property
    def pending(self) -> bool:
        """Whether `give` may have something. Asked before every model call, so it must cost nothing."""
        ...

    def give(self) -> Future[Sequence[SteeringMessage]]:
        """All messages that are not in the thread yet, oldest first. A message stays here until the thread has it, so it may be given
        more than once."""
        ...

    def note_stored(self, ids: Iterable[str]) -> None:
        """The thread has these messages."""
        ...


class Steering:
    """Steers a run of an agent in this process, from any thread: `agent.invoke(input, steering.config(thread_id="1"))`.

    The agent must be a deep agent, or have a `SteeringMiddleware`.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._messages: dict[str, SteeringMessage] = {}
        self._given: set[str] = set()
        self._sent: dict[str, Content] = {}

    def config(self, config: RunnableConfig | None = None, /, **configurable: Any) -> RunnableConfig:
        """A config for the run: `config`, with this object and `configurable` added."""
        given = config or {}
        names = {**(given.get("configurable") or {}), **configurable, STEERING: self}
        return {**given, "configurable": names}

    def send(self, content: Content, *, id: str | None = None) -> int:
        """Let a message wait for the next model call. Returns its place among those that wait. The same `id` again changes nothing.

        Raises:
            SteerQueueFullError: Ten messages wait already.
            InvalidRequestError: The message is empty, or another one was sent with this `id`.
        """
        message = SteeringMessage(check_message_id(id or str(uuid4())), check_content(content))
        with self._lock:
            if message.id in self._sent:
                if self._sent[message.id] != message.content:
                    raise other_content(message.id)
                return self._place(message.id)
            if len(self._messages) >= MAX_WAITING:
                raise queue_full()
            self._messages[message.id] = message
            self._sent[message.id] = message.content
            return len(self._messages)

    def withdraw(self, id: str) -> bool:
        """Take a message back. Returns whether it was still waiting; one that was given to the model stays."""
        with self._lock:
            if id in self._given or id not in self._messages:
                return False
            del self._messages[id], self._sent[id]
            return True

    @property
    def waiting(self) -> list[SteeringMessage]:
        """The messages that were not given to the model yet."""
        with self._lock:
            return [message for message in self._messages.values() if message.id not in self._given]

    def take_left(self, messages: Iterable[BaseMessage] = ()) -> list[SteeringMessage]:
        """What is left when the run has ended with `messages`: send it as the next input. Nothing waits here afterwards."""
        known = {message.id for message in messages}
        with self._lock:
            left = [message for message in self._messages.values() if message.id not in known]
            self._messages.clear()
            self._given.clear()
            return left

    @property
    def pending(self) -> bool:
        return bool(self._messages)

    def give(self) -> Future[Sequence[SteeringMessage]]:
        given: Future[Sequence[SteeringMessage]] = Future()
        with self._lock:
            self._given.update(self._messages)
            given.set_result(list(self._messages.values()))
        return given

    def note_stored(self, ids: Iterable[str]) -> None:
        """The thread has these messages."""
        with self._lock:
            for each in ids:
                self._messages.pop(each, None)
                self._given.discard(each)

    def _place(self, id: str) -> int:
        return next((place for place, known in enumerate(self._messages, 1) if known == id), 0)


def check_content(content: object) -> Content:
    """The content of a message, if it is one."""
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(content, list) and content and all(_is_block(block) for block in content):
        return [dict(block) for block in content]
    raise InvalidRequestError(
        "The message has no content of a user. Send a text that is not empty, or a list of content blocks (text, image, file), each "
        "with its type."
    )


def _is_block(block: object) -> bool:
    kind = block.get("type") if isinstance(block, Mapping) else None
    return isinstance(kind, str) and bool(kind) and kind not in _OF_AGENTS


def check_message_id(message_id: str) -> str:
    """The id of a message, if it can also stand in an address, where it is withdrawn by it."""
    if (
        message_id in (".", "..")
        or "/" in message_id
        or not message_id.isprintable()
        or not 1 <= len(message_id) <= MAX_ID_CHARS
    ):
        raise InvalidRequestError(
            f"{message_id[:MAX_ID_CHARS]!r} cannot be the id of a message. Send 1 to {MAX_ID_CHARS} printable characters without a "
            "slash, or no id."
        )
    return message_id


def other_content(message_id: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"The message '{message_id}' was sent before, with another content. Give the new message an id of its own."
    )


def queue_full() -> SteerQueueFullError:
    return SteerQueueFullError(
        f"{MAX_WAITING} messages wait for this run already. Wait until the agent has read them, or withdraw one."
    )
