"""Agents are what LangChain's `create_agent` builds, built with less work, and share nothing but what is the same in both."""

from __future__ import annotations

import gc
import weakref
from inspect import isfunction
from typing import Annotated, Any, NotRequired

import pytest
from langchain.agents import create_agent, factory
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import StructuredTool, tool
from langgraph.graph.state import StateGraph
from langgraph.prebuilt import InjectedState, ToolNode

from stepwell import CashuPaymentMiddleware, DeepAgentState, FilesystemMiddleware, PatchToolCallsMiddleware, create_deep_agent
from stepwell.agent import loop
from stepwell.agent.loop import build_loop, is_known
from stepwell.payments.ledger.memory import MemoryLedger
from stepwell.payments.meter import WalletMeter
from stepwell.payments.pricing import FlatPrice
from stepwell.payments.wallet.wallet import Wallet
from stepwell.testing import ScriptedModel, call, say

ASK = {"messages": [("user", "go")]}


class Theirs(AgentMiddleware):
    def wrap_model_call(self, request, handler):
        return handler(request)

    async def awrap_model_call(self, request, handler):
        return await handler(request)

    def wrap_tool_call(self, request, handler):
        return handler(request)

    async def awrap_tool_call(self, request, handler):
        return await handler(request)


class WithColour(DeepAgentState):
    colour: NotRequired[str]


class WithSize(DeepAgentState):
    size: NotRequired[int]


@pytest.fixture
def ordinary(monkeypatch):
    """A function that builds a deep agent where the names in LangChain are not the expected ones."""

    def build(*args, **kwargs):
        with monkeypatch.context() as changed:
            changed.setitem(loop._KNOWN, (factory, "_resolve_schemas"), ("something_new",))
            assert not is_known()
            return create_deep_agent(*args, **kwargs)

    return build


@tool
def len_of(text: str) -> int:
    """Length."""
    return len(text)


def traced_hooks(agent) -> list[str]:
    """The names of the middleware whose hooks LangChain's tracing wrapper is around."""
    node = agent.nodes["tools"].bound
    model = agent.nodes["model"].bound
    found, seen = [], set()
    waiting = [model.func, model.afunc, node._wrap_tool_call, node._awrap_tool_call]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if getattr(each, "__langsmith_traceable__", False):
            found.append(type(each.__wrapped__.__self__).__name__)
        elif isfunction(each) and each.__module__ == factory.__name__:
            waiting += [cell.cell_contents for cell in each.__closure__ or ()]
    return found


def description_of(agent) -> dict[str, Any]:
    return {
        "graph": agent.get_graph().to_json(),
        "input": agent.get_input_jsonschema(),
        "output": agent.get_output_jsonschema(),
        "context": agent.get_context_jsonschema(),
        "channels": {name: (type(channel), channel.key) for name, channel in agent.channels.items()},
        "nodes": {name: (type(node.bound), node.triggers, node.channels) for name, node in agent.nodes.items()},
        "subgraphs": {name: node.subgraphs for name, node in agent.nodes.items()},
        "tools": {name: vars(agent.nodes["tools"].bound)["_injected_args"][name] for name in tools_of(agent)},
        "builder": type(agent.builder),
        "schemas": [list(schema) for schema in agent.builder.schemas.values()],
    }


def tools_of(agent):
    return agent.nodes["tools"].bound.tools_by_name


def test_the_installed_langchain_and_langgraph_have_the_replaced_names():
    """Pins the private names of both: if this fails, building an agent costs more again."""
    assert is_known()


@pytest.mark.parametrize(
    "options",
    [{}, {"state_schema": WithColour, "context_schema": WithSize}, {"middleware": [Theirs()]}, {"response_format": WithSize}],
)
def test_an_agent_is_described_as_langchain_would_build_it(ordinary, options):
    cheap = [create_deep_agent(ScriptedModel(), [len_of], **options) for _ in range(2)]
    plain = description_of(ordinary(ScriptedModel(), [len_of], **options))
    assert [description_of(agent) for agent in cheap] == [plain, plain]


def test_an_agent_on_other_versions_works(ordinary):
    agent = ordinary(ScriptedModel([call("len_of", text="abc"), say("3")]), [len_of])
    assert agent.invoke(ASK)["messages"][-2].content == "3"


def test_a_name_that_another_package_has_replaced_in_langchain_is_respected(monkeypatch):
    built = []

    class Watched(ToolNode):
        def __init__(self, *args, **options):
            built.append(self)
            super().__init__(*args, **options)

    create_deep_agent(ScriptedModel(), [len_of])
    monkeypatch.setattr(factory, "ToolNode", Watched)
    assert create_deep_agent(ScriptedModel(), [len_of]).nodes["tools"].bound in built


def test_langchain_s_own_agents_stay_as_they_were():
    create_deep_agent(ScriptedModel(), [len_of])
    agent = create_agent(ScriptedModel(), [len_of], middleware=[FilesystemMiddleware()])
    assert set(traced_hooks(agent)) == {"FilesystemMiddleware"}


@pytest.mark.parametrize("theirs_first", [True, False])
def test_a_caller_s_hooks_are_traced_and_ours_are_not(theirs_first):
    stack = [PatchToolCallsMiddleware(), Theirs()]
    agent = build_loop(ScriptedModel(), [len_of], middleware=stack[::-1] if theirs_first else stack)
    assert traced_hooks(agent) == ["Theirs"] * 4
    assert traced_hooks(build_loop(ScriptedModel(), middleware=[FilesystemMiddleware()])) == []


def test_a_paid_call_costs_no_tracing_either():
    """It runs around every model call, and is measured."""
    ledger = MemoryLedger()
    payment = CashuPaymentMiddleware(WalletMeter(Wallet(ledger, [], bytes(32)), FlatPrice(1)))
    assert traced_hooks(build_loop(ScriptedModel(), [len_of], middleware=[payment])) == []
    ledger.close()


async def test_agents_with_a_caller_s_hooks_still_work():
    agent = create_deep_agent(ScriptedModel([call("len_of", text="abc"), say("3")] * 2), [len_of], middleware=[Theirs()])
    assert agent.invoke(ASK)["messages"][-2].content == "3"
    assert (await agent.ainvoke(ASK))["messages"][-2].content == "3"


def test_a_graph_that_a_caller_s_hook_calls_is_found():
    inner = create_agent(ScriptedModel())

    class Asks(AgentMiddleware):
        def before_agent(self, state, runtime):
            inner.invoke(state)

    agent = create_deep_agent(ScriptedModel(), middleware=[Asks()])
    assert agent.nodes["Asks.before_agent"].subgraphs == [inner]


def test_a_builder_can_be_compiled_again():
    agent = create_deep_agent(ScriptedModel([say("Hello.")]))
    assert type(agent.builder) is StateGraph
    assert agent.builder.compile().invoke(ASK)["messages"][-1].content == "Hello."


def test_agents_with_different_schemas_have_different_state():
    first, second, third = (create_deep_agent(ScriptedModel(), state_schema=kind) for kind in (WithColour, WithSize, None))
    assert [("colour" in each.channels, "size" in each.channels) for each in (first, second, third)] == [
        (True, False),
        (False, True),
        (False, False),
    ]


def test_agents_of_the_same_kind_share_no_state():
    writes = [call("write_file", file_path="/a.md", content="x"), say("Done.")]
    first, second = create_deep_agent(ScriptedModel(writes)), create_deep_agent(ScriptedModel([say("Nothing.")]))
    assert first.invoke(ASK)["files"]
    assert not second.invoke(ASK).get("files")
    assert first.channels is not second.channels
    assert tools_of(first) is not tools_of(second)


def test_tools_made_by_one_function_keep_their_own_injected_arguments():
    def make(field: str):
        def look(value: Any) -> str:
            """Look."""
            return f"{value}"

        look.__annotations__ = {"value": Annotated[Any, InjectedState(field)], "return": str}
        return StructuredTool.from_function(look, name="look")

    fields = ["messages", "files", "messages"]
    nodes = [create_deep_agent(ScriptedModel(), [make(field)]).nodes["tools"].bound for field in fields]
    assert [node._injected_args["look"].state for node in nodes] == [{"value": field} for field in fields]


def test_no_cache_keeps_an_agent_its_model_or_its_tools():
    def build():
        def look(text: str) -> str:
            """Look."""
            return text

        agent = create_deep_agent(model := ScriptedModel(), [made := StructuredTool.from_function(look)])
        return [weakref.ref(each) for each in (agent, model, made, look)]

    held = build()
    gc.collect()
    assert [ref() for ref in held] == [None] * 4
