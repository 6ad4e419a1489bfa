"""A tutor on models that misbehave: no refusal for the form, no ids, no lectures, and a word for the user after three calls."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from stepwell.middleware.own_words import is_refusal, stands_in
from stepwell.testing import ScriptedModel, call, calls, say
from stepwell.tutor.agent import build
from stepwell.tutor.argument.document import Argument
from stepwell.tutor.argument.exports import export
from stepwell.tutor.argument.project import write_files
from stepwell.tutor.argument.questions import go_on, next_question, take_answer
from stepwell.tutor.argument.words import asks_to_be_told
from stepwell.tutor.leading import MAX_CALLS
from stepwell.tutor.lectures import LONG_ANSWER

from .arguments import ANSWERS, play
from .seminars import Tutor, results_of, tutor_with, tutor_without_model

THESIS = "Cities should close their centres to private cars."
LECTURE = "Cars are loud and take much room in a city that has little of it. " * 12
INTERNAL = re.compile(r"\b[tdcnrpk]\d+\b|\bFrame:|\bAbout [a-z]\d", re.IGNORECASE)


def weak(folder: Any, model: ScriptedModel, phase: str | None = None, **options: Any) -> Tutor:
    if phase:
        (folder / "tutor").mkdir()
        for name, text in write_files(play(Argument(), until=phase)).items():
            (folder / name).write_text(text)
    return Tutor(build(model, checkpointer=InMemorySaver()), folder, **options)


def refusals(values: dict[str, Any]) -> list[str]:
    return [
        message.text
        for message in values["messages"]
        if message.type == "tool" and (message.status == "error" or is_refusal(message))
    ]


def read_by_person(tutor: Tutor, values: dict[str, Any]) -> list[str]:
    said = [message.text for message in values["messages"] if message.type == "ai"]
    options = [option["label"] for each in tutor.asked for option in each.get("options", ())]
    missing = [gap for phase in (values.get("progress") or {}).get("phases", ()) for gap in phase["missing"]]
    findings = [each["sentence"] for each in (values.get("progress") or {}).get("findings", ())]
    notes = [each["notes"]["text"] for each in tutor.writes if "notes" in each]
    return [*said, *tutor.questions, *options, *missing, *findings, *notes]


QUESTIONS = {
    "without a label": call("ask_user", question="What do you claim?"),
    "with the label of a phase": call("ask_user", question="Frame: what do you claim?"),
    "with an id": call("ask_user", question="About t1: is that all you have?"),
    "two in one": call("ask_user", question="What do you claim? And how sure are you?"),
    "two calls": calls(call("ask_user", question="What do you claim?"), call("ask_user", question="Why?")),
    "a call and choices": calls(
        call("ask_user", question="What do you claim?"), call("ask_choices", question="Which?", options=["One", "Two"])
    ),
    "beside a change": calls(call("set_question", text="Cars?"), call("ask_user", question="What do you claim?")),
    "another name for the argument": call("ask_user", text="What do you claim?"),
    "one option": call("ask_choices", question="Which?", options=["Only this"]),
    "no options": call("ask_choices", question="Which?", options=[]),
    "options missing": call("ask_choices", question="Which?"),
    "thirty options": call("ask_choices", question="Which?", options=[f"Number {each}" for each in range(30)]),
    "the same option twice": call("ask_choices", question="Which?", options=["One", "One", "Two"]),
    "options that ask": call("ask_choices", question="Which?", options=["Is it fair?", "Does it work?"]),
    "options as an object": call("ask_choices", question="Which?", options={"a": "One", "b": "Two"}),
    "options without ids": call("ask_choices", question="Which?", options=[{"label": "One"}, {"text": "Two"}]),
    "in prose": say("Good. What do you claim?"),
    "two in prose": say("What do you claim? And why do you think so?"),
    "without a question mark": call("ask_user", question="Tell me what you claim"),
}


@pytest.mark.parametrize("asked", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("phase", [None, "grounds"])
async def test_no_question_is_refused_for_its_form(tmp_path, asked, phase):
    model = ScriptedModel([asked, say("Well.")])
    tutor = weak(tmp_path, model, phase, answers=["Cars are loud."])
    values = await tutor.say("Help me with my argument")
    assert refusals(values) == []
    assert len(tutor.questions) == 1
    assert len(model.asked) == 2, "one call to ask, one after the answer"
    assert not [text for text in read_by_person(tutor, values) if INTERNAL.search(text)]


async def test_several_questions_are_shown_as_they_were_written(tmp_path):
    for asked in (QUESTIONS["two in one"], QUESTIONS["two in prose"], QUESTIONS["two calls"]):
        tutor = tutor_with(tmp_path, [asked, say("Well.")], project=None, answers=["Cars are loud."])
        await tutor.say("Help me")
        assert tutor.questions[0].count("?") == 2
        assert tutor.questions[0].startswith("What do you claim?")


WRONG = {
    "a phase far ahead": call("set_phase", phase="close"),
    "a phase that does not exist": call("set_phase", phase="brainstorm"),
    "the phase it is in": call("set_phase", phase="frame"),
    "arguments that are missing": call("propose_node", kind="thesis"),
    "a thesis of its own": call("propose_node", kind="thesis", text="All is vanity."),
    "a refutation at once": call("propose_node", kind="refutation", text="No."),
    "a clause that does not exist": call("update_node", node="n7", text="Yes."),
    "a link between nothing": call("link", source="n1", relation="supports", target="t1"),
    "a tool that does not exist": call("think", about="it"),
    "the lint": call("lint_seminar"),
    "an export": call("export", form="md"),
    "a plan": call("write_todos", todos=[{"content": "Think", "status": "pending"}]),
    "the notes themselves": call("write_file", file_path="/project/tutor/argument.json", content="{}"),
    "nothing": say(""),
    "a lecture": say(LECTURE),
}


@pytest.mark.parametrize("does", WRONG.values(), ids=WRONG)
async def test_a_word_comes_after_three_model_calls_whatever_the_model_does(tmp_path, does):
    model = ScriptedModel.answering(lambda asked: does)
    tutor = weak(tmp_path, model, project=None)
    values = await tutor.say("Help me with my argument")
    (waiting,) = (await tutor.graph.aget_state(tutor.config)).interrupts
    assert waiting.value["question"].startswith("What question do you want")
    assert len(model.asked) <= MAX_CALLS
    before = len(model.asked)
    await tutor.go_on("Should cities close their centres?")
    assert len(model.asked) - before <= MAX_CALLS
    assert (await tutor.argument()).question == "Should cities close their centres?"
    assert LECTURE.strip() not in [message.text for message in values["messages"]]


async def test_a_word_comes_after_three_calls_that_each_do_something_else(tmp_path):
    numbers = count(1)
    model = ScriptedModel.answering(lambda asked: call("set_question", text=f"Is this question number {next(numbers)}?"))
    tutor = weak(tmp_path, model, project=None)
    await tutor.say("Help me with my argument")
    assert len(model.asked) == MAX_CALLS
    (waiting,) = (await tutor.graph.aget_state(tutor.config)).interrupts
    assert waiting.value["question"].startswith("What do you claim?")


async def test_three_calls_and_then_silence_is_not_asked_for_a_fourth_time(tmp_path):
    script = [call("set_question", text="Is it so?"), call("lint_seminar"), say("")]
    model = ScriptedModel([*script, say("too late")])
    tutor = weak(tmp_path, model, project=None)
    await tutor.say("Help me with my argument")
    assert len(model.asked) == MAX_CALLS


async def test_work_on_the_users_files_takes_as_many_calls_as_it_takes(tmp_path):
    for name in "abcde":
        (tmp_path / f"{name}.md").write_text(f"{name}: {LECTURE}")
    reads = [call("read_file", file_path=f"/project/{name}.md") for name in "abcde"]
    model = ScriptedModel([*reads, say(f"They all say the same. {LECTURE}")])
    tutor = weak(tmp_path, model)
    values = await tutor.say("Summarise my five notes")
    assert values["messages"][-1].text.startswith("They all say the same."), "a summary that was asked for may be long"


@pytest.mark.parametrize(
    ("made", "reached"),
    [
        (call("propose_node", kind="claim", text="I think that cities should close their centres to all private cars"), "t1"),
        (call("propose_node", kind="Thesis", text=THESIS, confidence="95%"), "t1"),
    ],
    ids=["a paraphrase under another name", "a confidence that nobody said"],
)
async def test_what_is_plainly_meant_is_done(tmp_path, made, reached):
    tutor = tutor_with(tmp_path, [made, say("Noted.")], project=None)
    values = await tutor.say(f"Well. {THESIS} That is it.")
    assert refusals(values) == []
    thesis = (await tutor.argument()).nodes[reached]
    assert (thesis.text, thesis.author, thesis.confidence) == (THESIS, "user", None)


async def test_names_ids_and_other_words_all_reach_the_clause(tmp_path):
    script = [
        calls(
            call("propose_node", kind="reason", text="Quiet is good.", about="the thesis"),
            call("link", source="t1", relation="supported by", target="reason 1", because="Rest helps."),
            call("set_phase", phase="close"),
        ),
        say("Noted."),
    ]
    tutor = weak(tmp_path, ScriptedModel(script), "grounds")
    values = await tutor.say("Quiet is good.")
    argument = await tutor.argument()
    assert refusals(values) == []
    assert list(argument.links.values()) == ["Rest helps."], "the link is turned round"
    assert argument.phase == "steelman", "as far as nothing is missing"


async def test_a_lecture_is_asked_for_once_more_as_a_question(tmp_path):
    model = ScriptedModel([say(LECTURE), call("ask_user", question="Who gains by it?"), say("Well.")])
    tutor = weak(tmp_path, model, project=None, answers=["Walkers"])
    values = await tutor.say("Help me with my argument")
    assert tutor.questions == ["Who gains by it?"]
    assert "lecture" in model.asked[1].messages[-1].text
    assert not [message for message in values["messages"] if "take much room" in message.text]


async def test_of_a_lecture_with_a_question_only_the_question_is_shown(tmp_path):
    for said in (say(f"{LECTURE}\n\nWho gains by it?"), call("ask_user", question="Who gains by it?").saying(LECTURE)):
        model = ScriptedModel([said, say("Well.")])
        tutor = weak(tmp_path, model, project=None, answers=["Walkers"])
        values = await tutor.say("Help me with my argument")
        assert tutor.questions == ["Who gains by it?"]
        assert len(model.asked) == 2, "no further call for it"
        assert not [message for message in values["messages"] if "take much room" in message.text]


async def test_a_question_that_is_a_lecture_is_cut_to_what_it_asks(tmp_path):
    tutor = tutor_with(
        tmp_path, [call("ask_user", question=f"{LECTURE} Who gains by it?"), say("Well.")], project=None, answers=["I"]
    )
    await tutor.say("Help me with my argument")
    assert tutor.questions == ["Who gains by it?"]


async def test_a_lecture_in_small_pieces_is_held_back_too(tmp_path):
    piece = "Cars are loud and take much room in a city that has little of it. " * 5
    tutor = tutor_with(tmp_path, [call("set_question", text="Is it so?").saying(piece), say(piece), say(piece)], project=None)
    values = await tutor.say("Help me with my argument")
    assert sum("take much room" in message.text for message in values["messages"]) == 1


async def test_the_long_answer_is_there_for_whoever_then_asks_to_be_told(tmp_path):
    model = ScriptedModel([say(LECTURE), say(LECTURE)])
    tutor = weak(tmp_path, model, project=None, answers=["just tell me"])
    values = await tutor.say("Help me with my argument")
    last = values["messages"][-1]
    assert last.text == f"{LONG_ANSWER}\n\n{LECTURE.strip()}"
    assert len(model.asked) == 2, "it was written already"


async def test_somebody_who_asked_to_be_told_gets_a_long_answer_at_once(tmp_path):
    tutor = tutor_with(tmp_path, [say(LECTURE)], project=None)
    values = await tutor.say("Just tell me")
    assert values["messages"][-1].text.strip() == LECTURE.strip()


WISHES = [
    "Just tell me",
    "ich will nur die Antwort",
    "Give me the answer!",
    "idk",
    "Idk, sorry",
    "keine Ahnung",
    "I don't know.",
]


@pytest.mark.parametrize("wish", WISHES)
async def test_a_wish_to_be_told_is_never_stored_without_a_model(tmp_path, wish):
    """The method tells what it can, leaves open what it cannot, and comes to the end."""
    tutor = tutor_without_model(tmp_path, answers=[wish] * 30, project=None)
    await tutor.say("Should cities ban cars?")
    argument = await tutor.argument()
    stored = [*(node.text for node in argument.nodes.values()), *argument.links.values()]
    assert not [text for text in stored if asks_to_be_told(text) or wish.casefold() in text.casefold()]
    assert not argument.of_kind("citation", "narrative", "refutation", "reply"), "no reason is made up"
    assert not [move for move in argument.moves if move.move == "answer" and asks_to_be_told(move.text)]
    assert "Left open: a reason for your claim, an objection." in export(argument, "md")
    grown = take_answer(play(Argument(), until="grounds"), next_question(play(Argument(), until="grounds")), ANSWERS["ground"])
    assert "Left open" not in export(grown, "md")


@pytest.mark.parametrize("wish", WISHES)
async def test_a_wish_to_be_told_is_never_stored_by_a_model(tmp_path, wish):
    script = [
        call("ask_user", question="What is your reason?"),
        call("propose_node", kind="narrative", text=wish, about="claim", because=wish),
        say("People on foot see more."),
    ]
    tutor = weak(tmp_path, ScriptedModel(script), "grounds", answers=[wish])
    values = await tutor.say("Go on")
    argument = await tutor.argument()
    assert not argument.of_kind("citation", "narrative")
    assert not [move for move in argument.moves if move.move == "answer" and move.text == wish]
    assert values["messages"][-1].text == "People on foot see more.", "told by the model"


async def test_a_wish_to_be_told_is_no_examination(tmp_path):
    script = [call("ask_user", question="What of your claim would go?"), say("All of it, I would say.")]
    tutor = weak(tmp_path, ScriptedModel(script), "elenchus", answers=["just tell me"])
    await tutor.say("Go on")
    assert next_question(go_on(await tutor.argument())).need == "examination"


async def test_no_id_is_read_in_a_whole_seminar_without_a_model(tmp_path):
    tutor = tutor_without_model(tmp_path)
    await tutor.say("Help me")
    for _ in range(40):
        question = next_question(await tutor.argument())
        if question is None:
            break
        await tutor.go_on("/hint")
        await tutor.go_on(ANSWERS[question.need])
    values = (await tutor.graph.aget_state(tutor.config)).values
    assert values["progress"]["complete"]
    assert not [text for text in read_by_person(tutor, values) if INTERNAL.search(text)]
    assert not INTERNAL.search(export(await tutor.argument(), "md"))
    assert not INTERNAL.search((tmp_path / "tutor" / "log.md").read_text())


async def test_a_model_that_writes_ids_is_read_in_words(tmp_path):
    script = [say("I see that r1 speaks against t1. About t1: what is left of it?"), say("Well.")]
    tutor = weak(tmp_path, ScriptedModel(script), "elenchus", answers=["Most of it."])
    values = await tutor.say("Go on")
    assert tutor.questions == ["What is left of it?"]
    said = [message.text for message in values["messages"] if isinstance(message, AIMessage)]
    assert "I see that objection 1 speaks against your claim." in said
    assert not any(stands_in(message) for message in values["messages"])
    assert results_of(values, "ask_user")[0].status == "success"


async def test_a_question_that_the_user_has_put_is_not_asked_for_again(tmp_path):
    script = [call("ask_user", question="What is your argument about?"), call("think"), call("think")]
    tutor = tutor_with(tmp_path, script, project=None, answers=["Should schools give marks?"])
    await tutor.say("Help me with my argument")
    (waiting,) = (await tutor.graph.aget_state(tutor.config)).interrupts
    assert waiting.value["question"].startswith("What do you claim?")
    assert (await tutor.argument()).question == "Should schools give marks?"


async def test_a_change_of_a_claim_that_is_not_there_yet_begins_the_argument(tmp_path):
    """As a small model did: it changes what it should propose, and says again what stands there."""
    script = [
        call("update_node", node="claim", text="Should schools give marks?", confidence=75),
        say("Go on."),
        call("update_node", node="thesis", text="Schools should not give marks.", confidence=75, status="held"),
        say("Go on."),
        call("update_node", node="claim", text="Schools should not give", confidence=75, terms=["school", "marks"]),
        say("Go on."),
    ]
    tutor = tutor_with(tmp_path, script, project=None)
    for line in ("Should schools give marks?", "Schools should not give marks.", "Yes."):
        assert refusals(await tutor.say(line)) == []
    argument = await tutor.argument()
    assert (argument.question, argument.thesis.text) == ("Should schools give marks?", "Schools should not give marks.")
    assert (argument.thesis.confidence, argument.terms) == (None, ("school", "marks"))


async def test_the_method_tells_once_what_its_own_question_was_about(tmp_path):
    model = ScriptedModel.answering(lambda asked: call("think"))
    tutor = weak(tmp_path, model, "revise", answers=["just tell me"])
    values = await tutor.say("Go on")
    argument = await tutor.argument()
    assert sum(move.move == "tell" for move in argument.moves) == 1
    assert sum("these words are mine" in message.text for message in values["messages"] if message.type == "ai") == 1
    assert stands_in(values["messages"][-1]), "and goes on with its next question"
