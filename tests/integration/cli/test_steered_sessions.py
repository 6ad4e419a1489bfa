"""Messages to a run under way, from every session of the command line: a graph in memory, an engine over a file, a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from tests.integration.server.conftest import serve

from stepwell import create_deep_agent
from stepwell.errors import RunError
from stepwell.runs.graphs.sources import GraphSource
from stepwell.terminal.dialogue.engine_session import EngineSession, open_engine
from stepwell.terminal.dialogue.events import Heard, Translator
from stepwell.terminal.dialogue.graph_session import GraphSession
from stepwell.terminal.dialogue.remote_session import RemoteSession, ServerLine
from stepwell.terminal.dialogue.session import Session, StreamPart
from stepwell.testing import Asked, ScriptedModel, call

THREAD = "00000000-0000-4000-8000-000000000001"
MODES = ["updates", "custom"]


class Work:
    """An agent that works until it is let go on, once with a tool and once while it answers, and then repeats what it heard last."""

    def __init__(self) -> None:
        self.at_work = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def work(self) -> str:
        """Work."""
        await self._wait()
        return "worked"

    async def answer(self, asked: Asked) -> Any:
        match asked.messages[-1].text:
            case "use the tool":
                return call("work")
            case "answer slowly":
                await self._wait()
                return "answered"
        return f"Heard: {asked.messages[-1].text}"

    async def _wait(self) -> None:
        self.at_work.set()
        await self.may_go_on.wait()

    def agent(self, **options: Any) -> Any:
        return create_deep_agent(ScriptedModel.answering(self.answer), [self.work], **options)


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture(params=["graph", "engine", "remote"])
async def session(request: pytest.FixtureRequest, work: Work, tmp_path: Path) -> AsyncIterator[Session]:
    async with AsyncExitStack() as stack:
        match request.param:
            case "graph":
                yield GraphSession(work.agent(checkpointer=InMemorySaver()), THREAD)
            case "engine":
                source = GraphSource.of(work.agent())
                opened = await stack.enter_async_context(open_engine(tmp_path / "data" / "chat.db", "agent", source))
                yield EngineSession(opened, THREAD, MODES)
            case _:
                server = await stack.enter_async_context(serve(tmp_path, graphs={"agent": work.agent()}))
                yield RemoteSession(
                    ServerLine(server.client, server.url, "agent", print, MODES), THREAD, carry_on="stepwell ..."
                )


async def read(parts: AsyncIterator[StreamPart]) -> list[StreamPart]:
    return [part async for part in parts]


def begin(session: Session, text: str) -> asyncio.Task[list[StreamPart]]:
    return asyncio.create_task(read(session.send({"messages": [{"role": "user", "content": text}]})))


async def said(session: Session) -> list[str]:
    return [message["content"] for message in (await session.values())["messages"]]


async def test_a_message_enters_the_run(session: Session, work: Work) -> None:
    reading = begin(session, "use the tool")
    await work.at_work.wait()
    await session.steer("in feet")
    work.may_go_on.set()
    translator = Translator()
    assert Heard("in feet") in [event for part in await reading for event in translator.translate(part)]
    assert await said(session) == ["use the tool", "", "worked", "in feet", "Heard: in feet"]
    assert await read(session.hear_steered()) == []


async def test_messages_that_come_too_late_are_the_next_run(session: Session, work: Work) -> None:
    reading = begin(session, "answer slowly")
    await work.at_work.wait()
    await session.steer("one")
    await session.steer("two")
    work.may_go_on.set()
    await reading
    assert await read(session.hear_steered())
    assert await said(session) == ["answer slowly", "answered", "one", "two", "Heard: two"]
    assert await read(session.hear_steered()) == []


async def test_what_was_not_read_is_taken_back(session: Session, work: Work) -> None:
    reading = begin(session, "answer slowly")
    await work.at_work.wait()
    await session.steer("one")
    await session.steer("two")
    assert await session.withdraw() == ["one", "two"]
    assert await session.withdraw() == []
    reading.cancel()
    await asyncio.wait({reading})
    await session.stop()
    assert await read(session.hear_steered()) == []
    assert (await said(session))[:1] == ["answer slowly"]


async def test_without_a_run_there_is_nobody_to_steer(session: Session, work: Work) -> None:
    with pytest.raises(RunError):
        await session.steer("hello?")
    work.may_go_on.set()
    await begin(session, "answer slowly")
    with pytest.raises(RunError):
        await session.steer("hello?")
