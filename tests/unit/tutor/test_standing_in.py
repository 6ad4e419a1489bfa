"""A tutor whose model gets nowhere is led by its method."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from stepwell.middleware.own_words import stands_in
from stepwell.testing import ScriptedModel, call, repeat, say
from stepwell.tutor.agent import build
from stepwell.tutor.argument.method import is_complete
from stepwell.tutor.argument.questions import next_question
from stepwell.tutor.standing_in import LEADING

from .arguments import ANSWERS
from .seminars import Tutor, results_of, tutor_with

REFUSED = call("set_phase", phase="define")


def words_of(values: dict[str, Any]) -> list[str]:
    return [message.text for message in values["messages"] if message.type == "ai" and message.text]


async def test_after_the_first_repetition_the_method_asks(tmp_path):
    tutor = tutor_with(tmp_path, repeat(REFUSED, times=30), project=None)
    values = await tutor.say("Help me with my argument")
    (waiting,) = (await tutor.graph.aget_state(tutor.config)).interrupts
    assert waiting.value["question"] == "What question do you want to think through?"
    assert words_of(values) == [LEADING]
    assert len(results_of(values, "set_phase")) == 2


async def test_the_method_takes_the_answer_and_a_stubborn_model_gets_one_chance_for_each(tmp_path):
    answers = ["Should cities close their centres to private cars?", "Cities should close their centres to private cars.", "70"]
    tutor = tutor_with(tmp_path, repeat(REFUSED, times=30), project=None, answers=list(answers))
    values = await tutor.say("Help me with my argument")
    argument = await tutor.argument()
    assert argument.question == answers[0]
    assert (argument.thesis.text, argument.thesis.author, argument.thesis.confidence) == (answers[1], "user", 70)
    assert words_of(values) == [LEADING], "said once"
    refused = [message for message in results_of(values, "set_phase") if message.status == "error"]
    assert len(refused) == len(results_of(values, "set_phase")) == 2 + len(answers)


@pytest.mark.parametrize(
    "does",
    [call("link", source="x", relation="supports", target="y"), call("lint_seminar"), say("")],
    ids=["refused", "repeats", "says nothing"],
)
async def test_a_whole_seminar_goes_through_with_a_model_that_does_nothing_else(tmp_path, does):
    """Every phase, to the end: the person answers what the method asks."""
    model = ScriptedModel.answering(lambda asked: does)
    tutor = Tutor(build(model, checkpointer=InMemorySaver()), tmp_path, project=None)
    await tutor.say("Help me with my argument")
    for _ in range(100):
        question = next_question(await tutor.argument())
        if question is None:
            break
        await tutor.go_on(ANSWERS[question.need])
    assert is_complete(await tutor.argument())


async def test_an_answer_that_the_method_refuses_is_explained_and_asked_for_again(tmp_path):
    answers = ["Should cities close their centres to private cars?", "Cities should close their centres.", "very sure"]
    tutor = tutor_with(tmp_path, repeat(REFUSED, times=30), project=None, answers=list(answers))
    values = await tutor.say("Help me with my argument")
    assert words_of(values)[-1] == "Give one whole number from 0 to 100."
    (waiting,) = (await tutor.graph.aget_state(tutor.config)).interrupts
    assert waiting.value["question"].startswith("How sure are you of your claim")


async def test_a_model_that_does_better_leads_again(tmp_path):
    script = [*repeat(REFUSED, times=2), call("set_question", text="Should cities be free of cars?"), say("Noted. Go on.")]
    tutor = tutor_with(tmp_path, script, project=None, answers=["Should cities be free of cars?"])
    values = await tutor.say("Help me with my argument")
    assert values["messages"][-1].text == "Noted. Go on."
    assert not stands_in(values["messages"][-1])


async def test_whoever_asks_to_be_told_is_told_by_the_method(tmp_path):
    asks = call("ask_user", question="What do you think?")
    tutor = tutor_with(tmp_path, repeat(asks, times=30), project=None)
    values = await tutor.say("/tell")
    assert "these words are mine" in values["messages"][-1].text
    assert results_of(values, "ask_user") == []


@pytest.mark.parametrize("nothing", ["", "Anything else?", "Ready?"])
async def test_a_message_that_leaves_nothing_to_read_becomes_the_methods_question(tmp_path, nothing):
    tutor = tutor_with(tmp_path, repeat(say(nothing), times=4), project=None)
    await tutor.say("Help me with my argument")
    (waiting,) = (await tutor.graph.aget_state(tutor.config)).interrupts
    assert waiting.value["question"].startswith("What question")


async def test_what_the_method_took_is_saved_with_the_project(tmp_path):
    answers = ["Should cities close their centres to private cars?", "Cities should close their centres to private cars."]
    tutor = tutor_with(tmp_path, repeat(REFUSED, times=30), answers=list(answers))
    await tutor.say("Help me with my argument")
    assert answers[1] in (tmp_path / "tutor" / "argument.json").read_text()


async def test_a_question_that_was_just_answered_is_not_put_again(tmp_path):
    """A small model asks the same thing after each answer, and every answer would be lost."""
    asks = call("ask_user", question="What is your argument about?")
    script = [asks, call("update_node", node="thesis", text="Cars"), asks, *repeat(REFUSED, times=9)]
    answers = ["Whether cities should ban cars.", "Should cities close their centres to private cars?"]
    tutor = tutor_with(tmp_path, script, project=None, answers=list(answers))
    values = await tutor.say("Help me with my argument")
    assert results_of(values, "ask_user")[0].text.endswith(answers[0])
    assert (await tutor.argument()).question == answers[1], "the method asked, and took the answer"
    assert "these words do not make one" in results_of(values, "update_node")[0].text


async def test_the_same_question_may_come_again_when_the_argument_has_changed(tmp_path):
    asks = call("ask_user", question="What do you want to think through?")
    script = [asks, call("set_question", text="Should cities be free of cars?"), asks, say("Good.")]
    tutor = tutor_with(tmp_path, script, project=None, answers=["Should cities be free of cars?", "Yes."])
    values = await tutor.say("Help me with my argument")
    assert len(results_of(values, "ask_user")) == 2
    assert not any(stands_in(message) for message in values["messages"])
