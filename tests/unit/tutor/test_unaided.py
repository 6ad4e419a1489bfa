"""The tutor without a model: a whole seminar from the method alone."""

from __future__ import annotations

import json

from stepwell.tutor.argument.method import is_complete
from stepwell.tutor.unaided import ABOUT_UNAIDED

from .arguments import ANSWERS
from .seminars import tutor_without_model

WHOLE = [
    ANSWERS[need]
    for need in (
        "thesis",
        "confidence",
        "terms",
        "definition",
        "definition",
        "ground",
        "warrant",
        "refutation",
        "target",
        "force",
        "examination",
        "reply",
        "basis",
        "decision",
        "rewording",
        "lint",
        "conclusion",
    )
]


async def test_a_whole_seminar_is_done_without_a_model_and_says_so(tmp_path):
    """T8: from frame to close without a model; each turn ends with one save of three files."""
    tutor = tutor_without_model(tmp_path, answers=list(WHOLE))
    values = await tutor.say(ANSWERS["question"])
    assert ABOUT_UNAIDED in values["messages"][1].text
    assert is_complete(await tutor.argument())
    assert values["messages"][-1].text.endswith("/export md shows your argument.")
    assert all(len(save["tool_calls"]) == 3 for save in tutor.writes)
    # One for each message and answer, but for the decision to revise: that is a line of the log, and goes with the new words.
    assert len(tutor.writes) == len(WHOLE)
    assert len(tutor.saves) == 1, "the user is asked once whether notes may be kept"
    assert all(len(question.split()) <= 30 for question in tutor.questions)
    assert sorted(file.name for file in (tmp_path / "tutor").iterdir()) == ["argument.json", "log.md", "seminar.md"]
    assert values["progress"]["complete"]
    assert values["progress"]["thesis_changes"][-1]["confidence_before"] == 70
    assert values["progress"]["thesis_changes"][-1]["confidence_after"] == 60


async def test_a_vague_wish_leads_to_a_question(tmp_path):
    """T3, T8: the guidance on vague asks holds without a model too."""
    for wish in ("Help me with my argument", "I want to write about economics", "Improve this"):
        tutor = tutor_without_model(tmp_path)
        await tutor.say(wish)
        (waiting,) = (await tutor.graph.aget_state(tutor.config)).interrupts
        assert waiting.value["question"].startswith("What question")
        assert waiting.value["phase"] == "frame"


async def test_a_clear_wish_leads_to_action(tmp_path):
    """T5, T8: a clear ask is done without a question first."""
    (tmp_path / "notes.md").write_text("Inflation is a tax.\nNothing else.\n")
    tutor = tutor_without_model(tmp_path)
    values = await tutor.say("Search my files for mentions of inflation")
    assert "/notes.md:1: Inflation is a tax." in values["messages"][-1].text
    tutor = tutor_without_model(tmp_path)
    await tutor.say("Create a new document titled 'Bitcoin Thesis' with an introduction about sound money")
    assert "introduction about sound money" in (tmp_path / "Bitcoin Thesis.md").read_text()
    assert [each["tool_calls"][0]["name"] for each in tutor.asked] == ["read_file", "write_file"]


async def test_whoever_says_just_tell_me_is_told_and_it_is_recorded(tmp_path):
    """T8"""
    tutor = tutor_without_model(tmp_path, answers=["Just tell me.", "/hint", "/tell"])
    values = await tutor.say("Should cities ban cars?")
    argument = await tutor.argument()
    assert argument.nodes["t1"].text == "Cities should ban cars."
    assert argument.nodes["t1"].author == "tutor"
    assert [move.move for move in argument.moves if move.move in ("tell", "hint")] == ["tell", "hint", "tell"]
    assert any("these words are mine" in message.text for message in values["messages"])


async def test_a_refused_answer_is_asked_again_with_the_reason(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=["Is that so?", "Cities should ban cars.", "very"])
    values = await tutor.say("Should cities ban cars?")
    said = [message.text for message in values["messages"] if message.type == "ai"]
    assert any("a claim says something" in text for text in said)
    assert any("from 0 to 100" in text for text in said)


async def test_a_second_thread_goes_on_where_the_files_are(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=WHOLE[:6])
    await tutor.say(ANSWERS["question"])
    second = tutor_without_model(tmp_path, answers=WHOLE[6:])
    values = await second.say("Let us go on")
    assert "We go on with “Should cities close their centres to private cars?” (Why they count)." in values["messages"][1].text
    assert second.questions[0].startswith("Why does reason 1 (“Streets without traffic")
    assert second.saves == [], "notes that are there were allowed before"
    assert is_complete(await second.argument())
    third = tutor_without_model(tmp_path)
    assert "The seminar is complete." in (await third.say("Hello"))["messages"][-1].text


async def test_an_edit_by_hand_is_taken_and_the_turn_is_kept_too(tmp_path):
    """T8: the base hash is checked; the file is read again and merged."""
    tutor = tutor_without_model(tmp_path, answers=WHOLE[:6])
    await tutor.say(ANSWERS["question"])
    page = tmp_path / "tutor" / "seminar.md"
    page.write_text(page.read_text().replace("Streets without traffic", "Quiet streets"))
    await tutor.go_on(WHOLE[6])
    argument = await tutor.argument()
    assert argument.nodes["n1"].text == "Quiet streets are used by more people."
    assert list(argument.links.values()) == [ANSWERS["warrant"]]
    assert any("changed by hand" in message.text for message in (await tutor.graph.aget_state(tutor.config)).values["messages"])
    await tutor.go_on(WHOLE[7])
    assert "Quiet streets" in page.read_text()
    assert ANSWERS["warrant"] in page.read_text()


async def test_an_argument_edited_into_nonsense_is_refused_with_its_line_and_left_alone(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=WHOLE[:6])
    await tutor.say(ANSWERS["question"])
    file = tmp_path / "tutor" / "argument.json"
    nonsense = file.read_text().replace('"kind": "narrative"', '"kind": "novel"')
    file.write_text(nonsense)
    await tutor.go_on(WHOLE[6])
    said = [message.text for message in (await tutor.graph.aget_state(tutor.config)).values["messages"]]
    assert any("argument.json, line" in text and "there is no kind 'novel'" in text for text in said)
    assert file.read_text() == nonsense
    second = tutor_without_model(tmp_path)
    values = await second.say("Go on")
    assert "there is no kind 'novel'" in values["messages"][-1].text
    assert file.read_text() == nonsense


async def test_after_a_no_the_notes_stay_in_the_conversation_and_nothing_is_asked_again(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=list(WHOLE), approve=lambda changes: "not now")
    await tutor.say(ANSWERS["question"])
    assert is_complete(await tutor.argument())
    assert len(tutor.saves) == len(tutor.writes) == 1
    assert list(tmp_path.iterdir()) == []


async def test_a_no_is_taken_back_by_the_next_message_of_a_client_that_knows_better(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=list(WHOLE), approve=lambda changes: False)
    await tutor.say(ANSWERS["question"])
    await tutor.say("Hello", keep_notes=True)
    assert len(tutor.saves) == 1
    assert json.loads((tmp_path / "tutor" / "argument.json").read_text())["nodes"]["t1"]["confidence"] == 60


async def test_a_yes_that_the_client_remembers_is_not_asked_for_and_a_no_keeps_nothing(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=WHOLE[:3])
    await tutor.say(ANSWERS["question"], keep_notes=True, write_approval=True)
    assert (len(tutor.saves), len(tutor.writes)) == (0, 4)
    (tmp_path / "other").mkdir()
    tutor = tutor_without_model(tmp_path / "other", answers=WHOLE[:3])
    await tutor.say(ANSWERS["question"], keep_notes=False)
    assert tutor.writes == []


async def test_what_is_asked_about_notes_is_sentences_with_the_files_beside_it(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=WHOLE[:1])
    await tutor.say("Help me")
    await tutor.go_on(ANSWERS["question"], ANSWERS["thesis"])
    (asked,) = tutor.saves
    assert asked["message"] == "May the tutor keep its notes in your project?"
    assert asked["notes"]["folder"] == "tutor"
    assert "{" not in asked["notes"]["text"]
    assert all(each["args"]["path"].startswith("/tutor/") for each in asked["tool_calls"])
    assert tutor.writes[-1]["notes"]["text"] == f"Your claim: {ANSWERS['thesis']}"


async def test_a_file_of_the_users_is_asked_for_each_time_although_notes_are_allowed(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=["Create a new document titled 'A'", "Create a new document titled 'B'"])
    await tutor.say(ANSWERS["question"], keep_notes=True)
    assert [each["tool_calls"][0]["args"]["path"] for each in tutor.saves] == ["/A.md", "/B.md"]
    assert not any("notes" in each for each in tutor.saves)


async def test_without_a_project_the_argument_lives_in_the_thread(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=list(WHOLE), project=None)
    await tutor.say(ANSWERS["question"])
    assert is_complete(await tutor.argument())
    assert tutor.saves == []


async def test_what_a_phase_needs_cannot_be_skipped(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=["/skip"], project=None)
    values = await tutor.say(ANSWERS["question"])
    assert any("cannot be left" in message.text for message in values["messages"])
    assert (await tutor.argument()).thesis is None


async def test_a_finished_seminar_goes_on_with_another_ground_or_objection(tmp_path):
    tutor = tutor_without_model(tmp_path, answers=list(WHOLE), project=None)
    await tutor.say(ANSWERS["question"])
    assert "is complete" in (await tutor.say("And now"))["messages"][-1].text
    tutor.answers = ["Because rest is good for people."]
    await tutor.say("/ground Quiet streets let people rest.")
    assert is_complete(await tutor.argument())
    await tutor.say("/objection People in a hurry lose time.")
    argument = await tutor.argument()
    assert (argument.phase, list(argument.nodes)[-1]) == ("steelman", "r2")
    assert argument.links_of("supports", source="n2")
