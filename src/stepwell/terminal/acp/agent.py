"""The agent that an editor talks to: the methods of the Agent Client Protocol, version 1."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION
from acp.exceptions import RequestError
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
)

from stepwell.errors import NotFoundError, StepwellError
from stepwell.terminal.acp.conversation import Conversation, EditorThread, EditorThreads
from stepwell.terminal.acp.prompts import PromptBlock
from stepwell.terminal.acp.questions import Editor
from stepwell.terminal.chat.options import USUAL
from stepwell.terminal.dialogue.session import RunFailedError

_log = logging.getLogger(__name__)

_MODES = {
    "plan": ("Plan", "Reads and writes a plan; changes nothing."),
    "ask": ("Ask", "Asks before every change."),
    "accept_edits": ("Accept edits", "Changes files without asking; asks about the rest as the agent was built."),
    USUAL: ("Usual", "As the agent was built."),
}
_NOT_FOUND = -32002
_INVALID_PARAMS = -32602
_INTERNAL = -32603


class EditorAgent:
    """Answers one editor. Its sessions are threads of `threads`."""

    def __init__(self, threads: EditorThreads) -> None:
        self._threads = threads
        self._open: dict[str, Conversation] = {}
        self._going_on: set[asyncio.Task[None]] = set()
        self._editor: Editor

    def on_connect(self, conn: Any) -> None:
        self._editor = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **_: Any,
    ) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="stepwell", title="Stepwell", version=version("stepwell")),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=True, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            auth_methods=[],
        )

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        _check_folder(cwd)
        thread = await _in_words(self._threads.new(cwd, mcp_servers or ()))
        self._open[thread.session.thread_id] = Conversation(self._editor, thread)
        return NewSessionResponse(session_id=thread.session.thread_id, modes=_modes_of(thread))

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[Any] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        _check_folder(cwd)
        await self._leave(session_id)
        thread = await _in_words(self._threads.open(session_id, cwd, mcp_servers or ()))
        conversation = Conversation(self._editor, thread)
        self._open[session_id] = conversation
        await _in_words(conversation.show_stored())
        going_on = asyncio.create_task(self._go_on(conversation))
        self._going_on.add(going_on)
        going_on.add_done_callback(self._going_on.discard)
        return LoadSessionResponse(modes=_modes_of(thread))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        return ListSessionsResponse(sessions=await _in_words(self._threads.list_stored(cwd)))

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        self._find(session_id)
        await self._leave(session_id)
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        conversation = self._find(session_id)
        known = _mode_ids(conversation.thread)
        if mode_id not in known:
            raise RequestError(
                _INVALID_PARAMS, f"No mode '{mode_id}'. This session has: {', '.join(known) or 'none'}.", {"modeId": mode_id}
            )
        conversation.set_mode(mode_id)
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: Sequence[PromptBlock], **_: Any) -> PromptResponse:
        return PromptResponse(stop_reason=await _in_words(self._find(session_id).prompt(prompt)))

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id in self._open:
            self._open[session_id].cancel()

    async def leave(self) -> None:
        """The editor has gone: runs are handed back, and go on when a session is loaded again."""
        for task in tuple(self._going_on):
            task.cancel()
        await asyncio.gather(*self._going_on, return_exceptions=True)
        for session_id in tuple(self._open):
            await self._leave(session_id)

    async def _leave(self, session_id: str) -> None:
        if self._open.pop(session_id, None) is not None:
            await self._threads.close(session_id)

    async def _go_on(self, conversation: Conversation) -> None:
        try:
            await conversation.go_on()
        except StepwellError as error:
            _log.warning("The stored run of session %s ended: %s", conversation.thread.session.thread_id, error)

    def _find(self, session_id: str) -> Conversation:
        if session_id not in self._open:
            raise RequestError(
                _NOT_FOUND, f"No session '{session_id}' is open. Start one with session/new, or open it with session/load."
            )
        return self._open[session_id]


def _check_folder(cwd: str) -> None:
    if not Path(cwd).is_absolute() or not Path(cwd).is_dir():
        raise RequestError(_INVALID_PARAMS, f"cwd '{cwd}' is not a folder. Send the absolute path of one.", {"cwd": cwd})


def _mode_ids(thread: EditorThread) -> list[str]:
    return [*thread.modes, USUAL] if thread.modes else []


def _modes_of(thread: EditorThread) -> SessionModeState | None:
    known = _mode_ids(thread)
    if not known:
        return None
    available = [SessionMode(id=each, name=_MODES[each][0], description=_MODES[each][1]) for each in known if each in _MODES]
    return SessionModeState(current_mode_id=thread.mode, available_modes=available)


async def _in_words(work: Any) -> Any:
    """Errors of ours as the sentences they are; the editor shows them."""
    try:
        return await work
    except NotFoundError as error:
        raise RequestError(_NOT_FOUND, str(error)) from error
    except RunFailedError as error:
        raise RequestError(_INTERNAL, error.reason or error.kind, {"error": error.kind}) from error
    except StepwellError as error:
        raise RequestError(_INTERNAL, str(error)) from error
