"""Memory files in an agent: where they stand in the prompt, when they are read again, whose they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from tests.support.claude import claude
from tests.support.skill_files import CountingBackend, write_skill

from stepwell import ConfigurationError, FilesystemBackend, MemoryMiddleware, create_deep_agent
from stepwell.middleware.memory import MAX_CHARS, MAX_FILE_CHARS
from stepwell.testing import ScriptedModel, call, repeat, say

GO = {"messages": [("user", "go")]}
THREAD = {"configurable": {"thread_id": "1"}}
START, END = "<agent_memory>\n", "\n</agent_memory>"


class Kit:
    """An agent with memory files in a folder, and what its model was asked."""

    def __init__(self, root: Path, *script, memory=("/AGENTS.md",), **options):
        self.root = root
        self.backend = CountingBackend(root)
        self.model = ScriptedModel([*script, repeat(say("done"), times=12)])
        self.agent = create_deep_agent(
            self.model, backend=self.backend, memory=list(memory), checkpointer=InMemorySaver(), **options
        )

    def write(self, text: str | bytes, name: str = "AGENTS.md"):
        (self.root / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return self

    def run(self):
        return self.agent.invoke(GO, THREAD)

    @property
    def system(self) -> str:
        return self.model.last_asked.system

    @property
    def memory(self) -> str:
        return self.system[self.system.index(START) + len(START) : self.system.index(END)]


def test_files_stand_at_the_end_of_the_prompt_in_their_order(tmp_path: Path):
    kit = Kit(tmp_path, memory=["/b.md", "/none.md", "/a.md"]).write("First.\n", "b.md").write("Second.", "a.md")
    assert set(kit.run()) == {"messages", "files"}
    assert kit.memory == "/b.md\n\nFirst.\n\n/a.md\n\nSecond."
    assert kit.system.index("## Files") < kit.system.index(START)
    assert kit.backend.read_together == [["/b.md", "/none.md", "/a.md"]]


def test_without_any_file_the_frame_says_so(tmp_path: Path):
    kit = Kit(tmp_path)
    kit.run()
    assert kit.memory == "(No memory loaded)"


def test_comments_are_left_out(tmp_path: Path):
    kit = Kit(tmp_path).write("One.<!-- a\nb --> Two.<!----> Three. <!-- no end")
    kit.run()
    assert kit.memory.startswith("/AGENTS.md\n\nOne. Two. Three. &lt;!-- no end\n")
    kit.write("<!-- all of it -->")
    kit.run()
    assert kit.memory == "(No memory loaded)"


def test_a_stored_thread_sees_a_changed_file(tmp_path: Path):
    kit = Kit(tmp_path).write("Old.")
    kit.run()
    kit.write("New.")
    kit.run()
    assert "New." in kit.memory
    (tmp_path / "AGENTS.md").unlink()
    kit.run()
    assert kit.memory == "(No memory loaded)"


def test_what_the_agent_writes_is_there_in_the_next_run_and_not_before(tmp_path: Path):
    kit = Kit(tmp_path, call("write_file", file_path="/AGENTS.md", content="Ada likes tea."))
    kit.run()
    assert kit.model.asked[0].system == kit.model.asked[1].system
    kit.run()
    assert "Ada likes tea." in kit.memory


def test_ten_turns_with_skills_and_memory_have_one_prompt(tmp_path: Path):
    write_skill(tmp_path, "one")
    write_skill(tmp_path, "two")
    kit = Kit(tmp_path, call("ls"), skills=["/skills"]).write("Be brief.")
    for _ in range(10):
        kit.run()
    assert len(kit.model.asked) == 11
    assert len({asked.system for asked in kit.model.asked}) == 1
    assert len({tuple(asked.tool_names) for asked in kit.model.asked}) == 1


def test_unchanged_files_are_not_stored_again(tmp_path: Path):
    kit = Kit(tmp_path).write("Be brief.")
    kit.run()
    updates = [
        chunk for chunk in kit.agent.stream(GO, THREAD, stream_mode="updates") if "MemoryMiddleware.before_agent" in chunk
    ]
    assert updates == [{"MemoryMiddleware.before_agent": None}]


async def test_memory_works_in_async_code(tmp_path: Path):
    kit = Kit(tmp_path).write("Be brief.")
    await kit.agent.ainvoke(GO, THREAD)
    assert kit.memory == "/AGENTS.md\n\nBe brief."


def test_a_thread_in_a_database_sees_the_change(tmp_path: Path):
    seen = []
    for text in ("Old.", "New."):
        (tmp_path / "AGENTS.md").write_text(text, encoding="utf-8")
        model = ScriptedModel([say("done")])
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            backend = FilesystemBackend(tmp_path)
            create_deep_agent(model, backend=backend, memory=["/AGENTS.md"], checkpointer=saver).invoke(GO, THREAD)
        seen.append([word in model.last_asked.system for word in ("Old.", "New.")])
    assert seen == [[True, False], [False, True]]


def test_no_thread_gets_another_s_memory(tmp_path: Path):
    for tenant in ("ada", "bob"):
        (tmp_path / tenant).mkdir()
        (tmp_path / tenant / "AGENTS.md").write_text(f"I am {tenant}.", encoding="utf-8")
    model = ScriptedModel(repeat(say("done"), times=4))

    def files_of(runtime):
        return FilesystemBackend(tmp_path / runtime.config["configurable"]["tenant"])

    agent = create_deep_agent(model, backend=files_of, memory=["/AGENTS.md"], checkpointer=InMemorySaver())
    for tenant in ("ada", "bob", "ada", "bob"):
        agent.invoke(GO, {"configurable": {"thread_id": tenant, "tenant": tenant}})
        assert [f"I am {name}." in model.last_asked.system for name in ("ada", "bob")] == [tenant == "ada", tenant == "bob"]


def test_a_subagent_has_its_own_memory_and_the_general_one_the_main_agent_s(tmp_path: Path):
    specs = [
        {"name": "plain", "description": "d", "system_prompt": "p"},
        {"name": "own", "description": "d", "system_prompt": "p", "memory": ["/own.md"]},
    ]
    seen = {}
    for name in ("general-purpose", "plain", "own"):
        kit = Kit(tmp_path, call("task", description="x", subagent_type=name), subagents=specs)
        kit.write("The main one.").write("The other one.", "own.md").run()
        asked = next(each for each in kit.model.asked if each.agent == name)
        seen[name] = [text in asked.system for text in ("The main one.", "The other one.")]
        assert list(kit.agent.get_state(THREAD).values["memory_contents"]) == ["/AGENTS.md"]
        assert "The other one." not in kit.system
    assert seen == {"general-purpose": [True, False], "plain": [False, False], "own": [False, True]}


def test_a_long_file_is_cut_and_says_where_the_rest_is(tmp_path: Path):
    kit = Kit(tmp_path, memory=[f"/{n}.md" for n in range(4)])
    for n in range(4):
        kit.write("x" * 300_000, f"{n}.md")
    kit.run()
    assert len(kit.memory) < MAX_CHARS + 1000
    assert kit.memory.startswith("/0.md\n\nx")
    assert "(cut here; read /0.md for the rest)" in kit.memory
    kept = kit.agent.get_state(THREAD).values["memory_contents"]
    assert max(map(len, kept.values())) <= 2 * MAX_FILE_CHARS
    kit.write("x" * 300_000 + "y", "0.md")
    kit.run()
    assert len({asked.system for asked in kit.model.asked}) == 1


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path):
    kit = Kit(tmp_path, memory=["/latin.md", "/folder", "/good.md"]).write(b"caf\xe9", "latin.md").write("Good.", "good.md")
    (tmp_path / "folder").mkdir()
    kit.run()
    assert "/latin.md\n\n(It could not be read: it is not UTF-8 text. Save it as UTF-8)" in kit.memory
    assert "/folder\n\n(It could not be read:" in kit.memory
    assert kit.memory.endswith("Good.")


def test_contents_of_the_caller_s_stay(tmp_path: Path):
    kit = Kit(tmp_path).write("From the file.")
    kit.run()
    kit.agent.update_state(THREAD, {"memory_contents": {"/AGENTS.md": "From the caller."}, "memory_files": {}})
    kit.run()
    assert kit.memory == "/AGENTS.md\n\nFrom the caller."


@pytest.mark.parametrize("given", ["/AGENTS.md", [7]])
def test_memory_of_another_form_is_refused(given: Any):
    with pytest.raises(ConfigurationError, match="Pass a list of paths"):
        create_deep_agent(ScriptedModel(), memory=given)


def test_a_template_needs_its_place_and_replaces_ours(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="agent_memory"):
        MemoryMiddleware(sources=[], system_prompt="none")
    (tmp_path / "AGENTS.md").write_text("With {braces} and {agent_memory}.", encoding="utf-8")
    model, backend = ScriptedModel(repeat(say("done"), times=2)), FilesystemBackend(tmp_path)
    for template in ("<< {agent_memory} >> {other}", None):
        brought = MemoryMiddleware(backend=backend, sources=["/AGENTS.md"], system_prompt=template)
        create_deep_agent(model, backend=backend, middleware=[brought]).invoke(GO)
    assert model.asked[0].system.endswith("<< /AGENTS.md\n\nWith {braces} and {agent_memory}. >> {other}")
    assert "braces" not in model.asked[1].system


# Anthropic's cache.


def test_the_cache_mark_stands_before_the_memory_and_after_the_skills(tmp_path: Path):
    write_skill(tmp_path, "one")
    memory = tmp_path / "AGENTS.md"
    model = claude()
    agent = create_deep_agent(
        model, backend=FilesystemBackend(tmp_path), skills=["/skills"], memory=["/AGENTS.md"], checkpointer=InMemorySaver()
    )
    for text in ("Old.", "New."):
        memory.write_text(text, encoding="utf-8")
        agent.invoke(GO, THREAD)
    for payload, text in zip(model.sent, ("Old.", "New."), strict=True):
        *steady, volatile = payload["system"]
        assert "cache_control" in steady[-1]
        assert "- **one**" in steady[-1]["text"]
        assert "cache_control" not in volatile
        assert volatile["text"].count("<agent_memory>") == 1
        assert text in volatile["text"]
        assert "agent_memory" not in "".join(block["text"] for block in steady)
    assert model.sent[0]["system"][:-1] == model.sent[1]["system"][:-1]
    assert model.sent[0]["tools"] == model.sent[1]["tools"]


def test_a_second_mark_is_the_caller_s_choice(tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("Be brief.", encoding="utf-8")
    model, backend = claude(), FilesystemBackend(tmp_path)
    brought = MemoryMiddleware(backend=backend, sources=["/AGENTS.md"], add_cache_control=True)
    create_deep_agent(model, backend=backend, middleware=[brought]).invoke(GO)
    assert ["cache_control" in block for block in model.sent[0]["system"]] == [True, True]


def test_other_models_get_no_mark(tmp_path: Path):
    model, backend = ScriptedModel([say("done")]), FilesystemBackend(tmp_path)
    brought = MemoryMiddleware(backend=backend, sources=["/AGENTS.md"], add_cache_control=True)
    create_deep_agent(model, backend=backend, middleware=[brought]).invoke(GO)
    assert isinstance(model.last_asked.messages[0].content, str)
