"""A research on a server, through LangGraph's own client. The server keeps the thread and its evidence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, aclosing
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError
from langgraph_sdk.errors import NotFoundError as NotThereError

from stepwell.cli.dialogue.answers import OpenInterrupt
from stepwell.cli.dialogue.server_errors import as_sentences, told
from stepwell.cli.own_command import spell_command
from stepwell.cli.research.session import GRAPH, Update, ended, updates_of
from stepwell.errors import NotFoundError, RunError

_MODES: Any = ["updates"]
_NEWEST = 20


class RemoteResearch:
    """One thread. It comes into being with its question."""

    def __init__(
        self,
        client: LangGraphClient,
        url: str,
        thread_id: str | None = None,
        *,
        new_id: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        self._client = client
        self._url = url
        self._thread_id = thread_id or new_id()
        self._run_id: str | None = None

    @property
    def thread_id(self) -> str:
        return self._thread_id

    @property
    def url(self) -> str:
        return self._url

    def ask(self, given: Mapping[str, Any]) -> AsyncIterator[Update]:
        return self._start(input=dict(given))

    def answer(self, answers: Mapping[str, Any]) -> AsyncIterator[Update]:
        return self._start(command={"resume": dict(answers)})

    async def follow(self) -> AsyncIterator[Update]:
        with self._sentences():
            runs = await self._client.runs.list(self._thread_id, limit=_NEWEST)
        under_way = [run["run_id"] for run in reversed(runs) if run["status"] in ("pending", "running")]
        if not under_way and not await self.questions() and not ended(await self.values()):
            async for update in self._start(input=None):
                yield update
        for run_id in under_way:
            stream = self._client.runs.join_stream(self._thread_id, run_id, stream_mode=_MODES, last_event_id="0")
            async for update in self._updates(stream, run_id):
                yield update

    async def questions(self) -> tuple[OpenInterrupt, ...]:
        asked = (await self._thread())["interrupts"]
        return tuple(OpenInterrupt(each["id"], each["value"]) for task in asked.values() for each in task if each.get("id"))

    async def values(self) -> Mapping[str, Any]:
        return (await self._thread()).get("values") or {}

    async def stop(self) -> None:
        if self._run_id is None:
            return
        with self._sentences():
            try:
                await self._client.runs.cancel(self._thread_id, self._run_id, wait=True)
            except (NotThereError, ConflictError):  # it has ended meanwhile
                return

    async def save_bundle(self, file: Path) -> None:
        """The evidence of the thread, as the server packs it. Whoever uses it verifies it first."""
        with self._sentences():
            async with self._client.http.client.stream("GET", f"/api/research/{self._thread_id}/bundle") as response:
                if response.status_code != 200:
                    raise RunError(await self._no_bundle(response))
                with file.open("wb") as written:
                    async for piece in response.aiter_bytes():
                        written.write(piece)

    async def _no_bundle(self, response: httpx.Response) -> str:
        said = await told(response)
        return said or (
            f"The server at {self._url} gives no evidence of its researches (it answered {response.status_code}), so nothing can be "
            "checked or exported here. The report alone goes to the standard output: stepwell research ... > report.md"
        )

    async def _thread(self) -> Mapping[str, Any]:
        with self._sentences():
            try:
                return cast("Mapping[str, Any]", await self._client.threads.get(self._thread_id))
            except NotThereError:
                raise NotFoundError("thread", self._thread_id, f"The server at {self._url} does not have it.") from None

    def _start(self, **turn: Any) -> AsyncIterator[Update]:
        def created(run: Any) -> None:
            self._run_id = run["run_id"]

        stream = self._client.runs.stream(
            self._thread_id,
            GRAPH,
            **turn,
            stream_mode=_MODES,
            stream_resumable=True,
            if_not_exists="create",
            on_disconnect="continue",
            on_run_created=created,
        )
        return self._updates(stream, None)

    async def _updates(self, stream: AsyncIterator[Any], run_id: str | None) -> AsyncIterator[Update]:
        self._run_id = run_id
        with self._sentences():
            async with aclosing(cast("Any", stream)) as parts:
                async for part in parts:
                    for update in updates_of(part.event, part.data):
                        yield update
        self._run_id = None

    def _sentences(self) -> AbstractContextManager[None]:
        return as_sentences(self._url, spell_command(f"research --url {self._url} --continue {self._thread_id}"))
