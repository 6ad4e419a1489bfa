"""T8: a tutor on a server: its argument as a file, its notes on the user's device, a weak model behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.integration.server.conftest import serve

from stepwell.backends import FilesystemBackend
from stepwell.backends.folder_device import FolderDevice
from stepwell.testing import ScriptedModel, call, calls, say
from stepwell.tutor.agent import build
from stepwell.tutor.argument.exports import FORMS

QUESTION = "Should schools give marks?"
THESIS = "Schools should not give marks before the age of ten."


async def test_an_argument_is_exported_in_every_form(tmp_path: Path):
    async with serve(tmp_path, graphs={"deeptutor": build(None)}) as server:
        thread = (await server.client.threads.create())["thread_id"]
        place = f"/api/tutor/{thread}/argument"
        missing = await server.http.get(place)
        assert (missing.status_code, missing.headers["content-type"]) == (404, "application/problem+json")

        asked = {"messages": [{"role": "user", "content": QUESTION}]}
        await server.client.runs.wait(thread, "deeptutor", input=asked)
        written = {form: await server.http.get(place, params={"form": form}) for form in FORMS}
        assert {response.status_code for response in written.values()} == {200}
        assert all("attachment" in response.headers["content-disposition"] for response in written.values())
        assert written["md"].text.startswith(f"# {QUESTION}")
        assert json.loads(written["json"].text)["question"] == QUESTION
        assert written["mermaid"].text.startswith("flowchart")
        assert (await server.http.get(place, params={"form": "pdf"})).status_code == 422


class Person:
    """Answers a thread's interrupts: a folder carries out what is asked of the device, questions get the next line."""

    def __init__(self, server: Any, thread: str, folder: Path, lines: Sequence[str], *, keep: bool) -> None:
        self.server, self.thread, self.lines, self.keep = server, thread, list(lines), keep
        self.device = FolderDevice(FilesystemBackend(root_dir=str(folder)))
        self.seen: list[dict[str, Any]] = []

    async def say(self, text: str, **more: Any) -> dict[str, Any]:
        order = {"input": {"messages": [{"role": "user", "content": text}], "current_project_id": "p", **more}}
        while True:
            await self.server.client.runs.wait(self.thread, "deeptutor", **order)
            state = await self.server.client.threads.get_state(self.thread)
            waiting = [each for task in state["tasks"] for each in task["interrupts"]]
            if not waiting or (waiting[0]["value"]["type"] == "clarification_request" and not self.lines):
                return dict(state["values"])
            order = {"command": {"resume": {waiting[0]["id"]: self._answer(waiting[0]["value"])}}}

    def _answer(self, asked: dict[str, Any]) -> Any:
        self.seen.append(asked)
        if asked["type"] == "client_tool_execution":
            return self.device.answer(asked, approve=lambda changes: self.keep)
        return {"response": self.lines.pop(0)}

    @property
    def approvals(self) -> list[dict[str, Any]]:
        return [each for each in self.seen if each.get("requires_approval")]


@pytest.mark.parametrize("keep", [True, False])
async def test_notes_are_asked_for_once_over_two_conversations(tmp_path: Path, keep: bool):
    """T8"""
    folder = tmp_path / "project"
    folder.mkdir()
    async with serve(tmp_path, graphs={"deeptutor": build(None)}) as server:
        schema = await server.client.assistants.get_schemas("deeptutor")
        assert "keep_notes" in schema["input_schema"]["properties"]
        first = Person(server, (await server.client.threads.create())["thread_id"], folder, [THESIS, "60", "marks"], keep=keep)
        values = await first.say(QUESTION)
        assert [each["notes"]["text"] for each in first.approvals] == [QUESTION]
        assert values["argument"]["nodes"]["t1"]["text"] == THESIS, "kept in the conversation at least"
        assert (folder / "tutor" / "argument.json").exists() is keep
        second = Person(server, (await server.client.threads.create())["thread_id"], folder, ["Numbers."], keep=True)
        await second.say("Go on", keep_notes=keep)
        assert second.approvals == []
        assert (folder / "tutor" / "argument.json").exists() is keep


async def test_a_weak_model_on_a_server_is_led_to_the_users_words(tmp_path: Path):
    """T8: it lectures, calls what does not exist, and asks twice at once; the user reads a question each time, and no id."""
    asks = calls(call("ask_user", question="Frame: what is it about?"), call("ask_user", question="About t1: why?"))
    model = ScriptedModel(
        [say("Marks are numbers. " * 80), say("Marks are numbers. " * 80), call("think"), call("think"), asks]
    )
    async with serve(tmp_path, graphs={"deeptutor": build(model)}) as server:
        thread = (await server.client.threads.create())["thread_id"]
        person = Person(server, thread, tmp_path, [QUESTION, THESIS], keep=False)
        values = await person.say("Help me with my argument")
        asked = [each["question"] for each in person.seen if each["type"] == "clarification_request"]
        assert asked == ["What question do you want to think through?", "What do you claim? Say it in one sentence."]
        assert values["argument"]["nodes"]["t1"]["text"] == THESIS
        assert not [message for message in values["messages"] if "Marks are numbers. Marks" in str(message["content"])]
