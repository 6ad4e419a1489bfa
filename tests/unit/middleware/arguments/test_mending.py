"""Nearly right calls are repaired and say so; a call that was cut off is never made."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from stepwell import create_deep_agent
from stepwell.middleware.arguments.mending import REPAIRED
from stepwell.testing import ScriptedModel, say

USER = {"messages": [("user", "go")]}
THREAD = {"configurable": {"thread_id": "t"}}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])

ran: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def forget() -> None:
    ran.clear()


def order(items: list[str], count: int, options: dict[str, Any] | None = None) -> str:
    """Order items."""
    ran.append({"items": items, "count": count, "options": options})
    return "ordered"


def _search(**args: Any) -> str:
    ran.append(args)
    return "found"


# The form in which MCP servers describe their tools: no validation, no conversion.
search = StructuredTool(
    name="search",
    description="Search.",
    func=_search,
    args_schema={
        "type": "object",
        "properties": {
            "words": {"type": "array", "items": {"type": "string"}},
            "limit": {"type": "integer"},
            "filter": {"type": "object", "properties": {"year": {"type": "integer"}}},
            "exact": {"type": "boolean"},
            "text": {"type": "string"},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["words"],
    },
)


def broken(name: str, args: str, call_id: str = "c1"):
    return invalid_tool_call(name=name, args=args, id=call_id, error=None)


def answer(*invalid: Any, calls: Any = (), reason: str | None = "tool_calls") -> AIMessage:
    metadata = {"finish_reason": reason} if reason else {}
    return AIMessage("", invalid_tool_calls=list(invalid), tool_calls=list(calls), response_metadata=metadata)


def valid(name: str, call_id: str = "v1", **args: Any):
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


async def run(agent, given=USER, config=None, *, is_async=True, streamed=False) -> dict[str, Any]:
    if streamed:
        last: Any = None
        async for mode, data in agent.astream(given, config, stream_mode=["messages", "values"]):
            last = data if mode == "values" else last
        return last
    if is_async:
        return await agent.ainvoke(given, config)
    return await asyncio.to_thread(agent.invoke, given, config)


@COLOURS
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{'items': ['milk'], 'count': 2}", "single quotes became double quotes"),
        ('{"items": ["milk",], "count": 2,}', "a trailing comma was removed"),
        ('{"items": ["milk"], "count": 2, "options": None}', "Python's"),
        ('```json\n{"items": ["milk"], "count": 2}\n```', "a code fence was removed"),
        ('{"count": 2, "items": ["milk"]', "missing closing brackets were added"),
        ('{"items": "milk", "count": 2,}', "items became a list"),
        ("{'items': '[\"milk\"]', 'count': '2'}", "items became a list"),
        (json.dumps("{'items': ['milk'], 'count': 2}"), "the JSON was taken out of a string"),
    ],
)
async def test_a_nearly_right_call_runs_and_its_result_says_what_was_repaired(is_async, text, says):
    model = ScriptedModel([answer(broken("order", text)), say("Done.")])
    state = await run(create_deep_agent(model, [order]), is_async=is_async)
    assert [(each["items"], each["count"]) for each in ran] == [(["milk"], 2)]
    _, asked, result, _ = state["messages"]
    assert result.text.startswith("ordered\n\n(The arguments of this call were repaired: ")
    assert says in result.text
    assert says in asked.additional_kwargs[REPAIRED]["c1"]
    assert says in result.additional_kwargs[REPAIRED]
    assert asked.invalid_tool_calls == []
    model.assert_finished()


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        ({"words": "a"}, {"words": ["a"]}),
        ({"words": '["a", "b"]'}, {"words": ["a", "b"]}),
        ({"words": ["a"], "limit": "5"}, {"words": ["a"], "limit": 5}),
        ({"words": ["a"], "filter": '{"year": "1999"}'}, {"words": ["a"], "filter": {"year": 1999}}),
        ({"words": ["a"], "exact": "True"}, {"words": ["a"], "exact": True}),
    ],
)
def test_arguments_in_the_wrong_form_are_fitted_to_the_schema(given, runs):
    model = ScriptedModel([answer(calls=[valid("search", **given)]), say("Done.")])
    state = create_deep_agent(model, [search]).invoke(USER)
    assert ran == [runs]
    assert "were repaired" in state["messages"][2].text


@pytest.mark.parametrize(
    "given",
    [
        {"words": ["a"], "text": "[1]"},
        {"words": ["a"], "text": "5"},
        {"words": ["a"], "either": "5"},
        {"words": ["a"], "limit": "five"},
        {"words": ["a"], "unknown": "5"},
    ],
)
def test_what_the_schema_allows_and_what_cannot_be_fitted_stays(given):
    model = ScriptedModel([answer(calls=[valid("search", **given)]), say("Done.")])
    state = create_deep_agent(model, [search]).invoke(USER)
    assert ran == [given]
    assert state["messages"][2].text == "found"


@pytest.mark.parametrize(
    "given",
    [
        {"items": "['a', 'b']"},
        {"items": '["a", "b"'},
        {"items": "a, b"},
        {"items": "- a\n- b"},
        {"items": "* a"},
        {"items": ""},
        {"items": " "},
        {"items": ["a"], "options": '{"to": "ann", "to": "bob"}'},
        {"items": ["a"], "options": '{"who": {"to": "ann", "to": "bob"}}'},
    ],
    ids=str,
)
def test_what_could_mean_two_things_is_not_repaired_but_answered(given):
    model = ScriptedModel([answer(calls=[valid("order", count=1, **given)]), say("Done.")])
    state = create_deep_agent(model, [order]).invoke(USER)
    assert ran == []
    result = state["messages"][2]
    assert result.status == "error"
    assert "Please fix the error" in result.text


def test_what_a_tool_accepts_by_itself_is_not_called_a_repair():
    model = ScriptedModel([answer(calls=[valid("order", items=["milk"], count="2")]), say("Done.")])
    state = create_deep_agent(model, [order]).invoke(USER)
    assert ran[0]["count"] == 2
    assert state["messages"][2].text == "ordered"


@pytest.mark.parametrize(
    "text",
    [
        "{'items': ['milk']}",
        "{'items': ['milk'], 'count': 'two'}",
        "{'items': ['milk'], 'count': 2, 'colour': 'red'}",
        "['milk', 2]",
    ],
)
def test_a_call_that_the_tool_would_reject_is_not_repaired(text):
    model = ScriptedModel([answer(broken("order", text)), say("In words.")])
    state = create_deep_agent(model, [order]).invoke(USER)
    assert ran == []
    assert [message.text for message in state["messages"]] == ["go", "In words."]
    assert "not valid JSON" in model.last_asked.human


@COLOURS
async def test_approvals_show_the_repaired_call(is_async):
    model = ScriptedModel([answer(broken("order", "{'items': 'milk', 'count': 2,}")), say("Done.")])
    agent = create_deep_agent(model, [order], interrupt_on={"order": True}, checkpointer=InMemorySaver())
    paused = await run(agent, USER, THREAD, is_async=is_async)
    shown = paused["__interrupt__"][0].value["action_requests"][0]
    assert shown["args"] == {"items": ["milk"], "count": 2}
    state = await run(agent, Command(resume={"decisions": [{"type": "approve"}]}), THREAD, is_async=is_async)
    assert len(ran) == 1
    assert "were repaired" in state["messages"][2].text


@COLOURS
async def test_a_call_that_cannot_be_read_beside_one_that_can_gets_a_result(is_async):
    model = ScriptedModel(
        [answer(broken("order", '{"items": "say "hi""}'), calls=[valid("order", items=["milk"], count=1)]), say("Done.")]
    )
    agent = create_deep_agent(model, [order], interrupt_on={"order": True}, checkpointer=InMemorySaver())
    paused = await run(agent, USER, THREAD, is_async=is_async)
    assert len(paused["__interrupt__"][0].value["action_requests"]) == 1, "nobody is asked about a call that is not made"
    state = await run(agent, Command(resume={"decisions": [{"type": "approve"}]}), THREAD, is_async=is_async)
    results = {message.tool_call_id: message for message in state["messages"] if message.type == "tool"}
    assert results["v1"].text == "ordered"
    assert results["c1"].status == "error"
    assert "not valid JSON" in results["c1"].text
    assert len(ran) == 1


# A cut answer

FILE = json.dumps({"file_path": "/a.md", "content": 'A "quoted" word,\nand {more} of it.', "overwrite": True})


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "model_context_window_exceeded", "content_filter", "error"])
async def test_half_a_file_is_never_written(streamed, reason):
    cut = answer(broken("write_file", FILE[:40]), reason=reason)
    model = ScriptedModel([cut, say("I will split it.")])
    state = await run(create_deep_agent(model), streamed=streamed)
    assert not state["files"]
    result = state["messages"][2]
    assert result.status == "error"
    assert "nothing was changed" in result.text
    assert state["messages"][1].tool_calls[0]["args"] == {}


@pytest.mark.prove
@pytest.mark.parametrize("reason", ["length", "max_tokens"])
async def test_no_cut_of_a_streamed_call_has_an_effect(reason, effort):
    """Every place where the answer may end, the very end included: providers may say `length` there too, and then it is not made."""
    step = max(1, len(FILE) // effort.cases(12, 10_000))
    for end in [*range(1, len(FILE), step), len(FILE)]:
        model = ScriptedModel([answer(broken("write_file", FILE[:end]), reason=reason), say("Ok."), say("Ok.")])
        state = await run(create_deep_agent(model), streamed=True)
        assert not state["files"], FILE[:end]


@pytest.mark.prove
@pytest.mark.parametrize("reason", [None, "length", "stop", "tool_calls"])
def test_no_cut_of_a_whole_answer_has_an_effect(reason, effort):
    """A provider that does not stream keeps the text. Only an answer that the model finished itself may lack brackets, and nothing else."""
    text = FILE.replace('"', "'").replace("\\'", "")
    step = max(1, len(text) // effort.cases(12, 10_000))
    for whole in (FILE, text):
        for end in range(1, len(whole), step):
            model = ScriptedModel([answer(broken("write_file", whole[:end]), reason=reason), say("Ok."), say("Ok.")])
            state = create_deep_agent(model).invoke(USER)
            if state["files"]:
                assert reason in ("stop", "tool_calls")
                assert "".join(state["files"]["/a.md"]["content"]).endswith("of it.")


@pytest.mark.prove
@pytest.mark.parametrize("reason", [None, "tool_calls"])
async def test_no_cut_of_a_stream_that_does_not_say_so_has_an_effect(reason, effort):
    """LangChain closes what is open. A connection that just ends says nothing, and some servers say that all is well."""
    step = max(1, len(FILE) // effort.cases(12, 10_000))
    for end in range(1, len(FILE), step):
        model = ScriptedModel([answer(broken("write_file", FILE[:end]), reason=reason), say("Ok."), say("Ok.")])
        state = await run(create_deep_agent(model), streamed=True)
        if state["files"]:
            assert reason == "tool_calls"
            assert FILE[:end].endswith("true")  # only the bracket was missing
    model = ScriptedModel([answer(broken("write_file", FILE), reason=reason), say("Ok.")])
    assert (await run(create_deep_agent(model), streamed=True))["files"]


class Report(BaseModel):
    text: str


@pytest.mark.parametrize("reason", ["length", None])
async def test_half_a_structured_answer_is_none(reason):
    cut = answer(broken("Report", '{"text": "First ha'), reason=reason)
    whole = answer(calls=[valid("Report", "v2", text="First half.")])
    state = await run(create_deep_agent(ScriptedModel([cut, whole]), response_format=ToolStrategy(Report)), streamed=True)
    assert state["structured_response"] == Report(text="First half.")
    assert "First ha'" not in str(state["messages"])


RESPONSE = {
    "id": "r1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "status": "in_progress",
    "incomplete_details": None,
}


def responses_api(*bodies: list[dict[str, Any]]) -> httpx.Client:
    """A server that speaks the Responses API and answers with these streams."""
    left = iter(bodies)

    def serve(request: httpx.Request) -> httpx.Response:
        events = [{"sequence_number": number, **event} for number, event in enumerate(next(left))]
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    return httpx.Client(transport=httpx.MockTransport(serve))


@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter", None], ids=str)
def test_half_a_call_of_the_responses_api_is_not_made(reason):
    item = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": "write_file", "arguments": ""}
    half = {**item, "arguments": FILE[:60], "status": "incomplete"}
    ended = {**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": reason}, "output": [half]}
    cut: list[dict[str, Any]] = [
        {"type": "response.created", "response": RESPONSE},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc1", "delta": FILE[:60]},
    ]
    if reason:
        cut.append({"type": "response.incomplete", "response": ended})
    text = {"type": "response.output_text.delta", "output_index": 0, "item_id": "m1", "content_index": 0, "logprobs": []}
    done: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**RESPONSE, "id": "r2"}},
        {**text, "delta": "Sorry."},
        {"type": "response.completed", "response": {**RESPONSE, "id": "r2", "status": "completed"}},
    ]
    with responses_api(cut, done) as client:
        model = ChatOpenAI(
            model="gpt-5", api_key="k", use_responses_api=True, streaming=True, http_client=client, max_retries=0
        )
        state = create_deep_agent(model).invoke(USER)
    assert not state["files"]
    assert state["messages"][-1].text == "Sorry."


async def test_calls_before_the_cut_are_made():
    model = ScriptedModel(
        [
            answer(
                calls=[valid("order", "v1", items=["milk"], count=1), valid("order", "v2", items=["bre"], count=1)],
                reason="length",
            ),
            say("Done."),
        ]
    )
    agent = create_deep_agent(model, [order], interrupt_on={"order": True}, checkpointer=InMemorySaver())
    paused = await run(agent, USER, THREAD)
    assert len(paused["__interrupt__"][0].value["action_requests"]) == 1
    state = await run(agent, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    assert [each["items"] for each in ran] == [["milk"]]
    results = {message.tool_call_id: message.status for message in state["messages"] if message.type == "tool"}
    assert results == {"v1": "success", "v2": "error"}


async def test_nobody_is_asked_about_the_only_call_if_it_was_cut():
    model = ScriptedModel([answer(calls=[valid("order", items=["milk"], count=1)], reason="length"), say("Done.")])
    agent = create_deep_agent(model, [order], interrupt_on={"order": True}, checkpointer=InMemorySaver())
    state = await run(agent, USER, THREAD)
    assert "__interrupt__" not in state
    assert state["messages"][-1].text == "Done."
    assert ran == []
