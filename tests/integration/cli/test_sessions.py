"""One suite that every session of the command line passes: a graph in memory, an engine over a file, an assistant of a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from langgraph_sdk import get_client
from tests.integration.server.conftest import serve

from stepwell.errors import StepwellError
from stepwell.runs.graphs.sources import GraphSource
from stepwell.terminal.dialogue.engine_session import EngineSession, open_engine
from stepwell.terminal.dialogue.graph_session import GraphSession
from stepwell.terminal.dialogue.remote_session import RemoteSession, ServerLine
from stepwell.terminal.dialogue.session import OpenInterrupt, Session, StreamPart

THREAD = "00000000-0000-4000-8000-000000000001"

FOR_DEVICE = {
    "type": "client_tool_execution",
    "tool_calls": [{"id": "1", "name": "read_file", "args": {"file_id": "/a.md"}}],
    "requires_approval": False,
}


class Well(TypedDict, total=False):
    wish: str
    depth: int
    answer: str


class Digging:
    """A graph that digs, works until it is let go on, and asks."""

    def __init__(self) -> None:
        self.at_work = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    def dig(self, state: Well) -> Well:
        if state.get("wish") == "fail":
            raise ValueError("the well is dry")
        return {"depth": 30}

    async def work(self, state: Well) -> Well:
        self.at_work.set()
        await self.may_go_on.wait()
        return {}

    def ask(self, state: Well) -> Well:
        if state.get("wish") == "device":
            return {"answer": interrupt(FOR_DEVICE)["tool_results"][0]["content"]["text"]}
        return {"answer": interrupt({"question": "Deep enough?"})} if state.get("wish") == "ask" else {"answer": "not asked"}

    def graph(self, **options: Any) -> Any:
        graph = StateGraph(Well)
        graph.add_sequence([("dig", self.dig), ("work", self.work), ("ask", self.ask)])
        return graph.add_edge(START, "dig").compile(**options)


@pytest.fixture
def digging() -> Digging:
    return Digging()


@pytest.fixture(params=["graph", "engine", "remote"])
async def session(request: pytest.FixtureRequest, digging: Digging, tmp_path: Path) -> AsyncIterator[Session]:
    async with AsyncExitStack() as stack:
        match request.param:
            case "graph":
                yield GraphSession(digging.graph(checkpointer=InMemorySaver()), THREAD)
            case "engine":
                source = GraphSource.of(digging.graph())
                opened = await stack.enter_async_context(open_engine(tmp_path / "wells" / "wells.db", "wells", source))
                yield EngineSession(opened, THREAD, ["updates"])
            case _:
                server = await stack.enter_async_context(serve(tmp_path, graphs={"wells": digging.graph()}))
                line = ServerLine(server.client, server.url, "wells", print, ["updates"])
                yield RemoteSession(line, THREAD, carry_on="stepwell ...")


async def updates_of(parts: AsyncIterator[StreamPart]) -> list[Any]:
    return [part.data async for part in parts if part.mode == "updates"]


async def test_a_thread_that_nobody_used_is_empty(session: Session) -> None:
    assert await session.values() == {}
    assert await session.interrupts() == ()


async def test_a_run_tells_of_its_steps_as_json(session: Session) -> None:
    updates = await updates_of(session.send({"wish": "water"}, title="A well"))
    assert updates == [{"dig": {"depth": 30}}, {"work": None}, {"ask": {"answer": "not asked"}}]
    assert await session.values() == {"wish": "water", "depth": 30, "answer": "not asked"}
    assert await updates_of(session.follow()) == [], "nothing is under way"


async def test_an_interrupt_waits_and_its_answer_goes_on(session: Session) -> None:
    await updates_of(session.send({"wish": "ask"}))
    [waiting] = await session.interrupts()
    assert waiting == OpenInterrupt(waiting.id, {"question": "Deep enough?"})
    assert await updates_of(session.answer({waiting.id: "yes"})) == [{"ask": {"answer": "yes"}}]
    assert await session.interrupts() == ()
    assert (await session.values())["answer"] == "yes"


async def test_a_device_claims_what_it_carries_out(session: Session) -> None:
    await updates_of(session.send({"wish": "device"}))
    [waiting] = await session.interrupts()
    held = await session.claim(waiting.id)
    if not isinstance(session, GraphSession):  # in one process there is nobody to claim it from
        assert held
        with pytest.raises(StepwellError):
            await session.claim(waiting.id)
    results = [{"tool_call_id": "1", "content": {"text": "wet"}}]
    await updates_of(session.answer({waiting.id: {"tool_results": results, **({"claim_id": held} if held else {})}}))
    assert (await session.values())["answer"] == "wet"


async def test_a_run_that_fails_raises_what_went_wrong(session: Session) -> None:
    with pytest.raises(Exception, match="the well is dry"):
        await updates_of(session.send({"wish": "fail"}))


async def test_a_run_that_was_left_is_stopped_and_gone_on_with(session: Session, digging: Digging) -> None:
    digging.may_go_on.clear()
    reading = asyncio.create_task(updates_of(session.send({"wish": "water"})))
    await digging.at_work.wait()
    reading.cancel()  # as Ctrl-C does
    await asyncio.wait({reading})
    await session.stop()
    assert await updates_of(session.follow()) == [], "nothing is under way any more"
    assert "answer" not in await session.values()
    digging.may_go_on.set()
    assert await updates_of(session.send(None)) == [{"work": None}, {"ask": {"answer": "not asked"}}]


class LosesFirstResponse:
    """Between a client and a server: what is asked arrives, and of the first response nothing comes back."""

    def __init__(self, url: str) -> None:
        self._host, self._port = url.removeprefix("http://").split(":")
        self._lost = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_connection(self._host, int(self._port))
        there, back = asyncio.create_task(self._pass_on(reader, ahead)), asyncio.create_task(self._send_back(behind, writer))
        await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
        for task in (there, back):
            task.cancel()
        writer.close()
        ahead.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()

    async def _send_back(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            if not self._lost:
                self._lost = True
                return
            writer.write(piece)
            await writer.drain()


async def test_a_message_whose_response_was_lost_is_sent_again_and_taken_once(digging: Digging, tmp_path: Path) -> None:
    async with serve(tmp_path, graphs={"wells": digging.graph()}) as server:
        between = await asyncio.start_server(LosesFirstResponse(server.url), "127.0.0.1", 0)
        url = f"http://127.0.0.1:{between.sockets[0].getsockname()[1]}"
        client, said = get_client(url=url, api_key=None), list[str]()
        async with between:
            session = RemoteSession(ServerLine(client, url, "wells", said.append, ["updates"]), THREAD, carry_on="stepwell ...")
            updates = await updates_of(session.send({"wish": "water"}))
            await client.aclose()
        assert updates[0] == {"dig": {"depth": 30}}
        assert any("Sending it again" in line for line in said)
        assert len((await server.http.get(f"/threads/{THREAD}/runs")).json()) == 1
