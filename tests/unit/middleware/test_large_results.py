"""D5: a tool result too large for the context goes to a file and leaves a pointer with head and tail."""

from __future__ import annotations

import pytest
from langchain.tools import ToolRuntime
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

from stepwell import CompositeBackend, FilesystemBackend, FilesystemMiddleware, StateBackend, create_deep_agent
from stepwell.testing import ScriptedModel, call, calls, fail, raw, say

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


# Results that are too large only together.


@tool
def page(number: int) -> str:
    """A page of text."""
    return f"first words of page {number}\n" + f"line {number}\n" * (3_000 + number) + f"last words of page {number}"


def pages(*numbers):
    return calls(*(call("page", number=number) for number in numbers))


def results(final):
    return [message for message in final["messages"] if message.type == "tool"]


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_results_that_are_too_large_together_go_to_files_largest_first(colour):
    """D5: the run goes on where the model's window has no room for all of them."""
    model = ScriptedModel([pages(1, 500, 3), say("ok")], profile={"max_input_tokens": 24_000})
    agent = create_deep_agent(model, [page])
    asked = {"messages": [("user", "go")]}
    final = agent.invoke(asked) if colour == "sync" else await agent.ainvoke(asked)
    small, moved, other = results(final)
    assert (small.content, other.content) == (page.invoke({"number": 1}), page.invoke({"number": 3}))
    (path,) = final["files"]
    assert "\n".join(final["files"][path]["content"]) == page.invoke({"number": 500})
    assert moved.content.startswith("first words of page 500\n")
    assert moved.content.endswith("last words of page 500")
    assert path in moved.content
    assert [message.content for message in model.asked[1].messages if message.type == "tool"] == [
        small.content, moved.content, other.content
    ]  # fmt: skip


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_provider_that_refuses_the_results_is_asked_again_with_less(colour):
    """D5: estimates can be wrong, and the window unknown."""
    model = ScriptedModel([pages(1, 2, 3), fail(ContextOverflowError("too long")), say("ok")])
    agent = create_deep_agent(model, [page])
    asked = {"messages": [("user", "go")]}
    final = agent.invoke(asked) if colour == "sync" else await agent.ainvoke(asked)
    assert final["messages"][-1].content == "ok"
    assert sorted(final["files"]) == ["/large_tool_results/call_2", "/large_tool_results/call_3"]
    assert [len(message.content) < 5_000 for message in results(final)] == [False, True, True]


def test_backends_that_are_made_for_each_call_take_crowding_results_too(tmp_path):
    """D5."""
    model = ScriptedModel([pages(1, 2), say("ok")], profile={"max_input_tokens": 20_000})
    final = run(model, [page], backend=lambda runtime: StateBackend(runtime))
    assert list(final["files"]) == ["/large_tool_results/call_2"]
    model = ScriptedModel([pages(1, 2), say("ok")], profile={"max_input_tokens": 20_000})
    run(model, [page], backend=FilesystemBackend(tmp_path))
    assert [file.name for file in (tmp_path / "large_tool_results").iterdir()] == ["call_2"]


def test_crowding_file_tools_are_not_copied_to_files():
    """D5: what is in a file already can be asked for again in smaller parts."""
    files = {f"/{name}.md": f"{name}{name}\n" * 10_000 for name in "ab"}
    reading = calls(*(call("read_file", file_path=path) for path in files))
    model = ScriptedModel([reading, say("ok")], profile={"max_input_tokens": 16_000})
    final = create_deep_agent(model).invoke({"messages": [("user", "go")], "files": files})
    assert set(final["files"]) == set(files)
    assert sum("Ask again for a smaller part" in message.content for message in results(final)) == 1


def test_a_caller_without_a_limit_keeps_all_results():
    """D5."""
    model = ScriptedModel([pages(1, 2), say("ok")], profile={"max_input_tokens": 20_000})
    final = run(model, [page], middleware=[FilesystemMiddleware(result_token_limit=None)])
    assert not final.get("files")
