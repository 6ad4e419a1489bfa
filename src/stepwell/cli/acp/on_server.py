"""Threads on a server: an assistant there answers, and the editor's folder is its device."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from acp.schema import SessionInfo
from langgraph_sdk import get_client
from langgraph_sdk.errors import APIStatusError, UnprocessableEntityError
from langgraph_sdk.errors import NotFoundError as NotThereError
from langgraph_sdk.schema import Assistant

from stepwell.cli.chat.on_server import choose_assistant
from stepwell.errors import ConfigurationError, NotFoundError
from stepwell.permission_modes import PERMISSION_MODE, RUN_MODES
from stepwell.settings import Settings
from stepwell.terminal.acp.conversation import EditorThread
from stepwell.terminal.acp.folder import EditorFolder
from stepwell.terminal.chat.options import STREAM_MODES, USUAL
from stepwell.terminal.dialogue.remote_session import NEWEST, RemoteSession, ServerLine, check_address
from stepwell.terminal.dialogue.server_errors import as_sentences

_ABOUT = "acp"
"""Where a thread's metadata say which folder of an editor it belongs to."""
_PROJECT_FIELD = "current_project_id"
_RELOAD = "session/load"
_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_threads_on_server(settings: Settings, url: str, assistant: str | None) -> AsyncIterator[ThreadsOnServer]:
    """Connects when the first session is opened, so that the editor hears of a server that does not answer."""
    address = check_address(url)
    client = get_client(url=address, api_key=settings.api_key.reveal() if settings.api_key else None)
    try:
        yield ThreadsOnServer(client, address, assistant)
    finally:
        await client.aclose()


class ThreadsOnServer:
    """The threads that editors have started on the server. Nothing is stored here."""

    def __init__(self, client: Any, url: str, wanted: str | None) -> None:
        self._client = client
        self._url = url
        self._wanted = wanted

    async def new(self, folder: str, mcp_servers: Sequence[Any]) -> EditorThread:
        assistant = await choose_assistant(self._client, self._url, self._wanted, None)
        thread_id = str(uuid4())
        with as_sentences(self._url, _RELOAD):
            await self._client.threads.create(thread_id=thread_id, metadata={_ABOUT: {"cwd": folder}})
        return await self._open(thread_id, assistant, folder, USUAL, mcp_servers)

    async def open(self, thread_id: str, folder: str, mcp_servers: Sequence[Any]) -> EditorThread:
        about = (await self._metadata(thread_id)).get(_ABOUT) or {}
        if about.get("cwd") not in (None, folder):
            raise ConfigurationError(f"The session '{thread_id}' belongs to the folder '{about['cwd']}'. Open it there.")
        assistant = await choose_assistant(self._client, self._url, self._wanted, thread_id)
        return await self._open(thread_id, assistant, folder, about.get("mode", USUAL), mcp_servers)

    async def list_stored(self, folder: str | None) -> list[SessionInfo]:
        with as_sentences(self._url, _RELOAD):
            threads = await self._client.threads.search(limit=NEWEST, sort_by="updated_at", sort_order="desc")
        found = []
        for thread in threads:
            metadata = thread.get("metadata") or {}
            cwd = (metadata.get(_ABOUT) or {}).get("cwd")
            if cwd and folder in (None, cwd):
                updated = str(thread["updated_at"])
                found.append(
                    SessionInfo(session_id=thread["thread_id"], cwd=cwd, title=metadata.get("title"), updated_at=updated)
                )
        return found

    async def close(self, thread_id: str) -> None:
        """Runs go on at the server."""

    async def _open(
        self, thread_id: str, assistant: Assistant, folder: str, mode: str, mcp_servers: Sequence[Any]
    ) -> EditorThread:
        if mcp_servers:
            _log.warning("The assistant on the server has its own tools, so the MCP servers of the editor are not used.")
        modes = await self._modes(assistant["graph_id"])
        configurable: dict[str, Any] = {PERMISSION_MODE: mode} if mode in RUN_MODES and mode in modes else {}
        line = ServerLine(
            self._client,
            self._url,
            assistant["assistant_id"],
            _log.warning,
            STREAM_MODES,
            subgraphs=True,
            configurable=configurable,
        )
        mount = "/" if await self._works_on_device(assistant["assistant_id"]) else None
        session = RemoteSession(line, thread_id, carry_on=_RELOAD)
        return EditorThread(session, EditorFolder(Path(folder), mount), configurable, modes)

    async def _metadata(self, thread_id: str) -> Mapping[str, Any]:
        with as_sentences(self._url, _RELOAD):
            try:
                return cast("Mapping[str, Any]", (await self._client.threads.get(thread_id))["metadata"] or {})
            except (NotThereError, UnprocessableEntityError):
                way = "session/list names the stored ones; session/new starts one."
                raise NotFoundError("session", thread_id, way) from None

    async def _modes(self, graph_id: str) -> list[str]:
        """Another server than ours does not know modes."""
        with suppress(APIStatusError):
            graphs = await self._client.http.get("/api/graphs")
            return next((list(each["run_modes"]) for each in graphs if each["graph_id"] == graph_id), [])
        return []

    async def _works_on_device(self, assistant_id: str) -> bool:
        with suppress(APIStatusError):
            schemas = await self._client.assistants.get_schemas(assistant_id)
            return _PROJECT_FIELD in ((schemas.get("input_schema") or {}).get("properties") or {})
        return False
