"""A whole seminar over a file, in a new process life after every interrupt. Nothing is lost, nothing happens twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.tutor.test_unaided import WHOLE

from stepwell.backends import FilesystemBackend
from stepwell.backends.folder_device import FolderDevice
from stepwell.runs.graphs.sources import GraphSource
from stepwell.terminal.dialogue.engine_session import EngineSession, open_engine
from stepwell.terminal.dialogue.session import OpenInterrupt
from stepwell.tutor.agent import build

THREAD = "00000000-0000-4000-8000-000000000001"
START = {
    "messages": [{"role": "user", "content": "Should cities close their centres to private cars?"}],
    "current_project_id": "p",
}


class Person:
    """Answers questions from a list, and lets a folder carry out the rest."""

    def __init__(self, folder: Path) -> None:
        self._device = FolderDevice(FilesystemBackend(root_dir=str(folder)))
        self._lines = iter(WHOLE)

    async def answer(self, session: EngineSession, waiting: OpenInterrupt) -> Any:
        if waiting.value["type"] == "client_tool_execution":
            held = await session.claim(waiting.id)
            return {**self._device.answer(waiting.value), "claim_id": held}
        line = next(self._lines)
        return {"response": line} if waiting.value["tool"] == "ask_user" else {"selected": [line]}


async def test_a_seminar_goes_on_after_a_restart_at_every_interrupt(tmp_path: Path):
    """T8: each answer is given to an engine that has just been opened."""
    project = tmp_path / "project"
    project.mkdir()
    person = Person(project)
    answered = 0
    while True:
        async with open_engine(tmp_path / "threads.db", "deeptutor", GraphSource.of(build(None))) as opened:
            session = EngineSession(opened, THREAD, ["updates"])
            waiting = await session.interrupts()
            if answered and not waiting:
                values = await session.values()
                break
            stream = (
                session.answer({waiting[0].id: await person.answer(session, waiting[0])}) if waiting else session.send(START)
            )
            async for _ in stream:
                pass
        answered += 1
    assert values["progress"]["complete"]
    moves = [move["move"] for move in values["argument"]["moves"]]
    assert moves.count("answer") == 1 + len(WHOLE), "the first message answers the first question"
    assert moves.count("propose") == len(values["argument"]["nodes"]) == 7
    assert json.loads((project / "tutor" / "argument.json").read_text())["moves"] == values["argument"]["moves"]
