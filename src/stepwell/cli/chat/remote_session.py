"""A conversation with an assistant on a server, through LangGraph's own client: what our terminal can, every client can.

```
say, answer   POST .../runs/stream     a dropped connection is taken up again after the last event that came
follow        GET  .../runs/R/stream   a turn that somebody left, or that a restarted server drives on
stop          POST .../runs/R/cancel   Ctrl-C ends the run there, not only the reading here
```
The server keeps everything: this side may vanish at any moment and come back with the thread's id.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing
from typing import Any, cast
from uuid import uuid4

from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, UnprocessableEntityError
from langgraph_sdk.errors import NotFoundError as NotThereError

from stepwell.cli.chat.session import TITLE_CHARS, ThreadLine, files_of, todos_of
from stepwell.cli.dialogue.answers import OpenInterrupt
from stepwell.cli.dialogue.events import Restarted, Translator, TurnEvent, last_answer
from stepwell.cli.dialogue.server_errors import as_sentences, tell_of_outages
from stepwell.cli.own_command import spell_command
from stepwell.errors import NotFoundError, RunError

MODES: Any = ["messages-tuple", "updates"]
NEWEST = 20


class RemoteSession:
    """One thread of one assistant at a time. A thread comes into being with its first message."""

    def __init__(
        self,
        client: LangGraphClient,
        assistant: str,
        *,
        url: str,
        tell: Callable[[str], None],
        new_id: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        self._client = client
        self._assistant = assistant
        self._url = url
        self._tell = tell
        """Says what is no event of the turn: that the server cannot be reached for a while."""
        self._new_id = new_id
        self._thread_id = new_id()
        self._translator = Translator()
        self._known = False
        """The server has the thread."""
        self._run_id: str | None = None
        self._under_way = False

    @property
    def thread_id(self) -> str:
        return self._thread_id

    @property
    def carry_on(self) -> str:
        """The command that goes on with the thread."""
        return spell_command(f"chat --url {self._url} --thread {self._thread_id}")

    async def say(self, text: str) -> AsyncIterator[TurnEvent]:
        if not self._known:
            with self._sentences():
                about = {"title": text[:TITLE_CHARS]}
                await self._client.threads.create(thread_id=self._thread_id, metadata=about, if_exists="do_nothing")
            self._known = True
        async for event in self._start(input={"messages": [{"role": "user", "content": text}]}):
            yield event

    def answer(self, answers: Mapping[str, Any]) -> AsyncIterator[TurnEvent]:
        return self._start(command={"resume": dict(answers)})

    async def follow(self) -> AsyncIterator[TurnEvent]:
        with self._sentences():
            runs = await self._client.runs.list(self._thread_id, limit=NEWEST)
        under_way = [run["run_id"] for run in reversed(runs) if run["status"] in ("pending", "running")]
        for run_id in under_way:
            stream = self._client.runs.join_stream(self._thread_id, run_id, stream_mode=MODES, last_event_id="0")
            async for event in self._events(stream, run_id):
                yield event

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
            except (NotThereError, ConflictError):  # it has ended meanwhile
                return

    async def questions(self) -> tuple[OpenInterrupt, ...]:
        asked = (await self._thread())["interrupts"]
        return tuple(
            OpenInterrupt(interrupt["id"], interrupt["value"])
            for each in asked.values()
            for interrupt in each
            if interrupt.get("id")
        )

    async def todos(self) -> list[Mapping[str, str]]:
        return todos_of((await self._thread())["values"])

    async def files(self) -> dict[str, str]:
        return files_of((await self._thread())["values"])

    async def last_answer(self) -> str:
        values = (await self._thread())["values"]
        return last_answer(values.get("messages") if isinstance(values, Mapping) else None)

    async def threads(self) -> list[ThreadLine]:
        with self._sentences():
            found = await self._client.threads.search(limit=NEWEST, sort_by="updated_at", sort_order="desc")
        return [ThreadLine(thread["thread_id"], _about(cast("Mapping[str, Any]", thread))) for thread in found]

    async def open_thread(self, thread_id: str) -> None:
        with self._sentences():
            try:
                await self._client.threads.get(thread_id)
            except (NotThereError, UnprocessableEntityError):  # unprocessable: no id at all
                raise NotFoundError("thread", thread_id, "/threads in a chat lists them.") from None
        self._begin(thread_id, known=True)

    async def new_thread(self) -> None:
        self._begin(self._new_id(), known=False)

    def _begin(self, thread_id: str, *, known: bool) -> None:
        self._thread_id, self._known = thread_id, known
        self._translator = Translator()
        self._run_id, self._under_way = None, False

    async def _thread(self) -> Mapping[str, Any]:
        with self._sentences():
            try:
                return cast("Mapping[str, Any]", await self._client.threads.get(self._thread_id))
            except NotThereError:  # nothing was said yet
                return {"interrupts": {}, "values": {}}

    def _start(self, **turn: Any) -> AsyncIterator[TurnEvent]:
        def created(run: Any) -> None:
            self._run_id = run["run_id"]

        stream = self._client.runs.stream(
            self._thread_id,
            self._assistant,
            **turn,
            stream_mode=MODES,
            stream_subgraphs=True,
            stream_resumable=True,
            if_not_exists="create",
            multitask_strategy="enqueue",
            on_disconnect="continue",
            on_run_created=created,
        )
        return self._events(stream, None)

    async def _events(self, stream: AsyncIterator[Any], run_id: str | None) -> AsyncIterator[TurnEvent]:
        self._run_id, self._under_way = run_id, True
        with self._sentences():
            reading = tell_of_outages(stream, self._client.http.client, self._url, self._tell)
            async with aclosing(cast("Any", reading)) as parts:
                async for part in parts:
                    for event in self._event(part.event, part.data):
                        yield event
        self._under_way = False
        for event in self._translator.rest():
            yield event

    def _event(self, name: str, data: Any) -> Iterator[TurnEvent]:
        mode, *namespace = name.split("|")
        if mode == "error":
            self._under_way = False
            yield from self._translator.rest()
            raise RunError(f"{data.get('error', 'Error')}: {data.get('message', '')}")
        if mode == "metadata" and data.get("attempt", 1) > 1:
            self._translator = Translator()
            yield Restarted(data["attempt"])
        yield from self._translator.translate(tuple(namespace), mode, data)

    def _sentences(self) -> AbstractContextManager[None]:
        return as_sentences(self._url, self.carry_on)


def _about(thread: Mapping[str, Any]) -> str:
    title = str((thread.get("metadata") or {}).get("title") or "")
    return f"{thread['status']:11} {str(thread['updated_at'])[:16]}  {title}"
