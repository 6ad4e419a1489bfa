"""One conversation with one agent: turns, questions the agent asks back, and what it keeps.

No printing and no reading here; the terminal is in `terminal.py`, and another face could be put on the same session.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Interrupt

from stepwell.cli.events import Event, Translator

THREAD = "chat"
"""The saver lives as long as the process and holds this one thread only."""


class ChatSession:
    """Drives a compiled agent that has a checkpointer."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._config: RunnableConfig = {"configurable": {"thread_id": THREAD}}
        self._translator = Translator()

    def say(self, text: str) -> AsyncIterator[Event]:
        """Send a message; the events of the agent's turn follow."""
        return self._drive({"messages": [{"role": "user", "content": text}]})

    def answer(self, answers: Mapping[str, Any]) -> AsyncIterator[Event]:
        """Answer pending questions by their ids; the turn goes on."""
        return self._drive(Command(resume=dict(answers)))

    async def questions(self) -> tuple[Interrupt, ...]:
        """What the agent waits for, in the order in which it asked."""
        state = await self._agent.aget_state(self._config)
        return tuple(state.interrupts)

    async def todos(self) -> list[Mapping[str, str]]:
        """The agent's present plan."""
        return list((await self._values()).get("todos") or [])

    async def files(self) -> dict[str, str]:
        """Path to text of every file that the conversation holds."""
        files = (await self._values()).get("files") or {}
        return {path: _text(file) for path, file in sorted(files.items()) if file is not None}

    async def _values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = (await self._agent.aget_state(self._config)).values
        return values

    async def _drive(self, turn: Any) -> AsyncIterator[Event]:
        stream = self._agent.astream(turn, self._config, stream_mode=["messages", "updates"], subgraphs=True)
        # Closed at once when the reader stops (Ctrl-C), so that nothing of the turn runs on behind the prompt.
        async with aclosing(stream):
            async for namespace, mode, chunk in stream:
                for event in self._translator.translate(namespace, mode, chunk):
                    yield event


def _text(file: Mapping[str, Any]) -> str:
    content = file["content"]
    return content if isinstance(content, str) else "\n".join(content)
