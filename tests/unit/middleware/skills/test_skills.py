"""Skills in an agent: what the model sees, when files are read again, whose list it is."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import TypeAdapter
from tests.support.skill_files import CountingBackend, skill_text, write_skill

from stepwell import (
    ConfigurationError,
    FilesystemBackend,
    SkillsMiddleware,
    StoreBackend,
    SyncBackend,
    create_deep_agent,
)
from stepwell.middleware.memory import MemoryState
from stepwell.middleware.skills import SkillsState
from stepwell.testing import ScriptedModel, call, repeat, say

GO = {"messages": [("user", "go")]}
THREAD = {"configurable": {"thread_id": "1"}}
OTHER = {"configurable": {"thread_id": "2"}}


class Kit:
    """An agent with skills in a folder, and what its model was asked."""

    def __init__(self, root: Path, *script, skills=("/skills",), **options):
        self.backend = CountingBackend(root)
        self.model = ScriptedModel([*script, *repeat(say("done"), times=12)])
        self.agent = create_deep_agent(
            self.model, backend=self.backend, skills=list(skills), checkpointer=InMemorySaver(), **options
        )

    def run(self, thread=THREAD, **more):
        return self.agent.invoke({**GO, **more}, thread)

    @property
    def system(self):
        return self.model.last_asked.system


def test_the_model_sees_what_each_skill_is_for_and_where_it_is(tmp_path: Path):
    write_skill(tmp_path, "web-research", "Research a topic.")
    write_skill(tmp_path, "code-review", "Review a change.", "license: MIT", "compatibility: needs git")
    kit = Kit(tmp_path, skills=[("/skills", "Team")])
    kit.run()
    section = kit.system[kit.system.index("## Skills System") :]
    assert "Team (`/skills/<name>/SKILL.md`):\n" in section
    assert "- **web-research**: Research a topic." in section
    assert "- **code-review**: Review a change. (License: MIT, Compatibility: needs git)\n" in section
    assert "Do it." not in kit.system


def test_the_later_source_wins_and_falls_back(tmp_path: Path):
    write_skill(tmp_path, "style", "The company's.", source="company")
    mine = write_skill(tmp_path, "style", "My own.", source="mine")
    kit = Kit(tmp_path, skills=["/company", "/mine"])
    kit.run()
    assert "My own." in kit.system
    assert "The company's." not in kit.system
    kit.run()
    assert len(kit.backend.read_together) == 1  # the hidden one is not read again either
    mine.unlink()
    kit.run()
    assert "The company's." in kit.system
    assert len(kit.backend.read_together) == 1


def test_a_stored_thread_sees_new_changed_and_removed_skills(tmp_path: Path):
    write_skill(tmp_path, "one")
    kit = Kit(tmp_path)
    kit.run()
    write_skill(tmp_path, "one", "Changed.")
    write_skill(tmp_path, "two", "New.")
    kit.run()
    assert "Changed." in kit.system
    assert "New." in kit.system
    (tmp_path / "skills" / "one" / "SKILL.md").unlink()
    kit.run()
    assert "Changed." not in kit.system


def test_a_change_that_keeps_the_size_is_seen(tmp_path: Path):
    write_skill(tmp_path, "one", "Version 1.")
    kit = Kit(tmp_path)
    kit.run()
    write_skill(tmp_path, "one", "Version 2.")
    kit.run()
    assert "Version 2." in kit.system


@pytest.mark.parametrize("way", ["written", "replaced"])
def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path, way: str):
    path = write_skill(tmp_path, "one", "Before")
    kit = Kit(tmp_path)
    kit.run()
    before = path.stat()
    changed = path if way == "written" else tmp_path / "new"
    changed.write_text(skill_text("one", "Behind"), encoding="utf-8")
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed.replace(path)
    kit.run()
    assert "- **one**: Behind" in kit.system


def test_ten_turns_have_one_prompt_and_read_each_skill_once(tmp_path: Path):
    for name in ("one", "two", "three"):
        write_skill(tmp_path, name)
    kit = Kit(tmp_path)
    for _ in range(10):
        kit.run()
    assert len({json.dumps([message.content for message in asked.messages[:1]]) for asked in kit.model.asked}) == 1
    assert kit.backend.listed == ["/skills"] * 10
    assert kit.backend.read_together == [["/skills/one/SKILL.md", "/skills/three/SKILL.md", "/skills/two/SKILL.md"]]


def test_only_the_changed_file_is_read_again(tmp_path: Path):
    for name in ("one", "two", "three"):
        write_skill(tmp_path, name)
    kit = Kit(tmp_path)
    kit.run()
    write_skill(tmp_path, "two", "Changed.")
    kit.run()
    assert kit.backend.read_together[1:] == [["/skills/two/SKILL.md"]]


def test_an_unchanged_list_is_not_stored_again(tmp_path: Path):
    write_skill(tmp_path, "one")
    kit = Kit(tmp_path)
    kit.run()
    kit.run()
    updates = [
        chunk for chunk in kit.agent.stream(GO, THREAD, stream_mode="updates") if "SkillsMiddleware.before_agent" in chunk
    ]
    assert updates == [{"SkillsMiddleware.before_agent": None}]


def test_no_thread_gets_another_s_list(tmp_path: Path):
    """A factory chooses the folder by the run's configuration; the middleware is one object for all of them."""
    for tenant in ("ada", "bob"):
        write_skill(tmp_path / tenant, f"{tenant}-skill")
    model = ScriptedModel([*repeat(say("done"), times=12)])

    def files_of(runtime):
        return FilesystemBackend(tmp_path / runtime.config["configurable"]["tenant"])

    agent = create_deep_agent(model, backend=files_of, skills=["/skills"], checkpointer=InMemorySaver())
    for turn in range(4):
        tenant, other = ("ada", "bob") if turn % 2 else ("bob", "ada")
        agent.invoke(GO, {"configurable": {"thread_id": tenant, "tenant": tenant}})
        assert f"{tenant}-skill" in model.last_asked.system
        assert f"{other}-skill" not in model.last_asked.system


def test_skills_of_a_store_belong_to_their_namespace():
    store = InMemoryStore()
    for tenant in ("ada", "bob"):
        StoreBackend(store=store, namespace=(tenant,)).write(f"/skills/{tenant}/SKILL.md", skill_text(tenant))
    model = ScriptedModel([*repeat(say("done"), times=12)])
    agents = {
        tenant: create_deep_agent(model, backend=StoreBackend(store=store, namespace=(tenant,)), skills=["/skills"])
        for tenant in ("ada", "bob")
    }
    for tenant, agent in agents.items():
        agent.invoke(GO)
        assert [f"**{name}**" in model.last_asked.system for name in ("ada", "bob")] == [tenant == "ada", tenant == "bob"]


async def test_skills_work_in_async_code(tmp_path: Path):
    write_skill(tmp_path, "one")
    kit = Kit(tmp_path)
    await kit.agent.ainvoke({**GO, "pinned_skills": ["one"]}, THREAD)
    assert "- **one**: Does one." in kit.system
    assert kit.model.last_asked.human.startswith('<skill name="one"')
    write_skill(tmp_path, "two")
    await kit.agent.ainvoke(GO, THREAD)
    assert "- **two**: Does two." in kit.system


def test_skills_live_in_the_agent_s_state_by_default():
    model = ScriptedModel([*repeat(say("done"), times=12)])
    agent = create_deep_agent(model, skills=["/skills"], checkpointer=InMemorySaver())
    agent.invoke({**GO, "files": {"/skills/one/SKILL.md": skill_text("one")}}, THREAD)
    assert "- **one**: Does one." in model.last_asked.system
    agent.invoke({**GO, "files": {"/skills/one/SKILL.md": skill_text("one", "Changed.")}}, THREAD)
    assert "- **one**: Changed." in model.last_asked.system
    agent.invoke(GO, OTHER)
    assert "No skills available" in model.last_asked.system


def test_a_skill_that_the_agent_writes_is_there_in_the_next_run(tmp_path: Path):
    kit = Kit(tmp_path, call("write_file", file_path="/skills/one/SKILL.md", content=skill_text("one")))
    kit.run()
    assert "No skills available yet. You can create skills in /skills" in kit.system
    kit.run()
    assert "- **one**: Does one." in kit.system


def test_threads_in_a_database_go_on_with_what_they_know(tmp_path: Path):
    write_skill(tmp_path / "files", "one")
    asked = []
    for turn in range(2):  # as if the process had ended in between
        backend, model = CountingBackend(tmp_path / "files"), ScriptedModel([say("done")])
        with SqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
            create_deep_agent(model, backend=backend, skills=["/skills"], checkpointer=saver).invoke(GO, THREAD)
        asked.append(model.last_asked.system)
        assert len(backend.read_together) == 1 - turn
    assert asked[0] == asked[1]


def test_none_reads_everything_again_and_a_list_of_the_caller_s_stays(tmp_path: Path):
    write_skill(tmp_path, "one")
    kit = Kit(tmp_path)
    kit.run()
    kit.agent.update_state(THREAD, {"skills_metadata": None})
    kit.run()
    assert len(kit.backend.read_together) == 2
    own = {"path": "/x/own/SKILL.md", "name": "own", "description": "Mine.", "license": None, "compatibility": None}
    kit.agent.update_state(THREAD, {"skills_metadata": [{**own, "metadata": {}, "allowed_tools": []}], "skills_files": {}})
    kit.run()
    assert "- **own**: Mine.\n  `/x/own/SKILL.md`" in kit.system
    assert "Does one." not in kit.system


def test_results_do_not_show_the_state_of_skills(tmp_path: Path):
    write_skill(tmp_path, "one")
    assert set(Kit(tmp_path).run()) == {"messages", "files"}


def test_a_file_that_cannot_be_used_is_reported_and_the_others_work(tmp_path: Path):
    write_skill(tmp_path, "good")
    write_skill(tmp_path, "bad").write_text("no frontmatter", encoding="utf-8")
    write_skill(tmp_path, "latin").write_bytes(b"---\nname: caf\xe9\n---\n")
    (tmp_path / "skills" / "no-skill").mkdir()
    kit = Kit(tmp_path)
    kit.run()
    assert "- **good**: Does good." in kit.system
    assert "/skills/bad/SKILL.md&#x27; is left out: it has no frontmatter." in kit.system
    assert "it is not UTF-8 text" in kit.system
    assert "no-skill" not in kit.system
    reads = len(kit.backend.read_together)
    kit.run()
    assert len(kit.backend.read_together) == reads


def test_a_source_that_does_not_exist_is_no_mistake(tmp_path: Path):
    kit = Kit(tmp_path, skills=["/skills", "/later"])
    kit.run()
    assert "skill_load_warnings" not in kit.system
    write_skill(tmp_path, "one", source="later")
    kit.run()
    assert "Does one." in kit.system


def test_a_source_that_cannot_be_listed_is_reported(tmp_path: Path):
    write_skill(tmp_path, "one")
    kit = Kit(tmp_path, skills=["/skills", "/../etc"])
    kit.run()
    assert "Does one." in kit.system
    assert "Cannot load skills from &#x27;/../etc&#x27;" in kit.system


def test_a_thousand_skills_are_listed_with_one_call_and_the_list_is_limited(tmp_path: Path):
    for number in range(1000):
        write_skill(tmp_path, f"skill-{number:04}", f"Does number {number}, which takes a few more words to say.")
    kit = Kit(tmp_path)
    kit.run()
    assert kit.backend.listed == ["/skills"]
    assert len(kit.backend.read_together) == 5
    section = kit.system[kit.system.index("## Skills System") :]
    assert len(section) < 26_000
    assert "more are not shown. Find them with glob" in section
    kit.run()
    assert len(kit.backend.read_together) == 5


def test_a_large_file_is_not_read(tmp_path: Path):
    write_skill(tmp_path, "large", body="x" * 1_000_001)
    kit = Kit(tmp_path)
    kit.run()
    assert "at most 1,000,000 are read" in kit.system
    assert kit.backend.read_together == []


def costly_skills(count: int) -> dict[str, str]:
    """Skills with as much YAML as is possible, of the kind that takes longest."""
    listed = "".join(f"{number % 10}," for number in range(1_900))
    return {f"/skills/s{n:03}/SKILL.md": skill_text(f"s{n:03}", "", f"allowed-tools: [{listed}{n}]") for n in range(count)}


async def test_an_event_loop_does_not_wait_for_yaml():
    agent = create_deep_agent(ScriptedModel([say("done")] * 2), skills=["/skills"])
    await agent.ainvoke({**GO, "files": costly_skills(1)})
    on_the_loop, everywhere = time.thread_time(), time.process_time()
    await agent.ainvoke({**GO, "files": costly_skills(40)})
    on_the_loop, everywhere = time.thread_time() - on_the_loop, time.process_time() - everywhere
    assert on_the_loop < everywhere / 2  # on the loop, YAML is nearly all of it


def test_a_run_reads_a_limited_amount_of_yaml_and_the_next_one_goes_on():
    files = costly_skills(70)
    model = ScriptedModel([say("done")] * 3)
    agent = create_deep_agent(model, skills=["/skills"], checkpointer=InMemorySaver())
    agent.invoke({**GO, "files": files}, THREAD)
    first = model.last_asked.system
    assert "- **s000**" in first
    assert "- **s069**" not in first
    assert "skills are not read yet: a run reads at most 200,000 characters of frontmatter. The next one goes on." in first
    agent.invoke(GO, THREAD)
    assert "- **s069**" in model.last_asked.system
    assert "not read yet" not in model.last_asked.system
    agent.invoke(GO, THREAD)
    assert model.asked[1].system == model.asked[2].system


class SixVerbs(SyncBackend):
    """A backend with nothing but the verbs."""

    def __init__(self, root: Path) -> None:
        self.inner = FilesystemBackend(root)
        for verb in ("ls_info", "read", "grep_raw", "glob_info", "write", "edit"):
            setattr(self, verb, getattr(self.inner, verb))

    ls_info = read = grep_raw = glob_info = write = edit = lambda self, *args: None  # replaced above


@pytest.mark.parametrize("mounted", [False, True])
def test_a_backend_with_nothing_but_the_verbs_will_do(tmp_path: Path, mounted: bool):
    from stepwell import CompositeBackend, StateBackend

    write_skill(tmp_path, "one")
    (tmp_path / "AGENTS.md").write_text("Be brief.\n\nAlways.", encoding="utf-8")
    backend = CompositeBackend(StateBackend(), {"/kit/": SixVerbs(tmp_path)}) if mounted else SixVerbs(tmp_path)
    at = "/kit" if mounted else ""
    model = ScriptedModel([say("done")])
    agent = create_deep_agent(model, backend=backend, skills=[f"{at}/skills"], memory=[f"{at}/AGENTS.md", f"{at}/none.md"])
    agent.invoke({**GO, "pinned_skills": ["one"]})
    assert "- **one**: Does one." in model.last_asked.system
    assert f"{at}/AGENTS.md\n\nBe brief.\n\nAlways.\n" in model.last_asked.system
    assert model.last_asked.human == f'<skill name="one" path="{at}/skills/one/SKILL.md">\nDo it.\n</skill>'


# Ten skills, as the issue counts them.


def test_ten_skills_cost_at_most_four_hundred_tokens(tmp_path: Path):
    """o200k counts 285 for this section; a token is 4 characters here, as everywhere in these tests."""
    for number in range(10):
        write_skill(
            tmp_path,
            f"some-skill-{number}",
            "Research a topic on the web, compare what sources say, and write it down"[:80].ljust(80, "."),
        )
    kit, plain = Kit(tmp_path), ScriptedModel([say("done")])
    kit.run()
    create_deep_agent(plain).invoke(GO)
    assert (len(kit.system) - len(plain.last_asked.system)) / 4 <= 400


# Subagents.


def test_a_subagent_has_its_own_skills_and_the_general_one_the_main_agent_s(tmp_path: Path):
    write_skill(tmp_path, "main-skill")
    write_skill(tmp_path, "other-skill", source="other")
    specs = [
        {"name": "plain", "description": "d", "system_prompt": "p"},
        {"name": "skilled", "description": "d", "system_prompt": "p", "skills": ["/other"]},
    ]
    seen = {}
    for name in ("general-purpose", "plain", "skilled"):
        kit = Kit(tmp_path, call("task", description="x", subagent_type=name), subagents=specs)
        result = kit.run(pinned_skills=["main-skill"])
        asked = next(each for each in kit.model.asked if each.agent == name)
        seen[name] = [skill in asked.system for skill in ("main-skill", "other-skill")]
        assert [message.type for message in asked.messages] == ["system", "human"]  # the parent's pins are its own
        assert [skill["name"] for skill in kit.agent.get_state(THREAD).values["skills_metadata"]] == ["main-skill"]
        assert "other-skill" not in kit.system
        assert "skills_metadata" not in result
    assert seen == {"general-purpose": [True, False], "plain": [False, False], "skilled": [False, True]}


# Pins.


def pinned(messages):
    return [message.content for message in messages if message.additional_kwargs.get("lc_source") == "pinned_skill"]


def test_pinned_skills_follow_the_user_s_message_once(tmp_path: Path):
    write_skill(tmp_path, "one", body="Do one.")
    write_skill(tmp_path, "two", body="Do two.")
    kit = Kit(tmp_path)
    kit.run(pinned_skills=["two", "one", "two", "unknown"])
    _, user, second, first = kit.model.last_asked.messages
    assert user.content == "go"
    assert second.content == '<skill name="two" path="/skills/two/SKILL.md">\nDo two.\n</skill>'
    assert isinstance(first, HumanMessage)
    assert first.additional_kwargs == {
        "lc_source": "pinned_skill",
        "skill": {"name": "one", "path": "/skills/one/SKILL.md", "description": "Does one."},
    }
    write_skill(tmp_path, "one", body="Do one better.")
    final = kit.run()
    assert pinned(final["messages"]) == [second.content, first.content]
    assert "Do one better." in pinned(kit.run(pinned_skills=["one"])["messages"])[-1]
    assert kit.agent.get_state(THREAD).values["pinned_skills"] == []


def test_a_pinned_skill_that_is_gone_is_left_out(tmp_path: Path):
    path = write_skill(tmp_path, "one")
    kit = Kit(tmp_path)
    kit.run()
    path.write_text("", encoding="utf-8")
    assert pinned(kit.run(pinned_skills=["one"])["messages"]) == []


# Tools of skills.


@tool
def file_request(title: str) -> str:
    """File a request."""
    return f"filed {title}"


@pytest.mark.parametrize("way", ["read", "read without a slash", "pinned"])
def test_a_skill_brings_its_tools_once_it_is_in_use(tmp_path: Path, way: str):
    write_skill(tmp_path, "crm", "", "metadata:", "  include_tools: file_request")
    script = [call("file_request", title="a")] if way == "pinned" else [
        call("file_request", title="a"),
        call("read_file", file_path="skills/crm/SKILL.md" if "slash" in way else "/skills/crm/SKILL.md"),
        call("file_request", title="b"),
    ]  # fmt: skip
    model = ScriptedModel([*script, say("done")])
    backend = FilesystemBackend(tmp_path)
    brought = SkillsMiddleware(backend=backend, sources=["/skills"], tools=[file_request])
    agent = create_deep_agent(model, backend=backend, middleware=[brought])
    result = agent.invoke({**GO, "pinned_skills": ["crm"] if way == "pinned" else []})
    offered = ["file_request" in asked.tool_names for asked in model.asked]
    said = [message.text for message in result["messages"] if message.name == "file_request"]
    if way == "pinned":
        assert (offered, said) == ([True, True], ["filed a"])
    else:
        assert offered == [False, False, True, True]
        assert said == [
            "Error: file_request belongs to a skill that has not been read. Read /skills/crm/SKILL.md first.",
            "filed b",
        ]


@pytest.mark.parametrize("choice", [True, {"allowed_decisions": ["approve", "reject"], "when": lambda request: True}])
def test_nobody_is_asked_about_a_tool_whose_skill_has_not_been_read(tmp_path: Path, choice):
    write_skill(tmp_path, "crm", "", "metadata:", "  include_tools: file_request")
    locked, read = call("file_request", title="a"), call("read_file", file_path="/skills/crm/SKILL.md")
    model = ScriptedModel([locked, read, call("file_request", title="b"), say("done")])
    backend = FilesystemBackend(tmp_path)
    brought = SkillsMiddleware(backend=backend, sources=["/skills"], tools=[file_request])
    asked = {"interrupt_on": {"file_request": choice}, "checkpointer": InMemorySaver()}
    agent = create_deep_agent(model, backend=backend, middleware=[brought], **asked)
    paused = agent.invoke(GO, THREAD)
    (question,) = paused["__interrupt__"]
    assert [action["args"] for action in question.value["action_requests"]] == [{"title": "b"}]
    result = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    said = [message.text for message in result["messages"] if message.name == "file_request"]
    assert said[0].startswith("Error: file_request belongs to a skill that has not been read.")
    assert said[1] == "filed b"


# Arguments.


@pytest.mark.parametrize("form", [list, tuple, deque, iter, lambda tools: (each for each in tools)])
def test_tools_may_come_in_any_sequence(form):
    brought = SkillsMiddleware(sources=["/skills"], tools=form([file_request]))
    assert [each.name for each in brought.tools] == ["file_request"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (file_request, "is file_request"),
        (len, "is len"),
        ("file_request", "is a str"),
        ({"file_request": file_request}, "is a dict"),
        (["file_request"], "has 'file_request', which is not a tool"),
        ([{"type": "web_search"}], "which is not a tool"),
    ],
)
def test_what_is_no_sequence_of_tools_is_refused(given, said):
    with pytest.raises(ConfigurationError, match=said):
        SkillsMiddleware(sources=["/skills"], tools=given)


@pytest.mark.parametrize("source", [("/a",), ("/a", "b", "c"), ("/a", 7), 7])
def test_a_source_of_another_form_is_refused(source):
    with pytest.raises(ConfigurationError, match=r"expected str or \(str, str\) tuple"):
        create_deep_agent(ScriptedModel(), skills=[source])


def test_a_text_in_place_of_a_list_is_refused():
    with pytest.raises(ConfigurationError, match="skills is the text '/skills'"):
        create_deep_agent(ScriptedModel(), skills="/skills")


def test_a_template_needs_its_places():
    with pytest.raises(ConfigurationError, match="skills_list"):
        SkillsMiddleware(sources=["/skills"], system_prompt="{skills_locations}{skills_load_warnings}")


def test_a_template_replaces_the_section_and_none_leaves_it_out(tmp_path: Path):
    write_skill(tmp_path, "one", "Has {braces} and {skills_list}.")
    backend, model = FilesystemBackend(tmp_path), ScriptedModel([*repeat(say("done"), times=12)])
    template = "HERE {skills_locations}{skills_load_warnings}\n{skills_list}"
    for given in (template, None):
        skills = SkillsMiddleware(backend=backend, sources=[("/skills", "My")], system_prompt=given)
        create_deep_agent(model, backend=backend, middleware=[skills]).invoke(GO)
    assert (
        "HERE **My Skills**: `/skills` (higher priority)\n- **one**: Has {braces} and {skills_list}." in model.asked[0].system
    )
    assert "**one**" not in model.asked[1].system


def test_wrong_sources_of_a_subagent_are_refused_when_the_agent_is_built():
    spec = {"name": "a", "description": "d", "system_prompt": "p"}
    for more, said in (
        ({"skills": "/skills"}, "Pass a list"),
        ({"memory": "/A.md"}, "Pass a list"),
        ({"skills": [7]}, "tuple"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            create_deep_agent(ScriptedModel(), subagents=[{**spec, **more}])


def test_clients_can_ask_for_the_schemas():
    agent = create_deep_agent(ScriptedModel(), skills=["/skills"], memory=["/AGENTS.md"])
    assert "pinned_skills" in agent.get_input_jsonschema()["properties"]
    assert "skills_metadata" not in agent.get_input_jsonschema()["properties"]
    assert not {"skills_metadata", "memory_contents", "pinned_skills"} & agent.get_output_jsonschema()["properties"].keys()
    assert TypeAdapter(SkillsState).json_schema()["properties"]["skills_files"]
    assert TypeAdapter(MemoryState).json_schema()["properties"]["memory_files"]
