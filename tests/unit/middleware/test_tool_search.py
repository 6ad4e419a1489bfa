"""Deferred tools: what a model is offered, what a search loads, and what a call of a tool that is not loaded gets."""

from __future__ import annotations

import itertools
import json

import pytest
from benchmarks.many_tools import many_tools
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import ConfigurationError, ToolNameConflictError, ToolSearchMiddleware, create_deep_agent, default_stack
from stepwell.backends.state import StateBackend
from stepwell.middleware.request import RequestMiddleware
from stepwell.models.token_count import CHARS_PER_TOKEN
from stepwell.testing import ScriptedModel, call, calls, expect, say
from stepwell.tools.effects import with_effect

ASK = {"messages": [("user", "go")]}
THREAD = {"configurable": {"thread_id": "1"}}


@tool(extras={"defer_loading": True})
def book_flight(city: str) -> str:
    """Book a flight to a city."""
    return f"booked {city}"


@tool(extras={"defer_loading": True})
def water_plants(litres: int) -> str:
    """Give the plants some water."""
    return f"{litres} litres"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def search(query):
    return call("tool_search", query=query)


def results(final):
    return [message for message in final["messages"] if message.type == "tool"]


def sent(asked):
    """The tools as a provider gets them."""
    return json.dumps(asked.tool_schemas, separators=(",", ":"), ensure_ascii=False)


def test_deferred_tools_are_searched_loaded_and_called():
    model = ScriptedModel([search("a flight to Rome"), call("book_flight", city="Rome"), say("done")])
    final = create_deep_agent(model, [add, book_flight, water_plants]).invoke(ASK)
    first, second, third = (asked.tool_names for asked in model.asked)
    assert "add" in first
    assert "tool_search" in first
    assert "book_flight" not in first
    assert "water_plants" not in first
    assert second == [*first, "book_flight"]
    assert third == second
    assert [result.text for result in results(final)] == [
        "Loaded: book_flight. Call them like your other tools.",
        "booked Rome",
    ]
    assert "loaded_tools" not in final


async def test_deferred_tools_in_async_code():
    model = ScriptedModel([search("flight"), call("book_flight", city="Rome"), say("done")])
    final = await create_deep_agent(model, [book_flight]).ainvoke(ASK)
    assert results(final)[-1].text == "booked Rome"


def test_a_call_of_a_tool_that_is_not_loaded_says_how_to_load_it():
    model = ScriptedModel([call("book_flight", city="Rome"), say("done")])
    final = create_deep_agent(model, [book_flight, water_plants]).invoke(ASK)
    (result,) = results(final)
    assert result.status == "error"
    assert "book_flight is not loaded" in result.text
    assert "tool_search(query='select:book_flight')" in result.text


async def test_a_name_that_does_not_exist_lists_no_deferred_tools():
    model = ScriptedModel([call("fly", city="Rome"), say("done")])
    final = await create_deep_agent(model, many_tools(178)).ainvoke(ASK)
    (result,) = results(final)
    assert result.text == "Error: there is no tool 'fly'. Look for one with tool_search(query)."


def test_a_tool_that_other_middleware_runs_itself_is_left_alone():
    class Runs(RequestMiddleware):
        def wrap_tool_call(self, request, handler):
            if request.tool_call["name"] != "made_up":
                return handler(request)
            return ToolMessage("made up", tool_call_id=request.tool_call["id"])

    model = ScriptedModel([call("made_up"), call("fly"), say("done")])
    final = create_deep_agent(model, [book_flight], middleware=[Runs()]).invoke(ASK)
    assert [result.text for result in results(final)] == [
        "made up",
        "Error: there is no tool 'fly'. Look for one with tool_search(query).",
    ]


def test_tools_are_loaded_by_name():
    model = ScriptedModel([search("select: water_plants, book_flight, nothing"), say("done")])
    final = create_deep_agent(model, [book_flight, water_plants]).invoke(ASK)
    assert model.asked[1].tool_names[-2:] == ["water_plants", "book_flight"]
    assert results(final)[0].text.startswith("Loaded: water_plants, book_flight. There is no tool 'nothing'.")


@pytest.mark.parametrize("form", ["select:{}", "{}"])
def test_a_search_for_too_many_names_says_which_are_not_loaded(form):
    tools = many_tools(23)
    names = [tool.name for tool in tools]
    model = ScriptedModel([search(form.format(",".join(names))), say("done")])
    final = create_deep_agent(model, tools).invoke(ASK)
    said = results(final)[0].text
    assert said.startswith(f"Loaded: {', '.join(names[:20])}. ")
    assert f"Not loaded, because one search loads at most 20: {', '.join(names[20:])}. Search for them again." in said


def test_a_search_without_a_match_says_what_there_is():
    model = ScriptedModel([search("zeppelin"), search("select:zeppelin"), say("done")])
    final = create_deep_agent(model, [book_flight, water_plants]).invoke(ASK)
    for result in results(final):
        assert result.status == "error"
        assert "There are 2 to find: book_flight, water_plants." in result.text
    assert model.asked[0].tool_names == model.asked[2].tool_names


def test_loaded_tools_stay_loaded_for_the_thread_and_only_there():
    saver = InMemorySaver()
    model = ScriptedModel([search("flight"), say("1"), call("book_flight", city="Rome"), say("2"), say("3")])
    create_deep_agent(model, [book_flight, water_plants], checkpointer=saver).invoke(ASK, THREAD)
    agent = create_deep_agent(model, [book_flight, water_plants], checkpointer=saver)
    assert results(agent.invoke(ASK, THREAD))[-1].text == "booked Rome"
    agent.invoke(ASK, {"configurable": {"thread_id": "2"}})
    assert "book_flight" not in model.last_asked.tool_names


def test_the_prefix_only_grows_at_its_end_over_ten_turns():
    tools = many_tools(178)
    queries = ["create a github issue", "search slack", "github issue", "delete an invoice", "select:wiki_get_page"]
    script = [turn for query in queries for turn in (search(query), say("ok"))]
    model = ScriptedModel(script)
    agent = create_deep_agent(model, [add, *tools], checkpointer=InMemorySaver())
    for _ in queries:
        agent.invoke(ASK, THREAD)
    assert len(model.asked) == 10
    assert len({asked.system for asked in model.asked}) == 1
    lists = [sent(asked)[:-1] for asked in model.asked]
    assert all(after.startswith(before) for before, after in itertools.pairwise(lists))
    assert len(lists[-1]) > len(lists[0])


def test_178_tools_cost_at_most_200_tokens_more_than_none():
    def cost(tools):
        model = ScriptedModel([say("hello")])
        create_deep_agent(model, tools).invoke({"messages": [("user", "hello")]})
        return (len(model.last_asked.system) + len(sent(model.last_asked))) / CHARS_PER_TOKEN

    assert 0 < cost(many_tools(178)) - cost([]) <= 200
    assert cost(many_tools(178, deferred=False)) - cost([]) > 10_000


def test_without_deferred_tools_the_stack_is_as_before():
    model = ScriptedModel([])
    for tools in ([], [add], [add, *many_tools(3, deferred=False)]):
        stack = default_stack(model, backend=StateBackend(), tools=tools)
        assert not any(isinstance(entry, ToolSearchMiddleware) for entry in stack)
    model = ScriptedModel([say("hello")])
    create_deep_agent(model, [add]).invoke(ASK)
    assert "tool_search" not in model.last_asked.tool_names


def test_a_subagent_s_loads_are_its_own():
    model = ScriptedModel.by_agent(
        {
            "main": [
                search("water"),
                call("task", description="fly", subagent_type="general-purpose"),
                expect(lambda asked: asked.tool_names[-1:] == ["water_plants"], then=say("done")),
            ],
            "general-purpose": [
                expect(lambda asked: "water_plants" not in asked.tool_names, then=search("flight")),
                expect(lambda asked: asked.tool_names[-1] == "book_flight", then=call("book_flight", city="Rome")),
                say("flown"),
            ],
        }
    )
    final = create_deep_agent(model, [book_flight, water_plants]).invoke(ASK)
    model.assert_finished()
    assert results(final)[-1].text == "flown"


def test_a_subagent_may_have_deferred_tools_of_its_own():
    traveller = {"name": "traveller", "description": "travels", "system_prompt": "Travel.", "tools": [book_flight]}
    model = ScriptedModel.by_agent(
        {
            "main": [call("task", description="fly", subagent_type="traveller"), say("done")],
            "traveller": [search("flight"), call("book_flight", city="Rome"), say("flown")],
        }
    )
    create_deep_agent(model, [add], subagents=[traveller]).invoke(ASK)
    model.assert_finished()
    main, own = model.asked[0].tool_names, model.asked[1].tool_names
    assert "tool_search" not in main
    assert "tool_search" in own


def test_tools_of_middleware_can_be_deferred():
    class Garden(RequestMiddleware):
        tools = (water_plants,)

    model = ScriptedModel([search("water the plants"), call("water_plants", litres=2), say("done")])
    final = create_deep_agent(model, middleware=[Garden()]).invoke(ASK)
    assert results(final)[-1].text == "2 litres"


def test_a_plain_agent_can_search_too():
    model = ScriptedModel([search("flight"), call("book_flight", city="Rome"), say("done")])
    final = create_agent(model, [add, book_flight], middleware=[ToolSearchMiddleware()]).invoke(ASK)
    assert [asked.tool_names for asked in model.asked[:2]] == [["add", "tool_search"], ["add", "tool_search", "book_flight"]]
    assert results(final)[-1].text == "booked Rome"


def test_a_callers_own_tool_search_takes_the_place_of_the_default():
    model = ScriptedModel([search("flight"), say("done")])
    create_deep_agent(model, [book_flight], middleware=[ToolSearchMiddleware(native=False)]).invoke(ASK)
    assert model.asked[1].tool_names.count("tool_search") == 1


def test_two_searches_of_one_turn_both_load():
    model = ScriptedModel([calls(search("flight"), search("plants")), say("done")])
    create_deep_agent(model, [book_flight, water_plants]).invoke(ASK)
    assert model.asked[1].tool_names[-2:] == ["book_flight", "water_plants"]


def test_a_second_search_says_what_was_loaded_before():
    model = ScriptedModel([search("flight"), search("flight"), say("done")])
    final = create_deep_agent(model, [book_flight, water_plants]).invoke(ASK)
    assert results(final)[-1].text == "Already loaded: book_flight. Call them like your other tools."


def test_loaded_tools_need_approval_as_any_other_and_unloaded_ones_ask_nobody():
    model = ScriptedModel([call("book_flight", city="Rome"), search("flight"), call("book_flight", city="Rome"), say("done")])
    agent = create_deep_agent(model, [book_flight], interrupt_on={"book_flight": True}, checkpointer=InMemorySaver())
    paused = agent.invoke(ASK, THREAD)
    (interrupt,) = paused["__interrupt__"]
    assert interrupt.value["action_requests"][0]["name"] == "book_flight"
    assert [result.name for result in results(paused)] == ["book_flight", "tool_search"]
    final = agent.invoke(Command(resume={interrupt.id: {"decisions": [{"type": "approve"}]}}), THREAD)
    assert results(final)[-1].text == "booked Rome"


def test_a_rule_of_the_caller_still_decides_about_loaded_tools():
    model = ScriptedModel([search("flight"), call("book_flight", city="Rome"), call("book_flight", city="Oslo"), say("done")])
    rule = {"allowed_decisions": ["approve"], "when": lambda request: request.tool_call["args"]["city"] == "Oslo"}
    agent = create_deep_agent(model, [book_flight], interrupt_on={"book_flight": rule}, checkpointer=InMemorySaver())
    paused = agent.invoke(ASK, THREAD)
    assert results(paused)[-1].text == "booked Rome"
    assert paused["__interrupt__"][0].value["action_requests"][0]["args"] == {"city": "Oslo"}


def test_approvals_know_deferred_names_and_the_search():
    create_deep_agent(ScriptedModel([]), [book_flight], interrupt_on={"book_flight": True, "tool_search": True})
    with pytest.raises(ConfigurationError, match="unknown tools: book_flihgt"):
        create_deep_agent(ScriptedModel([]), [book_flight], interrupt_on={"book_flihgt": True})
    with pytest.raises(ConfigurationError, match="unknown tools: tool_search"):
        create_deep_agent(ScriptedModel([]), [add], interrupt_on={"tool_search": True})


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ToolNameConflictError, match="book_flight"):
        create_deep_agent(ScriptedModel([]), [book_flight, book_flight])

    @tool
    def tool_search(query: str) -> str:
        """Search tools of the shed."""
        return query

    with pytest.raises(ToolNameConflictError, match="rename yours"):
        create_deep_agent(ScriptedModel([]), [book_flight, tool_search])


def test_a_deferred_tool_with_an_effect_is_journaled():
    stack = default_stack(ScriptedModel([]), backend=StateBackend(), tools=[with_effect("once")(water_plants)])
    names = [entry.name for entry in stack]
    assert names.index("ToolSearchMiddleware") < names.index("EffectsMiddleware")


def test_a_tool_that_is_searched_and_called_in_one_turn_is_not_run_without_approval():
    turn = calls(search("select:book_flight"), call("book_flight", city="Rome"))
    model = ScriptedModel([turn, say("done")])
    agent = create_deep_agent(model, [book_flight], interrupt_on={"book_flight": True}, checkpointer=InMemorySaver())
    final = agent.invoke(ASK, THREAD)
    assert "book_flight is not loaded" in results(final)[1].text
