"""A session with an assistant on a server, through LangGraph's own client, so every client can do what our terminal can.

```
send, answer   POST .../runs/stream     reconnects after the last event received; before the first event it repeats the request with
                                        the same idempotency key, so that nothing starts twice
follow         GET  .../runs/R/stream   a run that the user left, or that a restarted server resumed
stop           POST .../runs/R/cancel   Ctrl-C ends the run on the server, not only the reading here
```
The server stores everything: the client may disconnect at any time and return with the thread's id. The API key comes from
STEPWELL_API_KEY, never from the arguments, which other users of the machine can see.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote
from uuid import uuid4

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError
from langgraph_sdk.errors import NotFoundError as NotThereError

from stepwell.addresses import DEFAULT_URL
from stepwell.errors import ConfigurationError, NoActiveRunError, RunError
from stepwell.settings import Settings
from stepwell.terminal.dialogue.server_errors import as_sentences, is_uncertain, tell_of_outages
from stepwell.terminal.dialogue.session import (
    CLAIM_S,
    TERMINAL,
    OpenInterrupt,
    RunFailedError,
    StreamPart,
    SubAgentLine,
    TaskLine,
    failure_in,
    read_part,
)
from stepwell.terminal.dialogue.stored_subagents import shorten

NEWEST = 20
PAGE = 200
_PAUSES_S = (0.5, 1.0, 2.0, 4.0)


@contextmanager
def open_client(runner: asyncio.Runner, url: str, settings: Settings) -> Iterator[tuple[LangGraphClient, str]]:
    """A client of the server, and its address for display. Closes its connections at the end."""
    url = check_address(url)
    client = get_client(url=url, api_key=settings.api_key.reveal() if settings.api_key else None)
    try:
        yield client, url
    finally:
        runner.run(client.aclose())


def check_address(url: str) -> str:
    """The address without a trailing slash; `ConfigurationError` if it is invalid."""
    try:
        usable = url.startswith(("http://", "https://")) and bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        usable = False
    if not usable:
        raise ConfigurationError(f"'{url}' is not the address of a server. Write it like {DEFAULT_URL}.")
    return url.rstrip("/")


@dataclass(frozen=True)
class ServerLine:
    """The server connection that all sessions with one assistant share."""

    client: LangGraphClient
    url: str
    assistant: str
    tell: Callable[[str], None]
    """Shows the user messages that are not part of a run, such as a lost connection."""
    modes: Sequence[str]
    subgraphs: bool = False
    configurable: dict[str, Any] = field(default_factory=dict)
    """What every run gets in its `configurable`."""


class RemoteSession:
    """One thread of one assistant. If the server does not have it yet, its first run creates it."""

    def __init__(self, line: ServerLine, thread_id: str, *, carry_on: str) -> None:
        self._line = line
        self._client = line.client
        self._thread_id = thread_id
        self._carry_on = carry_on
        """The command that continues the thread."""
        self._run_id: str | None = None
        self._under_way = False
        self._named = asyncio.Event()
        """Whether the server has said which run is under way."""
        self._steered: dict[str, str] = {}
        """Messages sent to runs since `hear_steered`, with their runs."""

    @property
    def thread_id(self) -> str:
        return self._thread_id

    def send(self, input: Mapping[str, Any] | None, *, title: str = "") -> AsyncGenerator[StreamPart]:
        """`title` is unused: the server makes a title of the first message."""
        return self._start(input=input)

    def answer(self, answers: Mapping[str, Any]) -> AsyncGenerator[StreamPart]:
        return self._start(command={"resume": dict(answers)})

    async def follow(self) -> AsyncGenerator[StreamPart]:
        for run in await self._active_runs():
            async with aclosing(self._join(run["run_id"])) as parts:
                async for part in parts:
                    yield part

    async def _active_runs(self) -> list[Mapping[str, Any]]:
        with self._sentences():
            runs = await self._client.runs.list(self._thread_id, limit=NEWEST)
        return [run for run in reversed(runs) if run["status"] in ("pending", "running")]

    async def stop(self) -> None:
        if not self._under_way:
            return
        self._under_way = False
        with self._sentences():
            if self._run_id is None:  # stopped before the server said which run it is
                await self._client.runs.cancel_many(thread_id=self._thread_id, status="all")
                return
            try:
                await self._client.runs.cancel(self._thread_id, self._run_id, wait=True)
            except (NotThereError, ConflictError):  # it has ended in the meantime
                return

    async def values(self) -> Mapping[str, Any]:
        values = (await self._thread()).get("values")
        return values if isinstance(values, Mapping) else {}

    async def inputs(self) -> list[Mapping[str, Any]]:
        given = [(run.get("kwargs") or {}).get("input") for run in await self._active_runs()]
        return [each for each in given if isinstance(each, Mapping)]

    async def failure(self) -> RunFailedError | None:
        thread: Mapping[str, Any] = await self._thread()
        return failure_in(thread.get("error")) if thread.get("status") == "error" else None

    async def interrupts(self) -> tuple[OpenInterrupt, ...]:
        waiting = (await self._thread()).get("interrupts") or {}
        named = [each for task in waiting.values() for each in task if each.get("id")]
        return tuple(OpenInterrupt(each["id"], each["value"], each.get("response_schema")) for each in named)

    async def tasks(self) -> list[TaskLine]:
        with self._sentences():
            listed = await self._client.http.get(f"/threads/{self._thread_id}/background-tasks")
        return [TaskLine(each["task_id"], each["agent_name"], each["status"], each["description"]) for each in listed["tasks"]]

    async def stop_task(self, task_id: str) -> None:
        with self._sentences():
            await self._client.http.post(f"/threads/{self._thread_id}/background-tasks/{quote(task_id)}/cancel", json=None)

    def hear_tasks(self) -> AsyncGenerator[StreamPart]:
        return self.follow()

    async def subagents(self) -> list[SubAgentLine]:
        tasks: list[SubAgentLine] = []
        if not await self._thread():  # nothing was sent yet
            return tasks
        async for task in self._pages("/subagents", "subagents"):
            asked = shorten(task["description"]) if task["description"] else "(no longer stored)"
            tasks.append(SubAgentLine(task["task_id"], task["name"], f"{task['status']}: {asked}"))
        return tasks[::-1]

    async def subagent_messages(self, task_id: str) -> list[Mapping[str, Any]]:
        path = f"/subagents/{quote(task_id, safe='')}/messages"
        return [message async for message in self._pages(path, "messages")][::-1]

    async def _pages(self, path: str, key: str) -> AsyncGenerator[Any]:
        """Everything that a route of the thread lists, newest first."""
        asked: dict[str, Any] = {"limit": PAGE}
        while True:
            with self._sentences():
                page = cast("Mapping[str, Any]", await self._client.http.get(f"/threads/{self._thread_id}{path}", params=asked))
            for each in page[key]:
                yield each
            if page["next"] is None:
                return
            asked["before"] = page["next"]

    async def claim(self, interrupt_id: str) -> str | None:
        wanted = {"device_id": TERMINAL, "ttl_s": CLAIM_S}
        with self._sentences():
            held = await self._client.http.post(f"/threads/{self._thread_id}/interrupts/{interrupt_id}/claim", json=wanted)
        return str(held["claim_id"])

    async def rewind(self, turn_id: str, *, dry_run: bool = False, force: bool = False) -> Mapping[str, Any]:
        wanted = {"turn_id": turn_id, "dry_run": dry_run, "force": force}
        with self._sentences():
            return cast("Mapping[str, Any]", await self._client.http.post(f"/threads/{self._thread_id}/rewind", json=wanted))

    async def steer(self, text: str) -> None:
        if self._under_way:
            await self._named.wait()
        if not self._under_way:
            raise NoActiveRunError("The turn has ended.")
        message = {"id": str(uuid4()), "content": text}
        with self._sentences():
            path = f"/threads/{self._thread_id}/runs/{self._run_id}/messages"
            await self._client.http.post(path, json={"message": message})
        self._steered[message["id"]] = str(self._run_id)

    async def withdraw(self) -> list[str]:
        taken_back: list[str] = []
        if not self._steered:
            return taken_back
        with self._sentences():
            waiting = await self._client.http.get(f"/threads/{self._thread_id}/waiting-messages")
            for message in waiting["messages"]:
                if message["message_id"] not in self._steered:  # somebody else's
                    continue
                try:
                    await self._client.http.delete(
                        f"/threads/{self._thread_id}/waiting-messages/{quote(message['message_id'])}"
                    )
                except (NotThereError, ConflictError):  # the agent has it
                    continue
                taken_back.append(str(message["content"]))
        return taken_back

    async def hear_steered(self) -> AsyncGenerator[StreamPart]:
        steered, self._steered = set(self._steered.values()), {}
        if not steered:
            return
        with self._sentences():
            runs = await self._client.runs.list(self._thread_id, limit=NEWEST)
        for run in reversed(runs):
            if (run["metadata"] or {}).get("steered_run_id") in steered:
                async with aclosing(self._join(run["run_id"])) as parts:
                    async for part in parts:
                        yield part

    async def aside(self, question: str) -> str:
        with self._sentences():
            said = await self._client.http.post(f"/threads/{self._thread_id}/side-question", json={"question": question})
        return str(said["answer"])

    async def _thread(self) -> Mapping[str, Any]:
        with self._sentences():
            try:
                return cast("Mapping[str, Any]", await self._client.threads.get(self._thread_id))
            except NotThereError:  # nothing was sent yet
                return {}

    async def _start(self, **turn: Any) -> AsyncGenerator[StreamPart]:
        """Start a run and read it. If the server did not confirm the request, retry it with the same idempotency key."""
        headers = {"Idempotency-Key": str(uuid4())}
        for pause_s in (*_PAUSES_S, None):
            try:
                async with aclosing(self._read(self._open(headers, turn), None)) as parts:
                    async for part in parts:
                        yield part
                return
            except RunError as error:
                if pause_s is None or self._run_id is not None or not is_uncertain(error.__cause__):
                    raise
            self._line.tell("(The server did not confirm this message. Sending it again; it will count only once.)")
            await asyncio.sleep(pause_s)

    def _open(self, headers: Mapping[str, str], turn: Mapping[str, Any]) -> AsyncIterator[Any]:
        def note_run(run: Any) -> None:
            self._run_id = run["run_id"]
            self._named.set()

        return self._client.runs.stream(
            self._thread_id,
            self._line.assistant,
            **turn,
            config={"configurable": dict(self._line.configurable)} if self._line.configurable else None,
            stream_mode=cast("Any", list(self._line.modes)),
            stream_subgraphs=self._line.subgraphs,
            stream_resumable=True,
            if_not_exists="create",
            multitask_strategy="enqueue",
            on_disconnect="continue",
            on_run_created=note_run,
            headers=headers,
        )

    def _join(self, run_id: str) -> AsyncGenerator[StreamPart]:
        """The whole stream of a run that was started elsewhere."""
        modes = cast("Any", list(self._line.modes))
        return self._read(self._client.runs.join_stream(self._thread_id, run_id, stream_mode=modes, last_event_id="0"), run_id)

    async def _read(self, stream: AsyncIterator[Any], run_id: str | None) -> AsyncGenerator[StreamPart]:
        self._run_id, self._under_way = run_id, True
        self._named.clear() if run_id is None else self._named.set()
        reading = tell_of_outages(stream, self._client.http.client, self._line.url, self._line.tell)
        with self._sentences():
            async with aclosing(cast("Any", reading)) as parts:
                async for part in parts:
                    yield self._read_part(part.event, part.data)
        self._under_way = False

    def _read_part(self, event: str, data: Any) -> StreamPart:
        try:
            return read_part(event, data)
        except RunFailedError:
            self._under_way = False
            raise

    def _sentences(self) -> AbstractContextManager[None]:
        return as_sentences(self._line.url, self._carry_on)
