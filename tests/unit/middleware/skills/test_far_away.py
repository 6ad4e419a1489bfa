"""Skills and memory files in object storage and on the user's device: as few requests as possible."""

from __future__ import annotations

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from tests.support.skill_files import skill_text

from stepwell import ClientToolsMiddleware, ObjectBackend, StoreBackend, create_deep_agent
from stepwell.backends.folder_device import FolderDevice
from stepwell.backends.objects import memory_bucket
from stepwell.testing import ScriptedModel, repeat, say

GO = {"messages": [("user", "go")], "current_project_id": "thesis"}
THREAD = {"configurable": {"thread_id": "1"}}


class CountedObjects(ObjectBackend):
    """Counts what is asked of the bucket."""

    def __init__(self) -> None:
        super().__init__(memory_bucket(), "/company/workspace/")
        self.asked: list[tuple[str, int]] = []

    async def aglob_info(self, pattern, path="/"):
        self.asked.append((f"list {path}", 1))
        return await super().aglob_info(pattern, path)

    async def adownload_files(self, paths):
        self.asked.append(("read", len(paths)))
        return await super().adownload_files(paths)


def filled() -> CountedObjects:
    backend = CountedObjects()
    for name in ("one", "two", "three"):
        backend.write(f"/skills/{name}/SKILL.md", skill_text(name))
    return backend


def test_one_listing_of_objects_and_only_changed_ones_are_read():
    backend, model = filled(), ScriptedModel(repeat(say("done"), times=9))
    agent = create_deep_agent(model, backend=backend, skills=["/skills"], checkpointer=InMemorySaver())
    agent.invoke(GO, THREAD)
    agent.invoke(GO, THREAD)
    assert backend.asked == [("list /skills", 1), ("read", 3), ("list /skills", 1)]
    assert model.asked[0].system == model.asked[1].system
    backend.write("/skills/two/SKILL.md", skill_text("two", "Does 222."), overwrite=True)
    agent.invoke(GO, THREAD)
    assert backend.asked[3:] == [("list /skills", 1), ("read", 1)]
    assert "Does 222." in model.last_asked.system


async def test_objects_in_async_code():
    backend, model = filled(), ScriptedModel(repeat(say("done"), times=9))
    backend.write("/AGENTS.md", "Be brief.")
    agent = create_deep_agent(model, backend=backend, skills=["/skills"], memory=["/AGENTS.md", "/none.md"])
    await agent.ainvoke(GO)
    assert "- **one**: Does one." in model.last_asked.system
    assert "<agent_memory>\n/AGENTS.md\n\nBe brief.\n</agent_memory>" in model.last_asked.system


def test_a_listing_of_objects_tells_a_change_of_the_same_size_in_the_same_second():
    backend = filled()
    (before,) = backend.glob_info("*/SKILL.md", "/skills")[:1]
    backend.write("/skills/one/SKILL.md", skill_text("one", "Does ONE."), overwrite=True)
    (after,) = backend.glob_info("*/SKILL.md", "/skills")[:1]
    assert before["size"] == after["size"]
    assert before["version"] != after["version"]


class Project:
    """An agent whose skills and memory are on the user's device."""

    def __init__(self) -> None:
        self.files = StoreBackend(InMemoryStore())
        for name in ("one", "two"):
            self.files.write(f"/skills/{name}/SKILL.md", skill_text(name))
        self.files.write("/AGENTS.md", "Be brief.")
        self.model = ScriptedModel(repeat(say("done"), times=9))
        self.agent = create_deep_agent(
            self.model,
            checkpointer=InMemorySaver(),
            middleware=[ClientToolsMiddleware(mount="/project/")],
            skills=["/project/skills"],
            memory=["/project/AGENTS.md", "/project/none.md"],
        )

    def run(self) -> list[list[str]]:
        """What the device was asked, question by question."""
        device, asked = FolderDevice(self.files), []
        final = self.agent.invoke(GO, THREAD)
        while questions := final.get("__interrupt__"):
            asked += [[call["name"] for call in each.value["tool_calls"]] for each in questions]
            answers = {each.id: device.answer(each.value, lambda changes: True) for each in questions}
            final = self.agent.invoke(Command(resume=answers), THREAD)
        return asked


def test_a_device_gets_one_question_for_all_files():
    project = Project()
    assert project.run() == [["glob_files"], ["read_file", "read_file"], ["read_file", "read_file"]]
    assert "- **two**: Does two." in project.model.last_asked.system
    assert "<agent_memory>\n/project/AGENTS.md\n\nBe brief.\n</agent_memory>" in project.model.last_asked.system
    assert project.run() == [["glob_files"], ["read_file", "read_file"]]
    assert project.model.asked[0].system == project.model.asked[1].system
    project.files.write("/skills/two/SKILL.md", skill_text("two", "Changed."), overwrite=True)
    assert project.run() == [["glob_files"], ["read_file"], ["read_file", "read_file"]]
    assert "Changed." in project.model.last_asked.system
