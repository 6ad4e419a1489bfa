"""People at work on threads through two servers, with LangGraph's own SDK: they send, follow, answer, stop and pay, and write down what
they were told.

A message is sent once. Where no answer comes, or "cannot now", nobody knows whether it was taken; a run's id is a promise. Reading and
answering is repeated, on the other server each time, until it succeeds. A stream is left in the middle and joined again on the other
server, with the number of the last event that came.
"""

from __future__ import annotations

import asyncio
import random
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError
from tests.integration.postgres.chaos.book import AGENTS, FINISHED, Book, Heard, Said
from tests.integration.postgres.chaos.graphs import WORDS

T = TypeVar("T")
Sdk = LangGraphClient

PATIENCE_S = 1_800.0
"""Long: among many faults a run takes many attempts, and one suspected of its worker's deaths waits for a worker that lives longer."""
MODES = {
    "speaking": ["custom", "values"],
    "slow": ["custom", "values"],
    "asking": ["values"],
    "deep": ["updates", "messages-tuple"],
    "sold": ["updates"],
}
_PAUSE_S = 0.05
_THINK_S = 0.3
_EXPECTED = (429, 503)
_LOST = (httpx.TransportError, httpx.StreamError)


class Unexpected(Exception):
    """A response that no fault excuses."""


@asynccontextmanager
async def connected(urls: Sequence[str]) -> AsyncIterator[list[Sdk]]:
    async with AsyncExitStack() as stack:
        limits = httpx.Timeout(connect=10, read=60, write=10, pool=60)
        yield [await stack.enter_async_context(get_client(url=url, api_key=None, timeout=limits)) for url in urls]


class Person:
    """One person, at both servers."""

    def __init__(self, sdks: Sequence[Sdk], book: Book, chance: random.Random, patience_s: float = PATIENCE_S) -> None:
        self._sdks = sdks
        self._book = book
        self._patience_s = patience_s
        self.chance = chance

    async def say(self, graph: str, thread_id: str, *, config: dict[str, Any] | None = None) -> Said:
        """Send one message, once."""
        mark = uuid.uuid4().hex
        message = {"role": "user", "content": mark, "id": mark}
        given: dict[str, Any] = {"messages": [message]} if graph in AGENTS else {"messages": [message], "marks": [mark]}
        said = Said(thread_id, graph, mark, None)
        try:
            run = await self._send(
                lambda sdk: sdk.runs.create(
                    thread_id,
                    graph,
                    input=given,
                    config=cast("Any", config),
                    stream_mode=cast("Any", MODES[graph]),
                    if_not_exists="create",
                    multitask_strategy="enqueue",
                )
            )
            said = said._replace(run_id=run["run_id"])
        except APIStatusError as error:
            said = said._replace(refused="Nothing was stored" in str(error.body))
        except _LOST:
            pass  # taken or not, nobody has said
        self._book.say(said)
        return said

    async def answer(self, graph: str, thread_id: str, interrupt_id: str, answer: str) -> str:
        """As often as it takes; gives the run."""
        run = await self.again(
            lambda sdk: sdk.runs.create(thread_id, graph, command=cast("Any", {"resume": {interrupt_id: answer}}))
        )
        self._book.answer(thread_id, answer)
        return str(run["run_id"])

    async def cancel(self, said: Said) -> None:
        assert said.run_id is not None
        run_id = said.run_id
        self._book.cancel(run_id)
        await self.again(lambda sdk: sdk.runs.cancel(said.thread_id, run_id, wait=False))

    async def take_back(self, said: Said) -> None:
        """Until the run is gone, or has ended before that."""
        assert said.run_id is not None
        run_id = said.run_id
        self._book.take_back(run_id)
        await self.again(lambda sdk: sdk.runs.cancel(said.thread_id, run_id, wait=False, action="rollback"), missing=True)
        async with asyncio.timeout(self._patience_s):
            while run := await self.again(lambda sdk: sdk.runs.get(said.thread_id, run_id), missing=True):
                if run["status"] in FINISHED:
                    return
                await asyncio.sleep(_PAUSE_S)

    async def wait(self, thread_id: str, run_id: str) -> dict[str, Any]:
        """Until the run has ended."""
        async with asyncio.timeout(self._patience_s):
            while True:
                run = await self.again(lambda sdk: sdk.runs.get(thread_id, run_id))
                if run["status"] in FINISHED:
                    return cast("dict[str, Any]", run)
                await asyncio.sleep(_PAUSE_S)

    async def settle(self, thread_id: str) -> dict[str, Any] | None:
        """Until nothing goes on on a thread; None if it was never made."""
        async with asyncio.timeout(self._patience_s):
            while True:
                thread = await self.again(lambda sdk: sdk.threads.get(thread_id), missing=True)
                if thread is None or thread["status"] != "busy":
                    return cast("dict[str, Any] | None", thread)
                await asyncio.sleep(_PAUSE_S)

    async def read_state(self, thread_id: str) -> None:
        """What stands in a thread in the end."""
        state: Any = await self.again(lambda sdk: sdk.threads.get_state(thread_id), missing=True)
        self._book.read_state(thread_id, dict(state["values"] or {}) if state else {})

    async def follow(self, thread_id: str, run_id: str) -> None:
        """Everything a run says, to its end, on one server and then on the other."""
        heard: list[Heard] = []
        sdks = self._shuffled()
        async with asyncio.timeout(self._patience_s):
            while not heard or heard[-1].event != "end":
                before = len(heard)
                try:
                    await self._listen(sdks[0], thread_id, run_id, heard)
                except APIStatusError as error:
                    self._excuse(error)
                except _LOST:
                    pass
                self._book.connections += len(heard) > before
                self._book.changes += before > 0
                sdks.reverse()
                await asyncio.sleep(_PAUSE_S if len(heard) == before else 0)
        self._book.follow(run_id, heard)

    async def _listen(self, sdk: Sdk, thread_id: str, run_id: str, heard: list[Heard]) -> None:
        """Until the end of the run or of the connection, or of this person's patience."""
        most = len(heard) + self.chance.randint(3, 40)
        after = str(heard[-1].seq if heard else 0)  # also at first: the SDK warns of a cut before it has seen a number
        parts = sdk.runs.join_stream(thread_id, run_id, last_event_id=after)
        async with aclosing(cast("Any", parts)) as stream:
            async for part in stream:
                heard.append(Heard(int(part.id), part.event, part.data))
                if len(heard) >= most or part.event == "end":
                    return

    async def again(self, ask: Callable[[Sdk], Awaitable[T]], *, missing: bool = False) -> T | None:
        """Until there is a response; None for what is not there."""
        async with asyncio.timeout(self._patience_s):
            while True:
                try:
                    return await self._send(ask)
                except APIStatusError as error:
                    if missing and error.status_code == 404:
                        return None
                except _LOST:
                    pass
                await asyncio.sleep(_PAUSE_S)

    async def _send(self, ask: Callable[[Sdk], Awaitable[T]]) -> T:
        """On one of the servers; where there is no connection nothing was sent, and the other one is tried."""
        for sdk in self._shuffled():
            try:
                return await ask(sdk)
            except httpx.ConnectError:
                continue
            except APIStatusError as error:
                self._excuse(error)
                raise
        raise httpx.ConnectError("none of the servers can be reached")

    def _excuse(self, error: APIStatusError) -> None:
        self._book.responses[error.status_code] += 1
        nobody_knows = error.status_code == 409 and "outcome-unknown" in str(error.body)
        if error.status_code not in (*_EXPECTED, 404) and not nobody_knows:
            raise Unexpected(f"{error.status_code}: {error.body}") from error

    def _shuffled(self) -> list[Sdk]:
        return self.chance.sample(self._sdks, len(self._sdks))


Story = Callable[[Person, str], Awaitable[None]]


async def talk(person: Person, thread_id: str) -> None:
    """One or two messages without waiting, read along."""
    said = [await person.say("speaking", thread_id) for _ in range(person.chance.randint(1, 2))]
    for one in said:
        if one.run_id:
            await person.follow(thread_id, one.run_id)


async def change_mind(person: Person, thread_id: str) -> None:
    """A message whose run is stopped, wherever it is."""
    said = await person.say("speaking", thread_id)
    if said.run_id:
        await asyncio.sleep(person.chance.uniform(0, 1.2))
        await person.cancel(said)
        await person.follow(thread_id, said.run_id)


async def take_back(person: Person, thread_id: str) -> None:
    """A message that is taken back, wherever it is, and then another one, which finds nothing of it."""
    said = await person.say("speaking", thread_id)
    if said.run_id:
        await asyncio.sleep(person.chance.uniform(0, 1.2))
        await person.take_back(said)
        await talk(person, thread_id)


async def ask(person: Person, thread_id: str) -> None:
    """A question, answered on either server, and then once more."""
    said = await person.say("asking", thread_id)
    thread = await person.settle(thread_id)
    questions = [one for several in (thread or {}).get("interrupts", {}).values() for one in several]
    if not questions:
        assert said.run_id is None, f"an acknowledged question was never asked on {thread_id}: {thread}"
        return
    (question,) = questions
    answer = f"answer-{question['value']['question']}"
    run_id = await person.answer("asking", thread_id, question["id"], answer)
    assert await person.answer("asking", thread_id, question["id"], answer) == run_id, "the same answer again is the same run"
    await person.follow(thread_id, run_id)


async def work(person: Person, thread_id: str) -> None:
    """A deep agent: plan, files, a payment, two subagents that pay too."""
    said = await person.say("deep", thread_id)
    if said.run_id:
        await person.follow(thread_id, said.run_id)


def enduring(step_s: float) -> Story:
    async def endure(person: Person, thread_id: str) -> None:
        """One step, so long that few workers live to its end."""
        said = await person.say("slow", thread_id, config={"configurable": {"pause_s": step_s / WORDS}})
        if said.run_id:
            await person.follow(thread_id, said.run_id)

    return endure


def paying(funding_id: str) -> Story:
    async def pay(person: Person, thread_id: str) -> None:
        """Three model calls, each of them paid for."""
        said = await person.say("sold", thread_id, config={"configurable": {"funding_id": funding_id}})
        if said.run_id:
            await person.follow(thread_id, said.run_id)

    return pay


class Crowd:
    """People at work until `finish`, each on a thread of their own, `at_once` at a time."""

    def __init__(
        self,
        sdks: Sequence[Sdk],
        book: Book,
        stories: Sequence[Story],
        *,
        people: int,
        at_once: int,
        seed: int,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._enough = asyncio.Event()
        self._book = book
        self._places = asyncio.Semaphore(at_once)
        self._living = [
            asyncio.create_task(
                self._live(Person(sdks, book, random.Random(seed + place), patience_s), stories[place % len(stories)])
            )
            for place in range(people)
        ]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nobody goes on."""
        for living in self._living:
            living.cancel()
        await asyncio.gather(*self._living, return_exceptions=True)

    async def finish(self) -> None:
        """No new stories; those that have begun come to their end."""
        self._enough.set()
        await asyncio.gather(*self._living)

    async def _live(self, person: Person, story: Story) -> None:
        thread_id = str(uuid.uuid4())
        try:
            while True:
                async with self._places:
                    if self._enough.is_set():
                        return
                    await story(person, thread_id)
                if story is ask:
                    thread_id = str(uuid.uuid4())
                await asyncio.sleep(person.chance.uniform(0, _THINK_S))
        except Exception:  # shown by the test
            self._book.failures.append(traceback.format_exc())
            self._enough.set()
