"""One conversation: turns, questions the agent asks back, and what it keeps.

`Session` is what the terminal talks to; `LocalSession` drives an agent in this process, `remote.RemoteSession` one on a server.
No printing and no reading here, so another face could be put on the same sessions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import uuid4

from stepwell.cli.dialogue.answers import OpenInterrupt
from stepwell.cli.dialogue.events import Translator, TurnEvent, last_answer
from stepwell.errors import NotFoundError

TITLE_CHARS = 60


@dataclass(frozen=True)
class ThreadLine:
    """A thread in a listing."""

    thread_id: str
    about: str
    """Its state, or how it began."""


class Session(Protocol):
    """A conversation on one thread at a time. The asynchronous methods belong to one event loop."""

    @property
    def thread_id(self) -> str: ...

    def say(self, text: str) -> AsyncIterator[TurnEvent]:
        """Send a message; the events of the agent's turn follow."""
        ...

    def answer(self, answers: Mapping[str, Any]) -> AsyncIterator[TurnEvent]:
        """Answer pending questions by their ids; the turn goes on."""
        ...

    def follow(self) -> AsyncIterator[TurnEvent]:
        """What a turn that is under way already still says; nothing if there is none."""
        ...

    async def stop(self) -> None:
        """End the turn that was just left, wherever it runs."""
        ...

    async def questions(self) -> tuple[OpenInterrupt, ...]:
        """What the agent waits for, in the order in which it asked."""
        ...

    async def todos(self) -> list[Mapping[str, str]]:
        """The agent's present plan."""
        ...

    async def files(self) -> dict[str, str]:
        """Path to text of every file that the conversation holds."""
        ...

    async def last_answer(self) -> str:
        """What the agent said last."""
        ...

    async def threads(self) -> list[ThreadLine]:
        """Conversations that can be continued, the newest first."""
        ...

    async def open_thread(self, thread_id: str) -> None:
        """Continue another conversation; `NotFoundError` if there is none."""
        ...

    async def new_thread(self) -> None:
        """Begin another conversation."""
        ...


class LocalSession:
    """Drives a compiled agent that has a checkpointer. Its threads live as long as the process."""

    def __init__(self, agent: Any, new_id: Callable[[], str] = lambda: str(uuid4())) -> None:
        self._agent = agent
        self._new_id = new_id
        self._titles: dict[str, str] = {}
        self._begin(new_id())

    @property
    def thread_id(self) -> str:
        return self._thread_id

    def say(self, text: str) -> AsyncIterator[TurnEvent]:
        self._titles.setdefault(self._thread_id, text[:TITLE_CHARS])
        return self._drive({"messages": [{"role": "user", "content": text}]})

    def answer(self, answers: Mapping[str, Any]) -> AsyncIterator[TurnEvent]:
        from langgraph.types import Command

        return self._drive(Command(resume=dict(answers)))

    async def follow(self) -> AsyncIterator[TurnEvent]:
        """A turn here ends when its reader goes: there is nothing to follow."""
        nothing: tuple[TurnEvent, ...] = ()
        for event in nothing:
            yield event

    async def stop(self) -> None:
        """Closing the stream has ended the turn."""

    async def questions(self) -> tuple[OpenInterrupt, ...]:
        state = await self._state()
        return tuple(OpenInterrupt(interrupt.id, interrupt.value) for interrupt in state.interrupts)

    async def todos(self) -> list[Mapping[str, str]]:
        return todos_of((await self._state()).values)

    async def files(self) -> dict[str, str]:
        return files_of((await self._state()).values)

    async def last_answer(self) -> str:
        return last_answer((await self._state()).values.get("messages"))

    async def threads(self) -> list[ThreadLine]:
        return [ThreadLine(thread_id, title) for thread_id, title in reversed(self._titles.items())]

    async def open_thread(self, thread_id: str) -> None:
        if thread_id not in self._titles:
            raise NotFoundError("thread", thread_id, "/threads lists them.")
        self._begin(thread_id)

    async def new_thread(self) -> None:
        self._begin(self._new_id())

    def _begin(self, thread_id: str) -> None:
        self._thread_id = thread_id
        self._config: Any = {"configurable": {"thread_id": thread_id}}
        self._translator = Translator()

    async def _state(self) -> Any:
        return await self._agent.aget_state(self._config)

    async def _drive(self, turn: Any) -> AsyncIterator[TurnEvent]:
        stream = self._agent.astream(turn, self._config, stream_mode=["messages", "updates"], subgraphs=True)
        # Closed at once when the reader stops (Ctrl-C), so that nothing of the turn runs on behind the prompt.
        async with aclosing(stream):
            try:
                async for namespace, mode, chunk in stream:
                    for event in self._translator.translate(namespace, mode, chunk):
                        yield event
            except Exception:
                for event in self._translator.rest():
                    yield event
                raise
        for event in self._translator.rest():
            yield event


def todos_of(values: Any) -> list[Mapping[str, str]]:
    """The plan in a thread's values."""
    return list(values.get("todos") or []) if isinstance(values, Mapping) else []


def files_of(values: Any) -> dict[str, str]:
    """The files in a thread's values."""
    files = values.get("files") if isinstance(values, Mapping) else None
    return {path: _text(file) for path, file in sorted((files or {}).items()) if file is not None}


def _text(file: Any) -> str:
    content = file["content"] if isinstance(file, Mapping) else file
    return content if isinstance(content, str) else "\n".join(content)
