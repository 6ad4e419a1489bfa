"""T3: questions of the agent to the person, and what an answer must look like."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell import ClarifyWithHumanMiddleware, create_deep_agent
from stepwell.answers import AnswerShapes, mark_schema
from stepwell.errors import AnswerShapeError
from stepwell.testing import ScriptedModel, call, calls, say

ASK = {"messages": [("user", "Help me with my argument")]}
THREAD = {"configurable": {"thread_id": "1"}}
TOPIC = call("ask_user", question="What topic is your argument about?")
KINDS = [{"id": "seminar", "label": "Socratic Seminar"}, {"id": "essay", "label": "Essay"}]


def kind(**more):
    return call("ask_choices", question="What type of document?", options=KINDS, **more)


def agent_for(*script, **options):
    return create_deep_agent(
        ScriptedModel([*script, say("done")]),
        checkpointer=InMemorySaver(),
        middleware=[ClarifyWithHumanMiddleware()],
        **options,
    )


def ask(agent):
    (interrupt,) = agent.invoke(ASK, THREAD)["__interrupt__"]
    return interrupt


def answer(agent, interrupt, value):
    return agent.invoke(Command(resume={interrupt.id: value}), THREAD)


def results(final):
    return [message for message in final["messages"] if message.type == "tool"]


def test_a_question_in_words():
    """T3: ask_user."""
    agent = agent_for(TOPIC)
    asked = ask(agent)
    assert asked.value == {
        "type": "clarification_request",
        "tool": "ask_user",
        "tool_call_id": asked.value["tool_call_id"],
        "question": "What topic is your argument about?",
    }
    final = answer(agent, asked, {"response": "Bitcoin's monetary policy"})
    (result,) = results(final)
    assert (result.tool_call_id, result.text) == (
        asked.value["tool_call_id"],
        "The user answers: Bitcoin's monetary policy",
    )
    assert final["messages"][-1].text == "done"


async def test_the_same_from_async_code():
    agent = agent_for(TOPIC)
    (asked,) = (await agent.ainvoke(ASK, THREAD))["__interrupt__"]
    final = await agent.ainvoke(Command(resume={asked.id: {"response": "money"}}), THREAD)
    assert results(final)[0].text == "The user answers: money"


def test_a_question_with_choices():
    """T3: ask_choices, with the formats of its payload and its answers."""
    agent = agent_for(kind())
    asked = ask(agent)
    assert {key: asked.value[key] for key in ("type", "tool", "options", "allow_multiple", "allow_freeform")} == {
        "type": "clarification_request",
        "tool": "ask_choices",
        "options": KINDS,
        "allow_multiple": False,
        "allow_freeform": True,
    }
    final = answer(agent, asked, {"selected": ["essay"], "freeform": "Specifically about inflation"})
    assert results(final)[0].text == "The user chose: Essay (essay). The user writes: Specifically about inflation"


def test_options_may_be_plain_texts():
    agent = agent_for(call("ask_choices", question="Which?", options=["Style", "Clarity"], allow_multiple=True))
    asked = ask(agent)
    assert asked.value["options"] == [{"id": "Style", "label": "Style"}, {"id": "Clarity", "label": "Clarity"}]
    final = answer(agent, asked, {"selected": ["Clarity", "Style"]})
    assert results(final)[0].text == "The user chose: Clarity, Style."


IN_WORDS = {"type": "clarification_request", "tool": "ask_user", "tool_call_id": "1", "question": "What topic?"}
CHOICE = {**IN_WORDS, "tool": "ask_choices", "options": KINDS, "allow_multiple": False, "allow_freeform": True}
WRONG = [
    (IN_WORDS, None, "not null"),
    (IN_WORDS, "just a text", "not a text"),
    (IN_WORDS, {"response": 3}, "not a number"),
    (IN_WORDS, {"response": "  "}, "is empty"),
    (IN_WORDS, {"selected": ["essay"]}, "not null"),
    (IN_WORDS, {"response": "x" * 100_001}, "at most 100,000"),
    (CHOICE, {"selected": ["novel"]}, "that the question does not have"),
    (CHOICE, {"selected": ["essay", "seminar"]}, "allows only one"),
    (CHOICE, {"selected": ["essay", "essay"]}, "twice"),
    (CHOICE, {"selected": "essay"}, "a list of option ids"),
    (CHOICE, {"selected": [], "freeform": ""}, "Nothing is selected"),
    (CHOICE, {}, "Nothing is selected"),
    (CHOICE, ["essay"], "is an object, not a list"),
    (CHOICE, {"selected": [], "freeform": "  "}, "'freeform' is empty"),
    (CHOICE, {"selected": ["essay"], "freeform": 7}, "where a text is needed"),
    ({**CHOICE, "allow_freeform": False}, {"selected": ["essay"], "freeform": "or so"}, "does not allow free text"),
]


@pytest.mark.parametrize(("question", "wrong", "reason"), WRONG)
def test_an_answer_that_does_not_fit_is_refused_with_the_reason(question, wrong, reason):
    """T3: unknown, too many, empty, of the wrong form."""
    with pytest.raises(AnswerShapeError, match=reason) as refused:
        AnswerShapes().require("q", question, wrong, mark_schema(question, {}))
    assert "novel" not in str(refused.value), "what was sent is not repeated"


@pytest.mark.parametrize(
    ("question", "wrong", "right"),
    [
        (TOPIC, {"response": ""}, {"response": "money"}),
        (kind(), {"selected": ["novel"]}, {"selected": ["essay"]}),
        (kind(), {"selected": ["essay", "seminar"]}, {"selected": [], "freeform": "a letter"}),
    ],
)
def test_in_the_library_the_question_stays_open_and_is_asked_again(question, wrong, right):
    """T3."""
    agent = agent_for(question)
    asked = ask(agent)
    with pytest.raises(AnswerShapeError):
        answer(agent, asked, wrong)
    assert [task.interrupts[0].id for task in agent.get_state(THREAD).tasks] == [asked.id]
    assert answer(agent, asked, right)["messages"][-1].text == "done"


def test_several_may_be_chosen_where_the_question_says_so():
    agent = agent_for(kind(allow_multiple=True, allow_freeform=False))
    final = answer(agent, ask(agent), {"selected": ["seminar", "essay"]})
    assert "Socratic Seminar (seminar), Essay (essay)" in results(final)[0].text


def test_a_second_question_of_a_turn_is_not_asked():
    """T3: at most one question of an agent is open."""
    agent = agent_for(calls(TOPIC, kind()))
    asked = ask(agent)
    assert asked.value["tool"] == "ask_user"
    first, second = results(answer(agent, asked, {"response": "money"}))
    assert first.text == "The user answers: money"
    assert (second.status, "only one question can be open" in second.text) == ("error", True)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (call("ask_user", question=" "), "is empty"),
        (call("ask_choices", question="Which?", options=["only"]), "Offer 2 to 20"),
        (call("ask_choices", question="Which?", options=["a", "a"]), "of its own"),
        (call("ask_choices", question="Which?", options=[str(n) for n in range(21)]), "Offer 2 to 20"),
    ],
)
def test_a_question_that_cannot_be_asked_is_an_error_for_the_model(question, reason):
    final = agent_for(question).invoke(ASK, THREAD)
    assert reason in results(final)[0].text
    assert results(final)[0].status == "error"


def test_two_subagents_ask_at_once():
    """T3, T6: each asks for itself, and is answered by its own id, in any order."""
    model = ScriptedModel.by_agent(
        {
            "main": [
                calls(
                    call("task", description="a", subagent_type="asker"), call("task", description="b", subagent_type="asker")
                ),
                say("done"),
            ],
            "asker": lambda asked: say(asked.messages[-1].text) if asked.messages[-1].type == "tool" else TOPIC,
        },
        key=lambda asked: asked.agent if asked.agent == "asker" else "main",
    )
    asker = {"name": "asker", "description": "asks", "system_prompt": "ask", "middleware": [ClarifyWithHumanMiddleware()]}
    agent = create_deep_agent(model, checkpointer=InMemorySaver(), subagents=[asker])
    first, second = agent.invoke(ASK, THREAD)["__interrupt__"]
    answer(agent, second, {"response": "two"})
    final = answer(agent, first, {"response": "one"})
    assert {message.text for message in results(final)} == {"The user answers: one", "The user answers: two"}


def test_it_works_in_a_stack_of_langchains_own():
    model = ScriptedModel([calls(TOPIC, TOPIC), say("done")])
    agent = create_agent(model, [], middleware=[ClarifyWithHumanMiddleware()], checkpointer=InMemorySaver())
    final = answer(agent, ask(agent), {"response": "money"})
    assert [message.status for message in results(final)] == ["success", "error"]


def test_the_prompt_says_when_to_ask_and_when_not():
    """T3: used only when intent is open."""
    prompt = ClarifyWithHumanMiddleware().prompt
    assert "intent is open" in prompt
    assert "where the request is clear, act" in prompt
