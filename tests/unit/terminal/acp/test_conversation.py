"""A loaded session whose run ends before it can be followed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

from stepwell.terminal.acp.conversation import Conversation, EditorThread
from stepwell.terminal.acp.folder import EditorFolder
from stepwell.terminal.dialogue.session import StreamPart

WORK = {"type": "human", "content": "Work", "id": "1"}
LATE = {"type": "ai", "content": "late", "id": "2"}


class EndedRun:
    """A session of which the editor is shown the input, and whose run has ended when it is followed."""

    thread_id = "thread"

    def __init__(self, *stored: Mapping[str, Any]) -> None:
        self.stored = list(stored)

    async def values(self) -> Mapping[str, Any]:
        return {"messages": self.stored}

    async def inputs(self) -> list[Mapping[str, Any]]:
        return [{"messages": [{**WORK, "role": "user"}]}]

    async def follow(self) -> AsyncGenerator[StreamPart]:
        for part in ():
            yield part

    async def failure(self) -> None:
        return None

    async def interrupts(self) -> tuple[()]:
        return ()


class Shown:
    """What an editor was told."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.texts.append(update.content.text)


async def test_an_answer_stored_between_showing_and_following_is_shown_once(tmp_path: Path) -> None:
    editor, session = Shown(), EndedRun()
    conversation = Conversation(editor, EditorThread(session, EditorFolder(tmp_path), {}))
    await conversation.show_stored()
    session.stored += [WORK, LATE]
    await conversation.go_on()
    assert editor.texts == ["Work", "late"]


async def test_a_thread_without_news_is_shown_once(tmp_path: Path) -> None:
    editor, session = Shown(), EndedRun(WORK, LATE)
    conversation = Conversation(editor, EditorThread(session, EditorFolder(tmp_path), {}))
    await conversation.show_stored()
    await conversation.go_on()
    assert editor.texts == ["Work", "late"]
