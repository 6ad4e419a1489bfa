"""Files in agent state: where the backend finds them, and what it says when there is no agent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langgraph._internal._constants import CONFIG_KEY_READ

from stepwell.agent import create_deep_agent
from stepwell.backends import state
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.protocol import WriteResult
from stepwell.backends.state import StateBackend
from stepwell.errors import BackendError
from stepwell.testing import ScriptedModel, call, calls, say

TURNS = [
    call("write_file", file_path="/notes/a.md", content="one\ntwo"),
    calls(
        call("edit_file", file_path="/notes/a.md", old_string="two", new_string="three"),
        call("read_file", file_path="/seed.md"),
    ),
    calls(
        call("ls", path="/notes"),
        call("grep", pattern="thr"),
        call("glob", pattern="**/*.md"),
        call("read_file", file_path="/notes/a.md"),
    ),
    say("done"),
]


@pytest.mark.parametrize("backend", [None, StateBackend(), StateBackend, lambda runtime: StateBackend(runtime)])
async def test_an_instance_and_a_factory_see_the_same_files(backend: Any):
    """D11: files in state, by an instance that finds the running graph or by a factory that is given its runtime."""
    given = {"messages": "go", "files": {"/seed.md": "seed"}}
    final = create_deep_agent(ScriptedModel(TURNS), backend=backend).invoke(given)
    asynchronously = await create_deep_agent(ScriptedModel(TURNS), backend=backend).ainvoke(given)
    for result in (final, asynchronously):
        assert result["files"]["/notes/a.md"]["content"] == ["one", "three"]
        said = "\n".join(m.content for m in result["messages"] if m.type == "tool")
        assert "seed" in said
        assert "Error" not in said
        assert said.count("/notes/a.md") >= 4


@pytest.mark.parametrize(
    "verb",
    [
        lambda backend: backend.ls_info("/"),
        lambda backend: backend.read("/a.md"),
        lambda backend: backend.grep_raw("x"),
        lambda backend: backend.glob_info("*"),
        lambda backend: backend.write("/a.md", "x"),
        lambda backend: backend.edit("/a.md", "x", "y"),
    ],
)
def test_outside_of_a_running_agent_it_says_how_to_give_files(verb: Any):
    with pytest.raises(BackendError, match=r"only while an agent runs.*'files'"):
        verb(StateBackend())


def test_langgraph_s_private_read_key_is_the_one_we_use():
    """The one private name of LangGraph that we rely on; a new version that renames it fails here first."""
    assert state._READ_KEY == CONFIG_KEY_READ


def test_allowed_prefixes_confine_it():
    """D11: optional allowed prefixes."""
    turns = [
        calls(call("write_file", file_path="/in/a.md", content="x"), call("write_file", file_path="/out.md", content="x")),
        say("done"),
    ]
    final = create_deep_agent(ScriptedModel(turns), backend=StateBackend(allowed_prefixes=["/in/"])).invoke({"messages": "go"})
    assert list(final["files"]) == ["/in/a.md"]
    assert [m.status for m in final["messages"] if m.type == "tool"] == ["success", "error"]


def test_two_mounts_in_one_state_do_not_collide():
    """D11: composite over state; each mount keeps its files under its own prefix."""
    backend = CompositeBackend(default=StateBackend(), routes={"/m/": StateBackend()})
    turns = [calls(call("write_file", file_path="/a.md", content="root"), call("write_file", file_path="/m/a.md", content="mount")),
             calls(call("edit_file", file_path="/m/a.md", old_string="mount", new_string="once"),
                   call("edit_file", file_path="/m/a.md", old_string="once", new_string="twice")), say("done")]  # fmt: skip
    final = create_deep_agent(ScriptedModel(turns), backend=backend).invoke({"messages": "go"})
    assert {path: file["content"] for path, file in final["files"].items()} == {"/a.md": ["root"], "/m/a.md": ["twice"]}


def test_a_subclass_keeps_its_verbs_when_it_is_bound_or_mounted():
    class Full(StateBackend):
        def write(self, file_path, content, **options):
            return WriteResult(error="Error: full.")

    runtime = SimpleNamespace(state={"files": {}})
    assert Full().bind(runtime).write("/a", "x").error == "Error: full."
    assert Full().mounted_at("/m/").write("/a", "x").error == "Error: full."
