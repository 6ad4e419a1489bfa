"""Models that do not do as they are told, on a plain deep agent."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import BudgetMiddleware, create_deep_agent
from stepwell.middleware.clarify import ClarifyWithHumanMiddleware
from stepwell.middleware.own_words import is_own_answer
from stepwell.middleware.turns import read_stall
from stepwell.testing import ScriptedModel, call, calls, repeat, say

GO = {"messages": [("user", "go")]}
COLOURS = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
STOPPED = "I stopped, because I was getting nowhere."


@tool
def look(at: int = 0) -> str:
    """Look."""
    return f"nothing at {at}"


@tool
def open_door(number: int = 0) -> str:
    """Open a door."""
    raise ValueError("The door is locked.")


async def run(agent: Any, given: Any = GO, config: Any = None, *, is_async: bool = True) -> Any:
    return await agent.ainvoke(given, config) if is_async else agent.invoke(given, config)


def notes(model: ScriptedModel) -> list[int]:
    """The numbers of the calls in which the model was told that it gets nowhere."""
    return [asked.number for asked in model.asked if "getting nowhere" in asked.messages[-1].text]


@COLOURS
async def test_the_same_call_is_told_once_and_then_ended(is_async: bool):
    model = ScriptedModel([*repeat(call("look", at=1), times=20)])
    final = await run(create_deep_agent(model, [look]), is_async=is_async)
    assert (len(model.asked), notes(model)) == (4, [4])
    assert final["messages"][-1].text.startswith(STOPPED)
    assert "look gave nothing new" in final["messages"][-1].text


async def test_two_calls_in_turn_are_a_circle_too():
    model = ScriptedModel([call("look", at=n % 2) for n in range(20)])
    final = await run(create_deep_agent(model, [look]))
    assert (len(model.asked), notes(model)) == (5, [5])
    assert final["messages"][-1].text.startswith(STOPPED)


async def test_a_model_that_heeds_the_note_goes_on():
    model = ScriptedModel([*repeat(call("look", at=1), times=3), call("look", at=2), say("Found it.")])
    final = await run(create_deep_agent(model, [look]))
    assert (final["messages"][-1].text, notes(model)) == ("Found it.", [4])


async def test_a_result_that_changes_is_no_circle():
    seen = count()

    @tool
    def poll() -> str:
        """Look at the job."""
        return f"{next(seen)} % done"

    model = ScriptedModel([*repeat(call("poll"), times=30), say("Done.")])
    final = await run(create_deep_agent(model, [poll]))
    assert (final["messages"][-1].text, notes(model)) == ("Done.", [])


async def test_a_long_job_of_different_calls_is_left_alone():
    model = ScriptedModel([*(call("look", at=n) for n in range(200)), say("Done.")])
    final = await run(create_deep_agent(model, [look]))
    assert (final["messages"][-1].text, notes(model)) == ("Done.", [])


async def test_running_the_tests_between_edits_is_work():
    @tool
    def run_tests() -> str:
        """Run the tests."""
        return "1 failed"

    steps = [step for n in range(10) for step in (call("look", at=n), call("run_tests"))]
    final = await run(create_deep_agent(ScriptedModel([*steps, say("Done.")]), [look, run_tests]))
    assert final["messages"][-1].text == "Done."


async def test_a_refused_call_with_a_counter_in_it_is_the_same_call():
    model = ScriptedModel([call("open_door", number=n) for n in range(20)])
    final = await run(create_deep_agent(model, [open_door]))
    assert (len(model.asked), notes(model)) == (4, [4])
    assert "The door is locked" in final["messages"][-1].text


async def test_failures_that_differ_get_six_tries():
    model = ScriptedModel([call("read_file", file_path=f"/name_{n}.md") for n in range(20)])
    final = await run(create_deep_agent(model))
    assert (len(model.asked), notes(model)) == (6, [4])
    assert final["messages"][-1].text.startswith(STOPPED)


async def test_one_success_among_failures_begins_anew():
    tries = [call("read_file", file_path=f"/name_{n}.md") for n in range(10)]
    model = ScriptedModel([*tries[:5], call("look", at=1), *tries[5:], call("look", at=2), say("Done.")])
    final = await run(create_deep_agent(model, [look]))
    assert final["messages"][-1].text == "Done."


async def test_a_new_message_of_the_user_begins_anew():
    model = ScriptedModel([*repeat(call("look", at=1), times=4), *repeat(call("look", at=1), times=2), say("Done.")])
    agent = create_deep_agent(model, [look], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    assert (await run(agent, GO, thread))["messages"][-1].text.startswith(STOPPED)
    assert (await run(agent, {"messages": [("user", "Look twice more.")]}, thread))["messages"][-1].text == "Done."


async def test_where_the_agent_may_ask_the_user_is_asked_and_the_answer_begins_anew():
    model = ScriptedModel([*repeat(call("look", at=1), times=4), *repeat(call("look", at=1), times=2), say("Done.")])
    agent = create_deep_agent(model, [look], middleware=[ClarifyWithHumanMiddleware()], checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    paused = await run(agent, GO, thread)
    assert "I am stuck. look gave nothing new" in paused["__interrupt__"][0].value["question"]
    assert len(model.asked) == 4
    final = await run(agent, Command(resume={"response": "Look twice more."}), thread)
    assert final["messages"][-1].text == "Done."


@COLOURS
@pytest.mark.parametrize(
    "silent",
    [
        say(""),
        AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}]),
        AIMessage("", additional_kwargs={"reasoning_content": "hm"}),
        AIMessage(
            "", invalid_tool_calls=[{"name": "look", "args": '{"at": ', "id": "x", "error": "cut", "type": "invalid_tool_call"}]
        ),
    ],
    ids=["empty", "thinking", "reasoning", "broken JSON"],
)
async def test_an_answer_that_says_nothing_is_asked_for_once_more(silent: Any, is_async: bool):
    model = ScriptedModel([silent, say("Here I am.")])
    final = await run(create_deep_agent(model), is_async=is_async)
    assert [message.text for message in final["messages"]] == ["go", "Here I am."]
    assert "could not be used" in model.last_asked.messages[-1].text
    model = ScriptedModel([silent, silent])
    final = await run(create_deep_agent(model), is_async=is_async)
    assert "asked twice" in final["messages"][-1].text
    assert len(final["messages"]) == 2


async def test_a_client_is_told_to_drop_an_answer_that_said_nothing():
    agent = create_deep_agent(ScriptedModel([say(""), say("Here I am.")]))
    (event,) = [event async for event in agent.astream(GO, stream_mode="custom")]
    assert (event["type"], event["reason"], event["message_id"]) == ("model_retry", "silent", "reply_1")


async def test_text_beside_a_call_that_cannot_be_read_says_that_nothing_was_done():
    broken = AIMessage(
        "I look now.",
        invalid_tool_calls=[{"name": "look", "args": "{", "id": "x", "error": "cut", "type": "invalid_tool_call"}],
    )
    final = await run(create_deep_agent(ScriptedModel([broken, broken]), [look]))
    assert final["messages"][-1].text == "I look now.\n\n(The call of look was not made: its arguments were not valid JSON.)"


async def test_a_subagent_that_gets_nowhere_ends_and_its_caller_soon_after():
    delegate = call("task", description="look", subagent_type="general-purpose")
    script = {"boss": [*repeat(delegate, times=9)], "general-purpose": [*repeat(call("look", at=1), times=90)]}
    model = ScriptedModel.by_agent(script)
    final = await run(create_deep_agent(model, [look], name="boss"))
    assert final["messages"][-1].text.startswith(STOPPED)
    assert len(model.asked) == 10
    assert [message.status for message in final["messages"] if isinstance(message, ToolMessage)] == ["error", "error"]


async def test_it_goes_on_counting_in_another_process():
    """Each step is driven by an agent of its own, on the stored thread alone."""
    saver = InMemorySaver()
    thread = {"configurable": {"thread_id": "1"}}

    def agent() -> Any:
        made = create_deep_agent(ScriptedModel([call("look", at=1)]), [look], checkpointer=saver)
        made.interrupt_after_nodes = ["tools"]
        return made

    await run(agent(), GO, thread)
    for _ in range(3):
        await run(agent(), None, thread)
    final = await run(agent(), None, thread)
    assert final["messages"][-1].text.startswith(STOPPED)
    assert sum(message.type == "tool" for message in final["messages"]) == 4


async def test_a_person_who_rejects_a_call_has_been_reached():
    """Approvals: whoever is asked each time can stop it themselves."""
    model = ScriptedModel([*repeat(call("look", at=1), times=8), say("Done.")])
    agent = create_deep_agent(model, [look], interrupt_on={"look": True}, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    await run(agent, GO, thread)
    reject = Command(resume={"decisions": [{"type": "reject", "message": "Not now."}]})
    for _ in range(8):
        final = await run(agent, reject, thread)
    assert (final["messages"][-1].text, notes(model)) == ("Done.", [])


async def test_two_structured_answers_in_a_wrong_form_are_mended_and_more_are_ended():
    from pydantic import BaseModel

    class Verdict(BaseModel):
        sure: int

    wrong = call("Verdict", sure="very")
    good = create_deep_agent(ScriptedModel([wrong, wrong, call("Verdict", sure=1)]), response_format=Verdict)
    assert (await run(good))["structured_response"] == Verdict(sure=1)
    model = ScriptedModel([*repeat(wrong, times=20)])
    final = await run(create_deep_agent(model, response_format=Verdict))
    assert final["messages"][-1].text.startswith(STOPPED)
    assert len(model.asked) == 4


async def test_what_is_left_to_do_is_said():
    plan = call("write_todos", todos=[{"content": "Look everywhere", "status": "pending"}])
    model = ScriptedModel([plan, *repeat(call("look", at=1), times=9)])
    final = await run(create_deep_agent(model, [look]))
    assert "Left to do:\n- Look everywhere" in final["messages"][-1].text


def test_a_budget_does_not_look_for_circles():
    with pytest.raises(TypeError):
        BudgetMiddleware(max_repeats=3)  # type: ignore[call-arg]


def test_only_the_end_of_a_long_thread_is_read():
    """The messages before the last few steps are not even touched."""

    class Untouchable(list):  # type: ignore[type-arg]
        def __init__(self, tail: list[Any]) -> None:
            super().__init__([None] * 10_000 + tail)

    tail: list[Any] = []
    for number in range(20):
        tail.append(AIMessage("", tool_calls=[{"name": "look", "args": {"at": number}, "id": str(number)}]))
        tail.append(ToolMessage("nothing", tool_call_id=str(number)))
    assert read_stall(Untouchable(tail)) is None
    failed = [
        message.model_copy(update={"status": "error"}) if isinstance(message, ToolMessage) else message for message in tail
    ]
    stall = read_stall(Untouchable(failed))
    assert stall is not None
    assert stall.is_over
    assert read_stall([HumanMessage("go")]) is None
    assert not is_own_answer(tail[0])


async def test_several_calls_at_once_that_all_repeat_are_one_step():
    both = calls(call("look", at=1), call("look", at=2))
    model = ScriptedModel([*repeat(both, times=9)])
    await run(create_deep_agent(model, [look]))
    assert len(model.asked) == 4
