"""D6: the `task` tool and the agents behind it."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass
from datetime import date
from typing import Any, NotRequired

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langsmith.run_helpers import get_tracing_context, tracing_context
from pydantic import BaseModel
from typing_extensions import TypedDict

from stepwell import (
    ConfigurationError,
    DeepAgentState,
    FilesystemBackend,
    FilesystemMiddleware,
    SubAgentMiddleware,
    create_deep_agent,
)
from stepwell.middleware.request import RequestMiddleware
from stepwell.testing import ScriptedModel, call, calls, fail, raw, reply, say, slow

ASK = {"messages": [("user", "go")]}


class Context(BaseModel):
    user: str


def spec(name, **more):
    return {"name": name, "description": f"does {name}", "system_prompt": f"You are {name}.", **more}


def task(to, description="do it"):
    return call("task", description=description, subagent_type=to)


def tool_results(final):
    return [message for message in final["messages"] if message.type == "tool"]


def test_general_purpose_is_always_there_with_the_main_agent_s_prompt_and_tools():
    """D6: general-purpose."""

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    model = ScriptedModel.by_agent(
        {"main": [task("general-purpose", "add 1 and 2"), say("it is 3")], "general-purpose": [call("add", a=1, b=2), say("3")]}
    )
    final = create_deep_agent(model, [add], system_prompt="You add.").invoke(ASK)
    assert tool_results(final)[0].content == "3"
    subagent = model.asked[1]
    assert subagent.first_human == "add 1 and 2"
    assert subagent.system.startswith("You add.")
    assert "add" in subagent.tool_names
    assert "task" not in subagent.tool_names
    model.assert_finished()


def test_custom_subagent_has_its_own_prompt_tools_model_and_middleware():
    """D6: own prompt, tools, model, middleware."""

    @tool
    def only_mine() -> str:
        """Mine."""
        return "mine"

    class Note(RequestMiddleware):
        prompt = "NOTE"

    own_model = ScriptedModel([call("only_mine"), say("done by me")])
    model = ScriptedModel([task("helper"), say("ok")])
    helper = spec("helper", tools=[only_mine], model=own_model, middleware=[Note()])
    final = create_deep_agent(model, subagents=[helper]).invoke(ASK)
    assert tool_results(final)[0].content == "done by me"
    asked = own_model.last_asked
    assert asked.system.startswith("You are helper.")
    assert asked.system.endswith("NOTE")
    assert "only_mine" in asked.tool_names


def test_model_settings_apply_to_the_subagent_alone():
    """D15: per-subagent `model_settings`, on a copy of the shared model."""
    shared = ScriptedModel.by_agent({"main": [task("helper"), say("ok")], "helper": [say("x")]}, tags=["main"])
    create_deep_agent(shared, subagents=[spec("helper", model_settings={"tags": ["helper"]})]).invoke(ASK)
    assert shared.tags == ["main"]
    shared.assert_finished()


def test_compiled_subagents_run_as_they_are():
    """D6: compiled subagents, graphs and other runnables."""
    inner = create_deep_agent(ScriptedModel([say("from a graph")]))
    plain = RunnableLambda(lambda state: {"messages": [AIMessage(f"heard: {state['messages'][-1].content}")]})
    model = ScriptedModel([calls(task("graph"), task("plain", "hello")), say("ok")])
    agent = create_deep_agent(
        model,
        subagents=[
            {"name": "graph", "description": "a graph", "runnable": inner},
            {"name": "plain", "description": "a function", "runnable": plain},
        ],
    )
    assert [result.content for result in tool_results(agent.invoke(ASK))] == ["from a graph", "heard: hello"]


def test_messages_and_todos_are_isolated_other_state_is_passed_on():
    """D6."""

    class State(DeepAgentState):
        project: NotRequired[str]

    seen: dict[str, Any] = {}

    @tool
    def look(runtime: ToolRuntime) -> str:
        """Look at the state."""
        seen.update(runtime.state)
        return "looked"

    todos = [{"content": "main's", "status": "pending"}]
    model = ScriptedModel.by_agent(
        {
            "main": [call("write_todos", todos=todos), task("general-purpose", "look around"), say("ok")],
            "general-purpose": [
                call("write_todos", todos=[{"content": "sub's", "status": "completed"}]),
                call("look"),
                say("seen"),
            ],
        }
    )
    final = create_deep_agent(model, [look], state_schema=State).invoke({**ASK, "project": "p1"})
    assert seen["project"] == "p1"
    assert seen["messages"][0].content == "look around"
    assert seen["todos"] == [{"content": "sub's", "status": "completed"}]
    assert final["todos"] == todos
    assert [message.type for message in final["messages"]] == ["human", "ai", "tool", "ai", "tool", "ai"]


def test_files_are_seen_and_merged_back_without_being_copied():
    """D6: files merged back; a subagent holds only what it changes."""
    held: dict[str, Any] = {}

    @tool
    def own_files(runtime: ToolRuntime) -> str:
        """What is in this agent's state."""
        held.update(runtime.state.get("files") or {})
        return "ok"

    model = ScriptedModel.by_agent(
        {
            "main": [task("general-purpose"), call("read_file", file_path="/a.md"), say("ok")],
            "general-purpose": [
                call("read_file", file_path="/a.md"),
                call("edit_file", file_path="/a.md", old_string="one", new_string="two"),
                call("write_file", file_path="/new.md", content="n"),
                call("own_files"),
                say("done"),
            ],
        }
    )
    final = create_deep_agent(model, [own_files]).invoke({**ASK, "files": {"/a.md": "one", "/big.md": "x" * 1000}})
    assert set(held) == {"/a.md", "/new.md"}
    assert final["files"]["/a.md"]["content"] == ["two"]
    assert final["files"]["/new.md"]["content"] == ["n"]
    assert list(final["files"]) == ["/a.md", "/big.md", "/new.md"]


def test_two_subagents_that_change_one_file_lose_nothing_and_the_model_is_told():
    """D6, D13: files merge per file with conflicts reported."""

    def edits(asked):
        word = asked.first_human
        return call("edit_file", file_path="/a.md", old_string="base", new_string=word) if asked.turn == 0 else say("done")

    model = ScriptedModel.by_agent(
        {
            "main": [calls(task("general-purpose", "left"), task("general-purpose", "right")), call("ls"), say("ok")],
            "general-purpose": [reply(edits)] * 4,
        }
    )
    final = create_deep_agent(model).invoke({**ASK, "files": {"/a.md": "base"}})
    assert final["files"]["/a.md"]["content"] == ["left"]
    assert final["files"]["/a.md.conflict-1"]["content"] == ["right"]
    told = [message.content for message in final["messages"] if "conflict-1" in str(message.content) and message.name == "task"]
    assert len(told) == 1
    assert "/a.md was changed by two at once" in told[0]


async def test_many_run_side_by_side():
    """D6: many at once."""
    all_there = asyncio.Barrier(5)  # nobody gets past it unless all five run at the same time

    async def work(asked):
        await all_there.wait()
        return say(f"did {asked.first_human}")

    model = ScriptedModel.by_agent(
        {"main": [calls(*(task("general-purpose", str(n)) for n in range(5))), say("ok")], "general-purpose": [reply(work)] * 5}
    )
    final = await create_deep_agent(model).ainvoke(ASK)
    assert [result.content for result in tool_results(final)] == [f"did {n}" for n in range(5)]


@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_a_failing_one_leaves_its_siblings_alone(colour):
    """D6: a failing one does not take its siblings down; exactly one result message each."""
    model = ScriptedModel.by_agent(
        {"main": [calls(task("bad"), task("good")), say("ok")], "bad": [fail(RuntimeError("broke"))], "good": [say("fine")]}
    )
    agent = create_deep_agent(model, subagents=[spec("bad"), spec("good")])
    final = agent.invoke(ASK) if colour == "sync" else await agent.ainvoke(ASK)
    bad, good = tool_results(final)
    assert (bad.status, good.status) == ("error", "success")
    assert bad.content == "Error: the subagent bad failed: RuntimeError: broke"
    assert good.content == "fine"


async def test_a_slow_one_is_stopped_and_its_sibling_finishes():
    """D6: a slow one does not take its siblings down."""
    model = ScriptedModel.by_agent(
        {
            "main": [calls(task("slow"), task("good")), say("ok")],
            "slow": [slow(say("too late"), seconds=3600)],
            "good": [say("fine")],
        }
    )
    agent = create_deep_agent(model, subagents=[spec("slow", timeout_s=0.05), spec("good")])
    stopped, good = tool_results(await agent.ainvoke(ASK))
    assert stopped.status == "error"
    assert "stopped after 0.05 s" in stopped.content
    assert good.content == "fine"


def test_a_slow_one_is_stopped_in_sync_runs_too():
    """D6."""
    release = threading.Event()

    def wait(asked):
        release.wait(120)
        return say("too late")

    model = ScriptedModel.by_agent(
        {"main": [calls(task("slow"), task("good")), say("ok")], "slow": [reply(wait)], "good": [say("fine")]}
    )
    agent = create_deep_agent(model, subagents=[spec("slow", timeout_s=0.05), spec("good", timeout_s=120)])
    stopped, good = tool_results(agent.invoke(ASK))
    release.set()
    assert "stopped after 0.05 s" in stopped.content
    assert good.content == "fine"


async def test_runtime_config_and_context_reach_subagents():
    """D6: runtime config reaches subagents; so does the context."""
    seen = []

    @tool
    def who(runtime: ToolRuntime[Context, Any]) -> str:
        """Who and where."""
        seen.append((runtime.config["configurable"]["tenant"], runtime.context.user, runtime.config["metadata"]["subagent"]))
        return "ok"

    model = ScriptedModel.by_agent({"main": [task("helper"), say("ok")] * 2, "helper": [call("who"), say("x")] * 2})
    agent = create_deep_agent(model, subagents=[spec("helper", tools=[who])], context_schema=Context)
    config = {"configurable": {"tenant": "acme"}}
    agent.invoke(ASK, config, context=Context(user="ada"))
    await agent.ainvoke(ASK, config, context=Context(user="bob"))
    assert seen == [("acme", "ada", "helper"), ("acme", "bob", "helper")]


def test_streaming_shows_which_subagent_speaks():
    """D6: streams name the speaker."""
    model = ScriptedModel.by_agent({"main": [task("helper"), say("main speaks")], "helper": [say("helper speaks")]})
    agent = create_deep_agent(model, subagents=[spec("helper")], name="boss")
    model_by = ScriptedModel.by_agent({"boss": [task("helper"), say("main speaks")], "helper": [say("helper speaks")]})
    agent = create_deep_agent(model_by, subagents=[spec("helper")], name="boss")
    spoken: dict[str, str] = {}
    for _, (chunk, metadata) in agent.stream(ASK, stream_mode="messages", subgraphs=True):
        if isinstance(chunk, AIMessage):
            spoken[metadata["lc_agent_name"]] = spoken.get(metadata["lc_agent_name"], "") + chunk.text
    assert spoken == {"boss": "main speaks", "helper": "helper speaks"}


def test_unknown_subagent_is_a_tool_error_that_lists_the_known():
    model = ScriptedModel([task("nobody"), say("ok")])
    (result,) = tool_results(create_deep_agent(model, subagents=[spec("helper")]).invoke(ASK))
    assert result.status == "error"
    assert result.content == "Error: there is no subagent 'nobody'. Use one of: general-purpose, helper."


def test_one_that_ends_without_words_says_so():
    model = ScriptedModel.by_agent({"main": [task("helper"), say("ok")], "helper": [raw(AIMessage(""))] * 2})
    (result,) = tool_results(create_deep_agent(model, subagents=[spec("helper")]).invoke(ASK))
    assert "asked twice" in result.content
    silent = RunnableLambda(lambda state: {"messages": [AIMessage("")]})
    compiled = {"name": "helper", "description": "says nothing", "runnable": silent}
    model = ScriptedModel([task("helper"), say("ok")])
    (result,) = tool_results(create_deep_agent(model, subagents=[compiled]).invoke(ASK))
    assert "finished without an answer" in result.content


class FoundModel(BaseModel):
    """What was found."""

    count: int
    seen: date


@dataclass
class FoundData:
    """What was found."""

    count: int
    seen: date


class FoundDict(TypedDict):
    """What was found."""

    count: int
    seen: str


@pytest.mark.parametrize("kind", [FoundModel, FoundData, FoundDict])
def test_a_structured_answer_comes_back_as_json(kind):
    answer = call(kind.__name__, count=3, seen="2026-01-02")
    model = ScriptedModel.by_agent({"main": [task("helper"), say("ok")], "helper": [answer]})
    (result,) = tool_results(create_deep_agent(model, subagents=[spec("helper", response_format=kind)]).invoke(ASK))
    assert json.loads(result.content) == {"count": 3, "seen": "2026-01-02"}


def test_a_compiled_subagent_and_tools_of_subagents_are_called_by_the_subagents_name():
    """D6: streams and tools know whose step it is, also in a graph that was compiled elsewhere."""
    heard: list[str | None] = []

    @tool
    def listen(runtime: ToolRuntime) -> str:
        """Listen."""
        heard.append(runtime.config["metadata"].get("lc_agent_name"))
        return "heard"

    compiled = create_agent(ScriptedModel([call("listen"), say("compiled speaks")]), [listen])
    script = {"boss": [task("graph"), task("helper"), say("ok")], "helper": [call("listen"), say("helper speaks")]}
    subagents = [spec("helper"), {"name": "graph", "description": "compiled", "runnable": compiled}]
    agent = create_deep_agent(ScriptedModel.by_agent(script), [listen], subagents=subagents, name="boss")
    spoken: dict[str, str] = {}
    for _, (chunk, metadata) in agent.stream(ASK, stream_mode="messages", subgraphs=True):
        if isinstance(chunk, AIMessage):
            spoken[metadata["lc_agent_name"]] = spoken.get(metadata["lc_agent_name"], "") + chunk.text
    assert spoken == {"graph": "compiled speaks", "helper": "helper speaks", "boss": "ok"}
    assert heard == ["graph", "helper"]


def test_subagents_are_built_on_first_use_only():
    """Build 2: compiled lazily."""
    built = []

    class Counting(SubAgentMiddleware):
        pass

    def build(described):
        built.append(described["name"])
        return RunnableLambda(lambda state: {"messages": [AIMessage("x")]})

    middleware = Counting(subagents=[spec("a"), spec("b")], build=build)
    model = ScriptedModel([task("a"), task("a"), say("ok")])
    create_deep_agent(model, middleware=[middleware]).invoke(ASK)
    assert built == ["a"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"description": "d", "system_prompt": "p"}, "Subagent 0 is named None"),
        ({"name": "a b", "description": "d", "system_prompt": "p"}, "'a b'"),
        ({"name": "a", "system_prompt": "p"}, "'a' has no description"),
        ({"name": "a", "description": "d"}, "'a' has no system_prompt"),
        ({"name": "a", "description": "d", "system_prompt": "p", "colour": 1}, "unknown keys: colour"),
        ({"name": "a", "description": "d", "runnable": 3}, "without invoke"),
        ({"name": "a", "description": "d", "runnable": RunnableLambda(str), "tools": []}, "compiled already"),
        ({"name": "a", "description": "d", "system_prompt": "p", "timeout_s": -1}, "timeout_s=-1"),
        ("text", "Subagent 0 is a str"),
    ],
)
def test_malformed_descriptions_are_refused_when_built(wrong, words):
    """D6: validated when built."""
    with pytest.raises(ConfigurationError, match=words):
        create_deep_agent(ScriptedModel(), subagents=[wrong])


def test_two_of_one_name_are_refused():
    """D6: duplicate subagent names."""
    with pytest.raises(ConfigurationError, match="Two subagents are named 'a'"):
        create_deep_agent(ScriptedModel(), subagents=[spec("a"), spec("a")])


def test_nested_subagents_see_files_through_two_levels():
    """D6: a subagent that has subagents of its own."""
    inner_model = ScriptedModel(
        [call("read_file", file_path="/a.md"), call("write_file", file_path="/b.md", content="deep"), say("read")]
    )
    middle_model = ScriptedModel([task("deep"), say("middle done")])
    deep = SubAgentMiddleware(
        subagents=[{"name": "deep", "description": "d", "runnable": create_deep_agent(inner_model)}],
    )
    model = ScriptedModel([task("middle"), say("ok")])
    middle = spec("middle", model=middle_model, middleware=[deep])
    final = create_deep_agent(model, subagents=[middle]).invoke({**ASK, "files": {"/a.md": "from the top"}})
    assert "from the top" in inner_model.asked[1].messages[-1].content
    assert final["files"]["/b.md"]["content"] == ["deep"]


def test_a_resumed_parent_does_not_repeat_finished_subagents():
    """D6: exactly one result each, also with a checkpointer."""
    model = ScriptedModel.by_agent(
        {"main": [calls(task("a"), task("b")), say("ok"), say("again")], "a": [say("A")], "b": [say("B")]}
    )
    agent = create_deep_agent(model, subagents=[spec("a"), spec("b")], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    agent.invoke(ASK, thread)
    final = agent.invoke({"messages": [HumanMessage("more")]}, thread)
    assert [result.content for result in tool_results(final)] == ["A", "B"]
    model.assert_finished()


def test_the_middleware_works_in_a_plain_agent():
    """Capabilities are not tied to the whole harness."""
    from langchain.agents import create_agent

    helper = ScriptedModel([say("helped")])
    spec = {"name": "helper", "description": "helps", "system_prompt": "help", "model": helper}
    model = ScriptedModel([call("task", description="x", subagent_type="helper"), say("ok")])
    final = create_agent(model, middleware=[SubAgentMiddleware(subagents=[spec])]).invoke({"messages": [("user", "go")]})
    assert final["messages"][-2].content == "helped"


def test_a_caller_s_file_tools_decide_where_subagents_write(tmp_path):
    """D6, D11: one place for files, also when it was given as middleware."""
    helper = ScriptedModel([call("write_file", file_path="/a.md", content="x"), say("done")])
    spec = {"name": "helper", "description": "helps", "system_prompt": "help", "model": helper}
    model = ScriptedModel([call("task", description="x", subagent_type="helper"), say("ok")])
    files = FilesystemMiddleware(backend=FilesystemBackend(root_dir=tmp_path))
    final = create_deep_agent(model, middleware=[files], subagents=[spec]).invoke({"messages": [("user", "go")]})
    assert (tmp_path / "a.md").read_text() == "x"
    assert not final.get("files")


@pytest.mark.parametrize(
    "refused",
    [
        call("edit_file", file_path="/a.md", old_string="not there", new_string="two"),
        call("write_file", file_path="/a.md", content="two"),
    ],
)
def test_a_refused_change_of_an_inherited_file_does_not_spoil_the_next_of_its_turn(refused):
    """D6, D13: the file is not in the subagent's own state yet, so the edit must bring all of it."""
    turn = calls(refused, call("edit_file", file_path="/a.md", old_string="one", new_string="three"))
    helper = ScriptedModel([turn, say("done")])
    spec = {"name": "helper", "description": "helps", "system_prompt": "help", "model": helper}
    model = ScriptedModel([call("task", description="x", subagent_type="helper"), say("ok")])
    final = create_deep_agent(model, subagents=[spec]).invoke({"messages": [("user", "go")], "files": {"/a.md": "one"}})
    assert {path: file["content"] for path, file in final["files"].items()} == {"/a.md": ["three"]}


def test_a_tool_that_answers_directly_answers_for_the_subagent():
    """D6: its result is the last message, not what the model said before it."""

    @tool(return_direct=True)
    def look_up() -> str:
        """The answer."""
        return "found it"

    helper = ScriptedModel([call("look_up").saying("let me look")])
    spec = {"name": "helper", "description": "helps", "system_prompt": "help", "model": helper, "tools": [look_up]}
    model = ScriptedModel([call("task", description="x", subagent_type="helper"), say("ok")])
    final = create_deep_agent(model, subagents=[spec]).invoke({"messages": [("user", "go")]})
    assert final["messages"][-2].content == "found it"


def test_langsmith_is_told_that_a_subagent_runs_and_other_callbacks_are_not():
    seen = []

    class Heard(BaseCallbackHandler):
        def on_chat_model_start(self, serialized, messages, *, metadata=None, **kwargs):
            seen.append((get_tracing_context()["metadata"], metadata))

    model = ScriptedModel.by_agent({"main": [task("scout"), say("ok")], "scout": [say("found")]})
    agent = create_deep_agent(model, subagents=[spec("scout")])
    with tracing_context(enabled="local"):
        agent.invoke(ASK, {"callbacks": [Heard()]})
    main, scout, _ = seen
    assert "ls_agent_type" not in (main[0] or {})
    assert scout[0]["ls_agent_type"] == "subagent"
    assert "ls_agent_type" not in scout[1]
