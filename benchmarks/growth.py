"""Claim: a thread costs what is added to it, however long it is. One thread of 50 to 2,000 turns of a deep agent, a turn being an answer
that calls a tool and the tool's result of 200 bytes, driven by the engine on one SQLite file with durability sync.

*Bytes* are those of the file after closing it, with indexes and keys, less those of an empty one; *content* is what Stepwell put into
its rows: checkpoints, writes, events and documents. Both are compared with the JSON of the messages and files that a client is shown.
CPU per turn is that of a run of 50 turns at the end of the thread. The floor is a plain agent on LangGraph's own SQLite saver, in
process, without a journal: what LangChain spends on each message of the conversation at every call is in both.

`langgraph dev` keeps everything in memory, so it follows only where time is measured: a plain graph of messages, over HTTP.
"""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import string
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool

from benchmarks.bench import ROOT, Bench, ContestantError, Figures, Row, best, ratio
from benchmarks.model import TurnsModel
from benchmarks.servers.http import Connection
from benchmarks.servers.process import Server, serving

SIZES = (50, 200, 800, 2_000)
QUICK_SIZES = (50, 200)
WINDOW = 50
PLAIN_TURNS = 800
ANSWER_WORDS = 300
FILE_BYTES = 8_000_000
_CONTENT = {
    "events": "length(data)",
    "documents": "length(changes)",
    "checkpoints": "length(checkpoint) + length(metadata)",
    "writes": "length(value)",
    "thread_values": 'length("values")',
    "runs": "ifnull(length(result), 0)",
}


def measure(contestant: ModuleType, *, what: str, turns: int = 0) -> dict[str, Any]:
    with TemporaryDirectory(dir=ROOT / "build") as folder:
        file = Path(folder) / "growth.db"
        if contestant.MODULE != "stepwell":
            return asyncio.run(_measure_floor(contestant, file, turns))
        return asyncio.run({"turns": _measure_turns, "answer": _measure_answer, "file": _measure_file}[what](file, turns))


def look_tool() -> StructuredTool:
    """Gives 200 bytes that are the same for the same number."""

    def look(n: int) -> str:
        """Look at something."""
        return "".join(random.Random(n).choices(string.ascii_letters + " ", k=200))

    async def alook(n: int) -> str:
        return look(n)

    return StructuredTool.from_function(look, coroutine=alook, name="look", description="Look at something.")


def look_model(turns: int) -> TurnsModel:
    return TurnsModel(turns=[[("look", {"n": n})] for n in range(turns)])


def looking(config: RunnableConfig) -> Any:
    """A deep agent that looks as often as its run says."""
    from stepwell import create_deep_agent

    return create_deep_agent(look_model(config.get("configurable", {}).get("turns", 0)), tools=[look_tool()])


def talking() -> Any:
    """A deep agent that answers at length, word by word."""
    from stepwell import create_deep_agent
    from stepwell.testing import ScriptedModel, say

    words = " ".join(f"{number:04d}" for number in range(ANSWER_WORDS))
    return create_deep_agent(ScriptedModel([say(words)]))


@dataclass
class _Thread:
    """One thread of an engine, and what is asked of it."""

    engine: Any
    threads: Any
    graph: str
    file: Path
    thread_id: str

    async def run(self, turns: int, *, modes: tuple[str, ...] = ("values",), files: dict[str, Any] | None = None) -> float:
        """Drive to the end, as somebody who follows. Gives the milliseconds to the first event."""
        from stepwell.runs.starting import RunOrder

        order = RunOrder(
            self.graph,
            thread_id=self.thread_id,
            if_not_exists="create",
            input={"messages": [{"role": "user", "content": "go"}], **({"files": files} if files else {})},
            config={"configurable": {"turns": turns}, "recursion_limit": 4 * turns + 100},
            stream_modes=list(modes),
        )
        began, first = time.perf_counter(), None
        run = (await self.engine.start(None, order)).run
        async for batch in self.engine.events(None, self.thread_id, run.run_id):
            first = first or 1000 * (time.perf_counter() - began)
            if batch[-1].event == "end" and json.loads(batch[-1].data)["status"] != "success":
                raise RuntimeError("A run did not end well.")
        return first or 0.0

    async def history_ms(self) -> float:
        """Ten checkpoints, as the server answers with them."""
        from stepwell.database.documents.book import GrowingText
        from stepwell.state.wire import encode

        took = []
        for _ in range(3):
            began = time.perf_counter()
            encode(await self.threads.history(None, self.thread_id, limit=10, show_values=GrowingText().show))
            took.append(1000 * (time.perf_counter() - began))
        return min(took)

    async def shown_bytes(self) -> int:
        """The messages and files, as JSON."""
        from stepwell.state.wire import encode

        state = await self.threads.state(None, self.thread_id)
        return len(encode({name: state["values"].get(name) for name in ("messages", "files")}))

    def content(self) -> dict[str, int]:
        with closing(sqlite3.connect(self.file)) as connection:
            return {
                table: connection.execute(f"SELECT ifnull(sum({size}), 0) FROM {table}").fetchone()[0]
                for table, size in _CONTENT.items()
            }


@asynccontextmanager
async def _open(file: Path, graph: str) -> AsyncIterator[_Thread]:
    from stepwell.clock import SystemClock
    from stepwell.database.sqlite.persistence import EmbeddedPersistence
    from stepwell.runs.assistants import Assistants
    from stepwell.runs.engine import Engine
    from stepwell.runs.graphs.registry import GraphRegistry
    from stepwell.runs.threads.operations import Threads

    clock = SystemClock()
    async with EmbeddedPersistence(file, clock=clock) as persistence:
        registry = GraphRegistry.from_specs({graph: f"benchmarks.growth:{graph}"}, ROOT)
        assistants = Assistants(persistence.records, registry, clock, _new_id)
        await assistants.install_defaults()
        async with Engine(persistence, registry, assistants, clock=clock, new_id=_new_id) as engine:
            threads = Threads(persistence, registry, clock, _new_id)
            yield _Thread(engine, threads, graph, file, "00000000-0000-4000-8000-000000000001")


async def _measure_turns(file: Path, turns: int) -> dict[str, Any]:
    async with _open(file, "looking") as thread:
        await thread.run(turns - WINDOW // 2)
        began = time.process_time()
        await thread.run(WINDOW)
        cpu_ms = 1000 * (time.process_time() - began) / WINDOW
        firsts = [await thread.run(1) for _ in range(5)]
        history_ms, shown, content = await thread.history_ms(), await thread.shown_bytes(), thread.content()
    total = turns + WINDOW // 2 + len(firsts)
    stored = _size(file) - await _empty_size(file.with_name("empty.db"))
    return {
        "cpu_ms_per_turn": cpu_ms,
        "first_event_ms": min(firsts),
        "history_ms": history_ms,
        "shown_bytes": shown,
        "content_bytes": sum(content.values()),
        "content_per_turn": {table: size / total for table, size in content.items()},
        "event_bytes_per_turn": (content["events"] + content["documents"]) / total,
        "bytes_per_turn": stored / total,
        "bytes": stored,
    }


async def _empty_size(file: Path) -> int:
    """A database nobody has used: its tables and indexes have a page each."""
    async with _open(file, "looking"):
        pass
    return _size(file)


async def _measure_answer(file: Path, _: int) -> dict[str, Any]:
    async with _open(file, "talking") as thread:
        await thread.run(0, modes=("messages-tuple",))
        content = thread.content()
        with closing(sqlite3.connect(file)) as connection:
            (events,) = connection.execute("SELECT COUNT(*) FROM events WHERE event = 'messages'").fetchone()
    text = 5 * ANSWER_WORDS - 1
    return {"events": events, "token_bytes": content["events"] + content["documents"], "text_bytes": text}


async def _measure_file(file: Path, _: int) -> dict[str, Any]:
    stamp = "2026-01-01T00:00:00+00:00"
    lines = "".join(random.Random(1).choices(string.ascii_letters, k=FILE_BYTES))
    content = [lines[place : place + 99] for place in range(0, FILE_BYTES, 99)]
    async with _open(file, "looking") as thread:
        await thread.run(1, files={"/large.txt": {"content": content, "created_at": stamp, "modified_at": stamp}})
        before = sum(thread.content().values())
        for _ in range(5):
            await thread.run(1)
        return {"bytes_per_turn": (sum(thread.content().values()) - before) / 5}


async def _measure_floor(contestant: ModuleType, file: Path, turns: int) -> dict[str, Any]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
        await saver.setup()

        async def run(count: int) -> None:
            agent = contestant.agent(look_model(count), [look_tool()], checkpointer=saver)
            config: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 4 * count + 100}
            async for _ in agent.astream({"messages": [("user", "go")]}, config, stream_mode="values", durability="sync"):
                pass

        await run(turns - WINDOW // 2)
        began = time.process_time()
        await run(WINDOW)
        cpu_ms = 1000 * (time.process_time() - began) / WINDOW
    return {"cpu_ms_per_turn": cpu_ms, "bytes_per_turn": _size(file) / (turns + WINDOW // 2), "bytes": _size(file)}


def rows(bench: Bench) -> list[Row]:
    (ROOT / "build").mkdir(exist_ok=True)
    sizes = QUICK_SIZES if bench.quick else SIZES
    found: dict[int, Figures] = {}
    for turns in sizes:
        # A plain agent on LangGraph's saver stores the square: 2,000 turns would be gigabytes.
        who = ("floor", "ours") if turns <= PLAIN_TURNS else ("ours",)
        label = f"growth, {turns} turns"
        found[turns] = bench.rounds("growth", {"what": "turns", "turns": turns}, count=1, who=who, fresh=True, label=label)
    answer = bench.rounds("growth", {"what": "answer"}, count=1, who=("ours",), fresh=True, label="growth, an answer")
    file = bench.rounds("growth", {"what": "file"}, count=1, who=("ours",), fresh=True, label="growth, a file")
    return [*_thread_rows(found, sizes), *_other_rows(answer, file), *_server_rows(bench)]


def _thread_rows(found: dict[int, Figures], sizes: tuple[int, ...]) -> list[Row]:
    def ours(key: str, turns: int = sizes[-1]) -> float | None:
        return best(found[turns], "ours", key)

    last, first = sizes[-1], sizes[0]
    at_floor = max(turns for turns in sizes if turns <= PLAIN_TURNS)
    floor = {turns: best(found[turns], "floor", "cpu_ms_per_turn") for turns in sizes if turns <= PLAIN_TURNS}
    flat = [value for turns in sizes if (value := ours("bytes_per_turn", turns))]
    per_turn = ", ".join(f"{_kb(ours('bytes_per_turn', turns))} at {turns:,}" for turns in sizes)
    cpu = ", ".join(f"{_ms(ours('cpu_ms_per_turn', turns))} at {turns:,}" for turns in sizes)
    plain = ", ".join(f"{_ms(value)} at {turns:,}" for turns, value in floor.items())
    shown = ours("shown_bytes")
    return [
        Row(
            f"one thread of {first} to {last:,} turns, bytes per turn on disk, most to least",
            "≤ 1.3x",
            ratio(max(flat), min(flat)) if flat else None,
            ratio(best(found[at_floor], "floor", "bytes_per_turn"), best(found[first], "floor", "bytes_per_turn")),
            None,
            1.3,
            note=f"ours {per_turn}; the floor's ratio is of {at_floor:,} to {first} turns",
        ),
        Row(
            f"the same at {last:,} turns, content of the rows to messages and files as JSON",
            "≤ 2.5x",
            ratio(ours("content_bytes"), shown),
            None,
            None,
            2.5,
            note=f"the file itself {_times(ratio(ours('bytes'), shown))}; of the content, events and documents "
            f"{_kb(ours('event_bytes_per_turn'))} a turn",
        ),
        Row(
            f"the same, CPU per turn at {last:,} turns to that at {first}",
            "≤ 1.5x",
            ratio(ours("cpu_ms_per_turn"), ours("cpu_ms_per_turn", first)),
            ratio(floor[at_floor], floor[first]),
            None,
            1.5,
            note=f"ours {cpu}; plain agent {plain}",
        ),
        Row(
            f"the same, CPU per turn at {at_floor:,} turns to a plain agent's",
            "≤ 1x floor",
            ratio(ours("cpu_ms_per_turn", at_floor), floor[at_floor]),
            ratio(floor[at_floor], floor[at_floor]),
            None,
            1.0,
        ),
        Row(f"the same, history of 10 at {last:,} turns", "≤ 50 ms", ours("history_ms"), None, None, 50.0, form=_ms),
        Row(f"the same, first event of a run at {last:,} turns", "≤ 30 ms", ours("first_event_ms"), None, None, 30.0, form=_ms),
    ]


def _other_rows(answer: Figures, file: Figures) -> list[Row]:
    text = best(answer, "ours", "text_bytes")
    kilobytes = best(file, "ours", "bytes_per_turn")
    return [
        Row(
            f"an answer of {ANSWER_WORDS} words that somebody follows, stored events to its text",
            "≤ 10x",
            ratio(best(answer, "ours", "token_bytes"), text),
            None,
            None,
            10.0,
            note=f"{best(answer, 'ours', 'events') or 0:,.0f} events, without the keys of their rows",
        ),
        Row("a turn beside a file of 8 MB, bytes stored", "≤ 100 kB", kilobytes, None, None, 100_000.0, form=_kb),
    ]


def _server_rows(bench: Bench) -> list[Row]:
    """The plain graph, whose checkpoints hold all messages each, on both servers."""
    turns = 100 if bench.quick else PLAIN_TURNS
    figures: Figures = {"peer": [], "ours": []}
    with serving(bench, claim="growth", who=("peer", "ours")) as servers:
        for server in servers.values():
            try:
                figures[server.name].append(asyncio.run(_ask_server(server, turns)))
            except (ContestantError, OSError, TimeoutError) as failure:
                bench.problems[f"{server.name}: growth"] = str(failure) or type(failure).__name__
    bench.raw["growth, servers"] = figures
    name = f"a plain graph of messages at {turns} turns over HTTP"
    values = {
        key: [best(figures, who, key) for who in ("ours", "peer")]
        for key in ("cpu_ms_per_turn", "history_ms", "first_event_ms")
    }
    return [
        Row(
            f"{name}, CPU of the server per turn",
            "–",
            values["cpu_ms_per_turn"][0],
            None,
            values["cpu_ms_per_turn"][1],
            None,
            form=_ms,
        ),
        Row("the same, history of 10", "–", values["history_ms"][0], None, values["history_ms"][1], None, form=_ms),
        Row(
            "the same, first event of a run",
            "–",
            values["first_event_ms"][0],
            None,
            values["first_event_ms"][1],
            None,
            form=_ms,
        ),
    ]


async def _ask_server(server: Server, turns: int) -> dict[str, Any]:
    connection = await Connection.open(server.port)
    try:
        _, body = await connection.post("/threads", {})
        thread = f"/threads/{json.loads(body)['thread_id']}"
        order = {"assistant_id": "growing", "input": {"turns": turns}, "stream_mode": ["values"]}
        cpu = server.cpu_s()
        async with asyncio.timeout(300):
            status, _ = await connection.post(f"{thread}/runs/wait", {**order, "config": {"recursion_limit": 4 * turns}})
        if status != 200:
            raise ContestantError(f"the run was answered with {status}")
        spent = None if cpu is None else 1000 * ((server.cpu_s() or cpu) - cpu) / turns
        began = time.perf_counter()
        async with asyncio.timeout(60):
            await connection.post(f"{thread}/history", {"limit": 10})
        history_ms = 1000 * (time.perf_counter() - began)
        firsts: list[float] = []
        for _ in range(3):
            began, seen = time.perf_counter(), []

            def take(piece: bytes, began: float = began, seen: list[float] = seen) -> None:
                if b"event:" in piece:
                    seen.append(1000 * (time.perf_counter() - began))

            async with asyncio.timeout(60):
                await connection.stream(f"{thread}/runs/stream", {**order, "input": {"turns": 1}}, take)
            firsts.append(seen[0])
        return {"cpu_ms_per_turn": spent, "history_ms": history_ms, "first_event_ms": min(firsts)}
    finally:
        connection.close()


def _new_id() -> str:
    return str(uuid.uuid4())


def _size(file: Path) -> int:
    return sum(part.stat().st_size for part in file.parent.iterdir() if part.name.startswith(file.name))


def _kb(value: float | None) -> str:
    return "–" if value is None else f"{value / 1000:.1f} kB"


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f} ms"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}x"
