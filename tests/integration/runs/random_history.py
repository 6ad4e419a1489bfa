"""A random history of a server: messages, answers, cancellations, rollbacks, copies, edits, steps back, deletions, restarts and kills, and
what must be true after it. What tools that run at most once did is written to a file, as a world outside would.

A kill is a copy of what is committed at that instant, opened by a new engine; the old one is heard no more. It happens between two
operations, so whatever a caller was told is known, and must be there.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepwell.clock import SystemClock
from stepwell.database.records.types import EffectFilter, Page, ThreadFilter
from stepwell.database.sqlite.persistence import EmbeddedPersistence
from stepwell.database.types import PendingInterrupt, Thread
from stepwell.errors import InterruptAnsweredError, NotFoundError, ResumeError, ThreadBusyError
from stepwell.runs.assistants import Assistants
from stepwell.runs.engine import Engine, EngineOptions
from stepwell.runs.graphs.registry import GraphRegistry
from stepwell.runs.graphs.sources import GraphSource
from stepwell.runs.starting import RunOrder
from stepwell.runs.threads.operations import Threads

from .random_graph import make_graph, make_payer, new_id

OWNER = "somebody"
_EVERYTHING = Page(limit=1000)
_PATIENCE_S = 60.0
_REFUSED = (InterruptAnsweredError, NotFoundError, ResumeError, ThreadBusyError)
"""What a caller may be told who comes too late, or at the wrong moment."""


@dataclass
class Book:
    """What callers were told, and what happened outside."""

    said: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Mark -> thread and run."""
    answers: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Answer -> thread, run and question."""
    weak: set[str] = field(default_factory=set)
    """Marks of runs that were not asked to be durable at every step: after a kill their steps begin anew, under other keys."""
    undone: set[str] = field(default_factory=set)
    """Threads on which a run was rolled back: what it did outside stays done, and is done again when somebody asks for it again."""
    effects: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """Name -> keys it came with."""
    payments: Path = field(default_factory=Path)
    """The file of the world outside: a line for each payment, with the call that was paid for and the key it came with."""

    def paid(self) -> list[tuple[str, str]]:
        """Call and key of every payment."""
        lines = self.payments.read_text().splitlines() if self.payments.exists() else []
        return [(call, key) for call, _, key in (line.partition(" ") for line in lines)]


def _pays(thread: Thread) -> bool:
    """By its last run: a thread that was deleted under a message is made anew, and is in no list."""
    return thread.metadata.get("graph_id") == "payer"


class Server:
    """One life of a process: an engine over a database file."""

    def __init__(self, file: Path, book: Book) -> None:
        self._file = file
        self._book = book
        self._alive = True
        self._opened = AsyncExitStack()

    async def start(self) -> None:
        clock = SystemClock()
        self.persistence = await self._opened.enter_async_context(EmbeddedPersistence(self._file))
        registry = GraphRegistry(
            {"random": GraphSource.of(make_graph(self._hear)), "payer": GraphSource.of(make_payer(self._pay))}
        )
        assistants = Assistants(self.persistence.records, registry, clock, new_id)
        await assistants.install_defaults()
        self.threads = Threads(self.persistence, registry, clock, new_id)
        engine = Engine(self.persistence, registry, assistants, clock=clock, new_id=new_id, options=EngineOptions(drain_s=0.0))
        self.engine = await self._opened.enter_async_context(engine)

    async def stop(self) -> None:
        await self._opened.aclose()

    async def kill(self, copy: Path) -> None:
        """Nothing of this life counts from the copy on."""
        with closing(sqlite3.connect(self._file)) as reading, closing(sqlite3.connect(copy)) as writing:
            reading.backup(writing)
        self._alive = False
        await self._opened.aclose()

    def _hear(self, name: str, key: str) -> None:
        if self._alive:
            self._book.effects[name].add(key)

    def _pay(self, call: str, key: str) -> None:
        if self._alive:
            with self._book.payments.open("a") as file:
                file.write(f"{call} {key}\n")


class History:
    """`await History(folder, seed).live(steps)`, then `wrong()` says what is not as it must be."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._chance = random.Random(seed)
        self._book = Book(payments=folder / "payments")
        self._threads = [new_id() for _ in range(3)]
        self._tills = [new_id()]
        """Threads on which is paid; copies come in addition."""
        self._lives = 0
        self._server = Server(self._next_file(), self._book)
        self.happened: Counter[str] = Counter()
        self.payments = self.unknown = 0

    async def live(self, steps: int) -> None:
        await self._server.start()
        doings: list[Callable[[], Awaitable[None]]] = [
            self._say,
            self._buy,
            self._answer,
            self._cancel,
            self._copy,
            self._edit,
            self._go_back,
            self._delete,
            self._restart,
            self._kill,
        ]
        for _ in range(steps):
            doing = self._chance.choices(doings, (8, 5, 8, 4, 1.5, 1, 1, 1, 0.7, 1))[0]
            if doing in (self._kill, self._restart):
                await doing()
            else:
                # Two at the same moment; who comes too late is told so.
                both = await asyncio.gather(doing(), self._chance.choice(doings[:-2])(), return_exceptions=True)
                for error in both:
                    if error is not None and not isinstance(error, _REFUSED):
                        raise error
            await asyncio.sleep(self._chance.choice((0, 0, 0.002, 0.01, 0.03)))

    async def _say(self) -> None:
        thread_id, mark = self._chance.choice(self._threads), new_id()
        plan = self._chance.choice(("plain", "plain", "slow", "ask", "ask", "fail"))
        strategy: Any = self._chance.choices(("enqueue", "reject", "interrupt", "rollback"), (8, 3, 3, 1))[0]
        durability: Any = self._chance.choice(("sync", "async", "exit")) if plan == "slow" else "sync"
        given = {"marks": [mark], "plan": plan}
        order = RunOrder(
            "random",
            thread_id=thread_id,
            input=given,
            if_not_exists="create",
            multitask_strategy=strategy,
            durability=durability,
            stream_modes=self._chance.choice((["values"], ["updates"], [])),
        )
        run = (await self._server.engine.start(OWNER, order)).run
        self._book.said[mark] = (thread_id, run.run_id)
        if strategy == "rollback":
            self._book.undone.add(thread_id)
        if durability != "sync":
            self._book.weak.add(mark)
        self.happened[f"say {strategy}"] += 1

    async def _buy(self) -> None:
        thread_id, verb = self._chance.choice(self._tills), self._chance.choice(("ask", "ask", "act", "hello"))
        strategy: Any = self._chance.choices(("enqueue", "interrupt", "rollback"), (4, 1, 1))[0]
        given = {"messages": [{"role": "user", "content": f"{verb} {new_id()}"}]}
        order = RunOrder(
            "payer", thread_id=thread_id, input=given, if_not_exists="create", multitask_strategy=strategy, stream_modes=[]
        )
        await self._server.engine.start(OWNER, order)
        if strategy == "rollback":
            self._book.undone.add(thread_id)
        self.happened[f"buy {verb} {strategy}"] += 1

    async def _copy(self) -> None:
        thread_id = self._chance.choice(self._tills)
        copied = await self._server.persistence.records.copy_thread(OWNER, thread_id, new_id())
        self._tills.append(copied.thread_id)
        self._book.undone.add(copied.thread_id)
        self.happened["copy"] += 1

    async def _edit(self) -> None:
        values = {"todos": [{"content": new_id(), "status": "pending"}]}
        # After either, LangGraph gives the next step another id.
        thread_id, node = self._chance.choice(self._tills), self._chance.choice(("model", "tools"))
        await self._server.threads.update_state(OWNER, thread_id, values=values, as_node=node)
        self.happened["edit"] += 1

    async def _go_back(self) -> None:
        thread_id = self._chance.choice(self._tills)
        past = await self._server.threads.history(OWNER, thread_id, limit=20)
        if past:
            checkpoint = {"checkpoint_id": self._chance.choice(past)["checkpoint"]["checkpoint_id"]}
            await self._server.engine.start(
                OWNER, RunOrder("payer", thread_id=thread_id, checkpoint=checkpoint, stream_modes=[])
            )
            self.happened["go back"] += 1

    async def _answer(self) -> None:
        waiting = [(thread, question) for thread in await self._all_threads() for question in thread.interrupts]
        if not waiting:
            return
        thread, question = self._chance.choice(waiting)
        if _pays(thread):
            await self._decide(thread, question, self._chance.choice(("approve", "approve", "approve", "reject")))
            return
        answer = new_id()
        command = {"resume": {question.interrupt_id: answer}}
        started = await self._server.engine.start(OWNER, RunOrder("random", thread_id=thread.thread_id, command=command))
        self._book.answers[answer] = (thread.thread_id, started.run.run_id, question.value)
        self.happened["answer"] += 1

    async def _decide(self, thread: Thread, question: PendingInterrupt, decision: str) -> None:
        command = {"resume": {question.interrupt_id: {"decisions": [{"type": decision}]}}}
        await self._server.engine.start(OWNER, RunOrder("payer", thread_id=thread.thread_id, command=command, stream_modes=[]))
        self.happened[decision] += 1

    async def _cancel(self) -> None:
        open_runs = await self._server.persistence.records.open_runs(OWNER, None, None)
        if open_runs:
            action: Any = self._chance.choices(("interrupt", "rollback"), (5, 1))[0]
            run_id = self._chance.choice(open_runs)
            stopped = await self._server.engine.cancel(OWNER, None, [run_id], action=action, wait=self._chance.random() < 0.5)
            if action == "rollback":
                self._book.undone.update(run.thread_id for run in stopped)
            self.happened[f"cancel {action}"] += 1

    async def _delete(self) -> None:
        chosen = self._chance.choice((self._threads, self._tills))
        thread_id = self._chance.choice(chosen)
        await self._server.persistence.records.delete_thread(OWNER, thread_id)
        chosen[chosen.index(thread_id)] = new_id()
        self.happened["delete"] += 1

    async def _restart(self) -> None:
        await self._server.stop()
        self._server = Server(self._server._file, self._book)
        await self._server.start()
        self.happened["restart"] += 1

    async def _kill(self) -> None:
        file = self._next_file()
        await self._server.kill(file)
        self._server = Server(file, self._book)
        await self._server.start()
        self.happened["kill"] += 1

    def _next_file(self) -> Path:
        self._lives += 1
        return self._folder / f"{self._lives}.db"

    async def _all_threads(self) -> list[Thread]:
        return await self._server.persistence.records.search_threads(OWNER, ThreadFilter(), _EVERYTHING)

    async def settle(self) -> None:
        """Until nothing goes on any more."""
        async with asyncio.timeout(_PATIENCE_S):
            while await self._server.persistence.records.open_runs(OWNER, None, None):  # noqa: ASYNC110 - nobody tells of all
                await asyncio.sleep(0.01)

    async def answer_everything(self) -> None:
        """What is asked can be answered, until nothing is asked."""
        for _ in range(10):
            waiting = [(thread, question) for thread in await self._all_threads() for question in thread.interrupts]
            if not waiting:
                return
            for thread, question in waiting:
                if _pays(thread):
                    await self._decide(thread, question, "approve")
                    continue
                command = {"resume": {question.interrupt_id: "at last"}}
                await self._server.engine.start(OWNER, RunOrder("random", thread_id=thread.thread_id, command=command))
            await self.settle()
        raise AssertionError(f"questions are asked again and again: {waiting}")

    async def stop(self) -> None:
        await self._server.stop()

    async def wrong(self) -> list[str]:
        """What is not as it must be. Nothing goes on any more."""
        found = list(self._wrong_effects())
        for thread in await self._all_threads():
            found += await self._wrong_thread(thread)
        found += await self._wrong_messages()
        found += await self._wrong_payments()
        return found

    async def _wrong_payments(self) -> list[str]:
        """A call is paid for once at most, whoever approved it where; and nothing that was paid is forgotten."""
        paid = self._book.paid()
        known = EffectFilter(open=False)
        listed = {one.key: one.outcome for one in await self._server.persistence.records.effects(None, known, _EVERYTHING)}
        wrong = [
            f"call {call} was paid {times} times" for call, times in Counter(call for call, _ in paid).items() if times > 1
        ]
        wrong += [
            f"the payment of call {call} is forgotten" for call, key in paid if listed.get(key) not in ("done", "unknown")
        ]
        self.payments, self.unknown = len(paid), sum(outcome == "unknown" for outcome in listed.values())
        return wrong + [one for till in self._tills for one in await self._wrong_till(till)]

    async def _wrong_till(self, thread_id: str) -> list[str]:
        """No call has two results."""
        try:
            messages = (await self._server.threads.state(OWNER, thread_id))["values"].get("messages", ())
        except NotFoundError:
            return []
        results = Counter(message["tool_call_id"] for message in messages if message["type"] == "tool")
        return [f"call {call} has {times} results on thread {thread_id}" for call, times in results.items() if times > 1]

    def _wrong_effects(self) -> Iterator[str]:
        for name, keys in self._book.effects.items():
            mark = name.split()[0]
            if len(keys) > 1 and mark not in self._book.weak and self._book.said[mark][0] not in self._book.undone:
                yield f"the effect '{name}' came with {len(keys)} keys"

    async def _wrong_thread(self, thread: Thread) -> list[str]:
        if thread.status == "busy":
            return [f"thread {thread.thread_id} is busy with nothing"]
        state = await self._server.threads.state(OWNER, thread.thread_id, subgraphs=True)
        recorded = {question.interrupt_id for question in thread.interrupts}
        shown = {question["id"] for question in state["interrupts"]}
        wrong = [f"thread {thread.thread_id} has question {name} and does not ask it" for name in recorded - shown]
        if thread.interrupts and thread.status not in ("interrupted", "error"):
            wrong.append(f"thread {thread.thread_id} asks and is {thread.status}")
        # A copy was never driven, and a rollback that a crash overtook leaves nobody who could tell the values.
        unsure = _pays(thread) and thread.thread_id in self._book.undone
        if thread.values != state["values"] and not unsure and not await self._was_stopped(thread):
            wrong.append(f"thread {thread.thread_id} shows {thread.values}, its state is {state['values']}")
        return wrong

    async def _was_stopped(self, thread: Thread) -> bool:
        """The last run that had begun was to be stopped when the process died: it ended without a graph that could tell its values.
        Also a thread without a run that has ended has none to show."""
        runs = await self._server.persistence.records.list_runs(OWNER, thread.thread_id, None, _EVERYTHING)
        begun = [run for run in runs if run.attempt]
        return not begun or begun[0].status == "interrupted"

    async def _wrong_messages(self) -> list[str]:
        marks: Counter[str] = Counter()
        done: Counter[str] = Counter()
        for thread in await self._all_threads():
            values = (await self._server.threads.state(OWNER, thread.thread_id))["values"]
            marks.update(values.get("marks", ()))
            done.update(values.get("done", ()))
        wrong = [f"'{name}' was done {count} times" for name, count in done.items() if count > 1]
        for mark, (thread_id, run_id) in self._book.said.items():
            expected = await self._expected(thread_id, run_id)
            if marks[mark] not in expected:
                wrong.append(f"message {mark} of run {run_id} stands {marks[mark]} times instead of {expected}")
        return wrong

    async def _expected(self, thread_id: str, run_id: str) -> tuple[int, ...]:
        """How often a message may stand in its thread."""
        try:
            run = await self._server.persistence.records.get_run(OWNER, thread_id, run_id)
        except NotFoundError:
            return (0,)  # rolled back, or deleted with its thread: as if it had never been
        # Stopped before it had begun, or afterwards.
        return (0, 1) if run.status == "interrupted" else (1,)
