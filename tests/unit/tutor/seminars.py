"""A tutor in a test: real graph, a folder in the browser's place, a person who answers from a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell.backends import FilesystemBackend
from stepwell.backends.folder_device import FolderDevice
from stepwell.testing import ScriptedModel
from stepwell.tutor.agent import build
from stepwell.tutor.argument.document import Argument, from_data

PROJECT = "p1"


@dataclass
class Tutor:
    """One thread with a tutor. `asked` holds every interrupt in the order in which it was answered."""

    graph: Any
    folder: Path
    answers: list[Any] = field(default_factory=list)
    approve: Callable[[Any], bool | str] = lambda changes: True
    project: str | None = PROJECT
    asked: list[dict[str, Any]] = field(default_factory=list)

    @property
    def config(self) -> dict[str, Any]:
        return {"configurable": {"thread_id": "t", "current_project_id": self.project}}

    async def say(self, text: str, **more: Any) -> dict[str, Any]:
        """Send a message; interrupts are answered until none is left, or until the person has nothing more to say."""
        return await self._run({"messages": [("user", text)], **more})

    async def go_on(self, *answers: Any) -> dict[str, Any]:
        """Answer what waits, with these answers to questions."""
        self.answers.extend(answers)
        return await self._answer()

    async def _run(self, turn: Any) -> dict[str, Any]:
        await self.graph.ainvoke(turn, self.config)
        return await self._answer()

    async def _answer(self) -> dict[str, Any]:
        while True:
            state = await self.graph.aget_state(self.config)
            if not state.interrupts:
                return state.values
            (waiting,) = state.interrupts
            answer = self._answer_to(waiting.value)
            if answer is None:
                return state.values
            self.asked.append(waiting.value)
            await self.graph.ainvoke(Command(resume={waiting.id: answer}), self.config)

    def _answer_to(self, question: dict[str, Any]) -> Any:
        if question["type"] == "client_tool_execution":
            return FolderDevice(FilesystemBackend(root_dir=str(self.folder))).answer(question, approve=self.approve)
        if not self.answers:
            return None
        said = self.answers.pop(0)
        if not isinstance(said, str):
            return said
        if question["tool"] == "ask_user":
            return {"response": said}
        names = [option["id"] for option in question["options"]]
        return {"selected": [said]} if said in names else {"selected": [], "freeform": said}

    @property
    def writes(self) -> list[dict[str, Any]]:
        """What was to be written, with and without approval."""
        device = [each for each in self.asked if each["type"] == "client_tool_execution"]
        return [each for each in device if each["tool_calls"][0]["name"] in ("write_file", "patch_file")]

    @property
    def saves(self) -> list[dict[str, Any]]:
        """What the person was asked to approve."""
        return [each for each in self.writes if each["requires_approval"]]

    @property
    def questions(self) -> list[str]:
        return [each["question"] for each in self.asked if each["type"] == "clarification_request"]

    async def argument(self) -> Argument:
        return from_data((await self.graph.aget_state(self.config)).values.get("argument"))


def tutor_with(folder: Path, script: Iterable[Any], **options: Any) -> Tutor:
    """A tutor whose model plays a script."""
    return Tutor(build(ScriptedModel(list(script)), checkpointer=InMemorySaver()), folder, **options)


def tutor_without_model(folder: Path, **options: Any) -> Tutor:
    return Tutor(build(None, checkpointer=InMemorySaver()), folder, **options)


def results_of(values: dict[str, Any], tool: str) -> list[Any]:
    return [message for message in values["messages"] if message.type == "tool" and message.name == tool]
