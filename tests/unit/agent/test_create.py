"""`create_deep_agent`: the signature of the mission, what it refuses, and that it returns a working graph."""

from __future__ import annotations

from typing import Any, NotRequired

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from stepwell import (
    ConfigurationError,
    DeepAgentState,
    FilesystemBackend,
    FilesystemMiddleware,
    StateBackend,
    ToolNameConflictError,
    create_deep_agent,
)
from stepwell.errors import InvalidRequestError
from stepwell.testing import ScriptedModel, call, say

ASK = {"messages": [("user", "go")]}


class Context(BaseModel):
    user: str


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_agent_is_a_compiled_graph_with_the_mission_s_recursion_limit():
    """D1: returns a compiled LangGraph graph, recursion limit 1000."""
    agent = create_deep_agent(ScriptedModel([say("hi")]))
    assert isinstance(agent, CompiledStateGraph)
    assert agent.config["recursion_limit"] == 1000


async def test_agent_runs_in_both_colours():
    """D1."""
    model = ScriptedModel([call("add", a=1, b=2), say("3")] * 2)
    agent = create_deep_agent(model, [add])
    assert agent.invoke(ASK)["messages"][-1].text == "3"
    assert (await agent.ainvoke(ASK))["messages"][-1].text == "3"
    model.assert_finished()


def test_older_names_are_accepted_and_mean_the_same():
    """D1: `instructions=`, `config_schema=`, `state_schema=` of the older forms, and `prompt` of a subagent."""

    class State(DeepAgentState):
        project: NotRequired[str]

    model = ScriptedModel.by_agent(
        {
            "main": [call("task", description="look", subagent_type="helper"), say("done")],
            "helper": [say("found")],
        }
    )
    agent = create_deep_agent(
        model,
        [add],
        instructions="You count things.",
        config_schema=Context,
        state_schema=State,
        subagents=[{"name": "helper", "description": "helps", "prompt": "You help."}],
    )
    final = agent.invoke({**ASK, "project": "p1"}, context=Context(user="u"))
    assert final["project"] == "p1"
    main, helper = model.asked[0], model.asked[1]
    assert main.system.startswith("You count things.")
    assert helper.system.startswith("You help.")


def test_the_early_positional_form_works():
    """D1: `create_deep_agent(tools, instructions, model, subagents, ...)`."""
    model = ScriptedModel([call("add", a=2, b=3), say("5")])
    for agent in (
        create_deep_agent([add], "You add.", model),
        create_deep_agent([add], "You add.", model=ScriptedModel([say("5")])),
    ):
        assert agent.invoke({"messages": [("user", "2 + 3?")]})["messages"][-1].text == "5"
    assert "You add." in model.asked[0].system
    with pytest.raises(TypeError, match="'tools' twice"):
        create_deep_agent([add], "You add.", tools=[add])


def test_an_argument_it_does_not_know_is_named_with_the_nearest_one():
    with pytest.raises(TypeError, match=r"no argument 'sytem_prompt'\. Did you mean 'system_prompt'\?"):
        create_deep_agent(ScriptedModel([]), sytem_prompt="You add.")


def test_a_backend_class_in_place_of_a_backend_is_refused():
    with pytest.raises(ConfigurationError, match=r"Pass an instance: FilesystemBackend\(\.\.\.\)"):
        create_deep_agent(ScriptedModel([]), backend=FilesystemBackend)


def test_new_and_older_name_together_are_refused():
    with pytest.raises(ConfigurationError, match="instructions is the older name of system_prompt"):
        create_deep_agent(ScriptedModel(), system_prompt="a", instructions="b")


def test_no_usable_model_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    monkeypatch.chdir(tmp_path)
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "STEPWELL_MODEL", "DEEPAGENTS_MODEL_PROVIDER"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError, match=r"(?i)model"):
        create_deep_agent()


def test_unknown_provider_is_named():
    with pytest.raises(ConfigurationError, match="nosuchprovider"):
        create_deep_agent("nosuchprovider:x")


def test_two_tools_of_one_name_are_refused_with_both_owners():
    """D2: LangChain lets the later one win silently; we do not."""

    @tool
    def read_file(path: str) -> str:
        """Mine."""
        return path

    with pytest.raises(ToolNameConflictError, match=r"FilesystemMiddleware.*the tools argument") as caught:
        create_deep_agent(ScriptedModel(), [read_file])
    assert caught.value.name == "read_file"
    with pytest.raises(ToolNameConflictError):
        create_deep_agent(ScriptedModel(), [add, add])


def test_what_is_not_a_tool_is_named():
    with pytest.raises(ConfigurationError, match="42 is not a tool"):
        create_deep_agent(ScriptedModel(), [42])  # type: ignore[list-item]


def test_a_function_without_a_docstring_is_refused_with_the_way_out():
    def silent(x: int) -> int:
        return x

    with pytest.raises(ConfigurationError, match=r"silent.*docstring"):
        create_deep_agent(ScriptedModel(), [silent])


def test_dict_tools_of_a_provider_reach_the_model():
    """D1: tools may be dicts."""
    model = ScriptedModel([say("ok")])
    create_deep_agent(model, [{"type": "web_search_20250305", "name": "web_search"}]).invoke(ASK)
    assert "web_search" in model.last_asked.tool_names


def test_structured_response_is_returned():
    """D14: structured responses."""

    class Verdict(BaseModel):
        """The verdict."""

        good: bool

    agent = create_deep_agent(ScriptedModel([call("Verdict", good=True)]), response_format=Verdict)
    assert agent.invoke(ASK)["structured_response"] == Verdict(good=True)


def test_context_schema_reaches_tools():
    """D14: context schema."""

    class Context(BaseModel):
        user: str

    @tool
    def whoami(runtime: ToolRuntime[Context, Any]) -> str:
        """Who asks."""
        return runtime.context.user

    agent = create_deep_agent(ScriptedModel([call("whoami"), say("ok")]), [whoami], context_schema=Context)
    assert agent.invoke(ASK, context=Context(user="ada"))["messages"][-2].content == "ada"


def test_node_cache_is_passed_on():
    """D14: cache."""
    from langgraph.cache.memory import InMemoryCache

    cache = InMemoryCache()
    assert create_deep_agent(ScriptedModel(), cache=cache).cache is cache


def test_backend_may_be_an_instance_or_a_factory():
    """D11: instance or factory."""
    for backend in (StateBackend(), lambda runtime: StateBackend(runtime)):
        model = ScriptedModel(
            [call("write_file", file_path="a.md", content="x"), call("read_file", file_path="/a.md"), say("ok")]
        )
        final = create_deep_agent(model, backend=backend).invoke(ASK)
        assert final["files"]["/a.md"]["content"] == ["x"]
        assert final["messages"][-2].content == "     1\tx"


def test_state_schema_must_be_a_typed_dict():
    with pytest.raises(ConfigurationError, match="state_schema must be a TypedDict"):
        create_deep_agent(ScriptedModel(), state_schema=int)


def test_system_message_with_blocks_is_kept():
    model = ScriptedModel([say("ok")])
    prompt = SystemMessage(content=[{"type": "text", "text": "Blocks.", "cache_control": {"type": "ephemeral"}}])
    create_deep_agent(model, system_prompt=prompt).invoke(ASK)
    system = model.last_asked.messages[0]
    assert system.content[0] == prompt.content[0]
    assert "## Files" in system.text


def test_plain_middleware_of_ours_works_in_any_create_agent():
    """Capabilities are not tied to the whole harness."""
    from langchain.agents import create_agent

    model = ScriptedModel([call("write_file", file_path="/a.md", content="x"), say("ok")])
    agent = create_agent(model, middleware=[FilesystemMiddleware()])
    final = agent.invoke(ASK)
    assert final["files"]["/a.md"]["content"] == ["x"]
    assert "## Files" in model.last_asked.system


def test_thread_keeps_files_and_todos_between_runs():
    """D3, D11: state is kept across turns of a thread."""
    todos = [{"content": "one", "status": "in_progress"}]
    model = ScriptedModel(
        [
            call("write_todos", todos=todos),
            call("write_file", file_path="/a.md", content="x"),
            say("one"),
            call("ls"),
            say("two"),
        ]
    )
    agent = create_deep_agent(model, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    agent.invoke(ASK, thread)
    final = agent.invoke({"messages": [HumanMessage("again")]}, thread)
    assert final["todos"] == todos
    assert final["messages"][-2].content == "/a.md (1 bytes)"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tools": add}, "tools is a function; it must be a list"),
        ({"middleware": FilesystemMiddleware()}, "middleware is a FilesystemMiddleware; it must be a list"),
        ({"middleware": [FilesystemMiddleware]}, r"Pass an instance: FilesystemMiddleware\(\.\.\.\)"),
        ({"middleware": [3]}, "A int is not middleware"),
        ({"backend": "/data"}, r"backend is a str\. Pass a backend, such as FilesystemBackend"),
        ({"system_prompt": 3}, "system_prompt is a int"),
        ({"interrupt_on": {"ls": "yes"}}, "interrupt_on of the agent says 'yes' for 'ls'. Write True"),
        (
            {"interrupt_on": {"ls": {"allowed_decisions": ["aprove"]}}},
            "unknown decisions for 'ls': aprove. Known decisions: approve",
        ),
        ({"interrupt_on": {"ls": {"allowed": ["approve"]}}}, "Write True, False or"),
    ],
)
def test_a_slip_in_an_argument_is_named_while_building(arguments: dict[str, Any], words: str):
    with pytest.raises(ConfigurationError, match=words):
        create_deep_agent(ScriptedModel(), **arguments)


def test_a_subagent_s_misspelt_model_is_refused_while_building():
    critic = {"name": "critic", "description": "Finds faults.", "system_prompt": "Find faults.", "model": "antropic:claude"}
    with pytest.raises(ConfigurationError, match=r"Subagent 'critic' cannot use its model.*Did you mean 'anthropic'"):
        create_deep_agent(ScriptedModel(), subagents=[critic])


def test_an_async_tool_in_a_sync_run_names_the_way_out():
    async def fetch() -> str:
        """Fetch it."""
        return "it"

    agent = create_deep_agent(ScriptedModel([call("fetch"), say("done")]), tools=[fetch])
    assert agent.invoke(ASK)["messages"][-2].text.endswith("The program must use ainvoke or astream.")


@pytest.mark.parametrize("given", ["hi", HumanMessage("hi"), [HumanMessage("hi")], [{"role": "user", "content": "hi"}]])
async def test_an_input_that_is_not_an_object_names_the_way_out(given: Any):
    agent = create_deep_agent(ScriptedModel([say("hello")]), checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    with pytest.raises(InvalidRequestError, match=r'\{"messages": \['):
        agent.invoke(given, thread)
    with pytest.raises(InvalidRequestError, match=r'\{"messages": \['):
        await agent.ainvoke(given, thread)
    assert agent.invoke(ASK, thread)["messages"][-1].text == "hello"
