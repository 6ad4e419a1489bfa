"""One session of an editor: a thread, and what is shown and asked while its runs go on.

```
prompt ─> is there a question that takes words? ─ yes ─> the prompt is its answer
              │ no                                              │
              └─> a new message ─> run ─> updates ─> interrupts? ─ no ─> end_turn
                                   ^                     │ yes
                                   └── answers <── permission requests ─ needs words ─> end_turn
cancel at any moment ─> the run is stopped ─> cancelled
```
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias
from uuid import uuid4

from acp import update_agent_message_text
from acp.schema import SessionInfo

from stepwell.errors import StepwellError
from stepwell.permission_modes import PERMISSION_MODE
from stepwell.terminal.acp.folder import EditorFolder
from stepwell.terminal.acp.prompts import PromptBlock, read_prompt, text_in
from stepwell.terminal.acp.questions import Editor, PermissionCancelledError, Questions, takes_words
from stepwell.terminal.acp.replay import replay, replay_new
from stepwell.terminal.acp.updates import Update, Updates, messages_in
from stepwell.terminal.chat.options import USUAL
from stepwell.terminal.dialogue.session import RunFailedError, Session, StreamPart

Ending: TypeAlias = Literal["end_turn", "cancelled", "max_turn_requests"]
_TITLE_CHARS = 60
_TOO_MANY_STEPS = "GraphRecursionError"


@dataclass
class EditorThread:
    """An open thread, wherever it lives."""

    session: Session
    folder: EditorFolder
    configurable: dict[str, Any]
    """What the runs of this thread get in their `configurable`. Changed in place when the mode changes."""
    modes: Sequence[str] = ()
    """The modes that its runs may have."""
    note: Callable[[dict[str, Any]], None] = lambda facts: None
    """Stores what a later process has to know of the session, such as its mode."""

    @property
    def mode(self) -> str:
        return str(self.configurable.get(PERMISSION_MODE, USUAL))


class EditorThreads(Protocol):
    """Where the threads of an editor's sessions live."""

    async def new(self, folder: str, mcp_servers: Sequence[Any]) -> EditorThread: ...

    async def open(self, thread_id: str, folder: str, mcp_servers: Sequence[Any]) -> EditorThread:
        """A stored thread; `NotFoundError` if there is none."""
        ...

    async def list_stored(self, folder: str | None) -> list[SessionInfo]:
        """The stored threads, newest first; those of one folder, or all."""
        ...

    async def close(self, thread_id: str) -> None: ...


class Conversation:
    """Shows one thread in an editor, and takes prompts for it, one after the other."""

    def __init__(self, editor: Editor, thread: EditorThread) -> None:
        self._editor = editor
        self.thread = thread
        self._session = thread.session
        self._updates = Updates(thread.folder)
        self._questions = Questions(editor, thread.session, thread.folder)
        self._one_at_a_time = asyncio.Lock()
        self._turn: asyncio.Task[Ending] | None = None
        self._is_cancelled = False
        self._shown: set[Any] = set()
        """Ids of the messages that the thread had, or was given, when it was shown."""
        self._has_followed = False
        """Whether a part of a run has arrived."""

    async def show_stored(self) -> None:
        """Show everything that the thread has stored. A run that still goes on is shown afterwards, while the editor waits for nobody."""
        given = await self._session.inputs()
        values = await self._session.values()
        self._shown = {message.get("id") for each in (values, *given) for message in messages_in(each)}
        await self._show_all([*replay(values, self._updates), *replay_new(values, given)])

    async def prompt(self, blocks: Sequence[PromptBlock]) -> Ending:
        """Start or resume a run with what the person sends, and show it to its end."""
        content = read_prompt(blocks, self.thread.folder)
        return await self._take_turn(self._answer_or_send(content))

    async def go_on(self) -> None:
        """Show the rest of a run that another process has left, and ask what it asks. If it fails, or has failed, the person is told here:
        no prompt waits for it."""
        try:
            await self._take_turn(self._follow())
        except RunFailedError as error:
            await self._show_all([update_agent_message_text(f"The last turn failed: {error.reason or error.kind}")])

    async def _follow(self) -> Ending:
        ending = await self._drive(self._session.follow())
        if failure := await self._session.failure():
            raise failure
        if not self._has_followed:
            await self._show_missed()
        return ending

    async def _show_missed(self) -> None:
        """Show what was stored after the thread was shown, by a run that had ended before it could be followed."""
        values = await self._session.values()
        missed = [message for message in messages_in(values) if message.get("id") not in self._shown]
        if missed:
            await self._show_all(replay({**values, "messages": missed}, self._updates))

    def set_mode(self, mode: str) -> None:
        if mode == USUAL:
            self.thread.configurable.pop(PERMISSION_MODE, None)
        else:
            self.thread.configurable[PERMISSION_MODE] = mode
        self.thread.note({"mode": mode})

    def cancel(self) -> None:
        """Stop the turn that is under way; without one, nothing happens."""
        if self._turn is not None and not self._turn.done():
            self._is_cancelled = True
            self._turn.cancel()

    async def _take_turn(self, work: Any) -> Ending:
        async with self._one_at_a_time:
            self._is_cancelled = False
            self._turn = asyncio.ensure_future(work)
            try:
                return await self._turn
            except PermissionCancelledError:
                return "cancelled"
            except asyncio.CancelledError:
                if not self._is_cancelled:  # the process ends
                    self._turn.cancel()
                    raise
                await self._session.stop()
                self._updates.forget_open()
                return "cancelled"
            except RunFailedError as error:
                if error.kind == _TOO_MANY_STEPS:
                    return "max_turn_requests"
                raise
            finally:
                self._turn = None

    async def _answer_or_send(self, content: str | list[dict[str, Any]]) -> Ending:
        for interrupt in await self._session.interrupts():
            if takes_words(interrupt.value):
                answers = await self._questions.answer_in_words(interrupt, text_in(content))
                return "end_turn" if answers is None else await self._drive(self._session.answer(answers))
        title = text_in(content)[:_TITLE_CHARS]
        self.thread.note({"title": title})
        message = {"messages": [{"role": "user", "content": content, "id": str(uuid4())}], **self._device_fields()}
        return await self._drive(self._session.send(message, title=title))

    def _device_fields(self) -> dict[str, Any]:
        """An agent that works on the person's device gets the name of the project."""
        return {"current_project_id": self.thread.folder.path.name or "project"} if self.thread.folder.mount == "/" else {}

    async def _drive(self, parts: AsyncGenerator[StreamPart]) -> Ending:
        while True:
            await self._show(parts)
            interrupts = await self._session.interrupts()
            if not interrupts:
                return "end_turn"
            answers = await self._questions.answer(interrupts, self._updates.open_calls)
            if answers is None:
                return "end_turn"
            parts = self._session.answer(answers)

    async def _show(self, parts: AsyncGenerator[StreamPart]) -> None:
        try:
            async with aclosing(parts) as arriving:
                async for part in arriving:
                    self._has_followed = True
                    await self._show_all(self._updates.of_part(part))
        except StepwellError:
            await self._show_all(self._updates.rest())
            raise
        await self._show_all(self._updates.rest())

    async def _show_all(self, updates: Iterable[Update]) -> None:
        for update in updates:
            await self._editor.session_update(session_id=self._session.thread_id, update=update)
