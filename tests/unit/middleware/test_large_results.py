"""D5: a tool result too large for the context goes to a file and leaves a pointer with head and tail."""

from __future__ import annotations

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from stepwell import CompositeBackend, FilesystemBackend, FilesystemMiddleware, StateBackend, create_deep_agent
from stepwell.testing import ScriptedModel, call, raw, say

TEXT = "\n".join(f"row {n}" for n in range(30_000))


@tool
def dump() -> str:
    """Much text."""
    return TEXT


def run(model, tools=(dump,), **options):
    return create_deep_agent(model, list(tools), **options).invoke({"messages": [("user", "go")]})


def test_large_result_is_kept_whole_in_a_file():
    """D5."""
    final = run(ScriptedModel([call("dump"), say("ok")]))
    pointer = final["messages"][-2]
    (path,) = final["files"]
    assert "\n".join(final["files"][path]["content"]) == TEXT
    assert path == "/large_tool_results/call_1"
    assert path in pointer.content
    assert pointer.content.startswith("row 0\n")
    assert pointer.content.endswith("row 29999")
    assert len(pointer.content) < 5_000


def test_the_model_can_read_on_in_it():
    """D5."""
    model = ScriptedModel(
        [call("dump"), call("read_file", file_path="/large_tool_results/call_1", offset=15_000, limit=1), say("ok")]
    )
    assert "row 15000" in run(model)["messages"][-2].content


def test_small_results_stay_as_they_are():
    @tool
    def small() -> str:
        """Little text."""
        return "short"

    final = run(ScriptedModel([call("small"), say("ok")]), [small])
    assert final["messages"][-2].content == "short"
    assert not final.get("files")


def test_a_result_inside_a_command_is_moved_too():
    @tool
    def both(tool_call_id: str = "call_1") -> Command:
        """A command with much text."""
        return Command(update={"messages": [ToolMessage(TEXT, tool_call_id="call_1")], "files": {"/other.md": "kept"}})

    final = run(ScriptedModel([call("both"), say("ok")]), [both])
    assert set(final["files"]) == {"/other.md", "/large_tool_results/call_1"}


def test_tool_call_ids_are_made_safe_for_file_names():
    """D12: tool-call ids made safe for file names."""
    from langchain_core.messages import AIMessage

    nasty = AIMessage("", tool_calls=[{"name": "dump", "args": {}, "id": "../../etc/passwd\n*"}])
    final = run(ScriptedModel([raw(nasty), say("ok")]))
    (path,) = final["files"]
    assert path == "/large_tool_results/______etc_passwd__"


def test_large_results_go_to_the_agent_s_backend(tmp_path):
    run(ScriptedModel([call("dump"), say("ok")]), backend=FilesystemBackend(root_dir=tmp_path))
    assert (tmp_path / "large_tool_results" / "call_1").read_text() == TEXT


def test_nothing_is_written_to_a_remote_backend_by_itself():
    """Wire contracts: offloading never writes to a remote mount."""

    class Remote(StateBackend):
        remote = True

    for backend in (Remote(), CompositeBackend(Remote(), {"/scratch/": StateBackend()})):
        final = run(ScriptedModel([call("dump"), say("ok")]), backend=backend)
        assert not final.get("files")
        assert "could not be saved" in final["messages"][-2].content
        assert len(final["messages"][-2].content) < 5_000


def test_a_local_default_takes_large_results_beside_a_remote_mount():
    class Remote(StateBackend):
        remote = True

    backend = CompositeBackend(StateBackend(), {"/project/": Remote()})
    assert run(ScriptedModel([call("dump"), say("ok")]), backend=backend)["files"]


@pytest.mark.parametrize(("limit", "moved"), [(10, True), (None, False)])
def test_the_limit_is_the_caller_s(limit, moved):
    final = run(ScriptedModel([call("dump"), say("ok")]), middleware=[FilesystemMiddleware(result_token_limit=limit)])
    assert bool(final.get("files")) is moved


async def test_async_runs_do_the_same():
    final = await create_deep_agent(ScriptedModel([call("dump"), say("ok")]), [dump]).ainvoke({"messages": [("user", "go")]})
    assert list(final["files"]) == ["/large_tool_results/call_1"]


def test_a_call_id_used_again_leaves_the_earlier_result_alone():
    """D5: some models count their calls from zero in every turn."""
    letters = iter("ab")

    @tool
    def much() -> str:
        """Much of one letter."""
        return next(letters) * 100_000

    final = run(ScriptedModel([call("much").with_id("call_0"), call("much").with_id("call_0"), say("ok")]), [much])
    pointers = [message.content for message in final["messages"] if message.type == "tool"]
    for letter, pointer in zip("ab", pointers, strict=True):
        (path,) = (path for path in final["files"] if f"is in {path}:" in pointer)
        assert final["files"][path]["content"] == [letter * 100_000]


def test_a_subagent_s_large_result_and_its_large_answer_are_both_kept():
    """D5, D6: parent and subagent may use the same call id."""
    helper = ScriptedModel([call("dump").with_id("call_0"), say("y" * 100_000)])
    spec = {"name": "helper", "description": "helps", "system_prompt": "help", "model": helper, "tools": [dump]}
    model = ScriptedModel([call("task", description="x", subagent_type="helper").with_id("call_0"), say("ok")])
    final = run(model, [], subagents=[spec])
    assert sorted("\n".join(file["content"])[:1] for file in final["files"].values()) == ["r", "y"]


def test_a_result_in_a_list_of_commands_is_moved_too():
    @tool
    def several(runtime: ToolRuntime) -> list[Command]:
        """Text and a file."""
        message = ToolMessage(TEXT, tool_call_id=runtime.tool_call_id)
        return [Command(update={"messages": [message]}), Command(update={"files": {"/a.md": "x"}})]

    final = run(ScriptedModel([call("several"), say("ok")]), [several])
    assert len(final["messages"][-2].content) < 5_000
    assert sorted(final["files"]) == ["/a.md", "/large_tool_results/call_1"]
