"""The argument and the method, by property and by example."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.growth import assert_linear

from stepwell.errors import InvalidRequestError
from stepwell.tutor.argument import moves
from stepwell.tutor.argument.document import (
    PHASES,
    Argument,
    MoveRefusedError,
    changes,
    from_data,
    reduce_argument,
    to_data,
)
from stepwell.tutor.argument.exports import describe_change, export, export_data
from stepwell.tutor.argument.files import ARGUMENT, SEMINAR, read_argument, write_argument
from stepwell.tutor.argument.lint import lint
from stepwell.tutor.argument.method import is_complete, missing
from stepwell.tutor.argument.progress import describe_progress
from stepwell.tutor.argument.project import read_files, write_files
from stepwell.tutor.argument.questions import go_on, next_question, take_answer
from stepwell.tutor.argument.seminar import read_seminar, write_seminar
from stepwell.tutor.argument.telling import give_hint, tell
from stepwell.tutor.argument.validity import FileRefusedError, faults

from .arguments import ANSWERS, FEWER, MOVES, apply, arguments, play


@FEWER
@given(arguments())
def test_the_page_reads_back_as_the_argument(argument: Argument):
    assert read_seminar(write_seminar(argument)) == replace(argument, moves=())


@FEWER
@given(arguments())
def test_the_json_reads_back_as_the_argument(argument: Argument):
    assert read_argument(write_argument(argument)).argument == argument
    assert read_files(write_files(argument)) == argument


@FEWER
@given(arguments(), st.lists(MOVES, max_size=6))
def test_stored_changes_give_the_argument_back_however_they_are_batched(argument: Argument, later):
    written, at = [], argument
    for move in later:
        after = apply(at, move)
        written.append(changes(at, after))
        at = after
    state = to_data(argument)
    assert from_data(reduce_argument(state, written)) == at
    for cut in range(len(written) + 1):
        assert reduce_argument(reduce_argument(state, written[:cut]), written[cut:]) == reduce_argument(state, written)


@FEWER
@given(arguments())
def test_moves_never_make_what_a_reader_would_refuse(argument: Argument):
    assert list(faults(argument)) == []


@FEWER
@given(arguments(), st.sampled_from(PHASES))
def test_no_phase_is_skipped_and_none_left_with_something_missing(argument: Argument, to):
    """T8: the method is a state machine with exit tests."""
    after = apply(argument, ("set_phase", (to,), {}))
    forward = PHASES.index(after.phase) - PHASES.index(argument.phase)
    assert forward <= 1
    assert forward < 1 or not missing(argument)


@FEWER
@given(arguments())
def test_whoever_only_asks_to_be_told_comes_to_the_end(argument: Argument):
    """T8: "just tell me" always works, and is recorded."""
    told = 0
    while (question := next_question(argument := go_on(argument))) is not None:
        argument, _ = tell(argument, question)
        told += 1
        assert told < 300
    assert is_complete(argument)
    assert sum(move.move == "tell" for move in argument.moves) >= told


@FEWER
@given(arguments(), st.text(max_size=30))
def test_an_answer_is_taken_or_refused_with_a_reason_and_never_fails_otherwise(argument: Argument, said: str):
    argument = go_on(argument)
    question = next_question(argument)
    if question is None:
        return
    try:
        after = take_answer(argument, question, said)
    except MoveRefusedError:
        return
    assert len(after.moves) > len(argument.moves)


def test_a_patient_person_comes_from_frame_to_close():
    """T8: a whole seminar without a model, each question from the exit test that fails."""
    argument = play(Argument())
    assert is_complete(argument)
    assert [move.about for move in argument.moves if move.move == "phase"] == list(PHASES[1:])
    assert argument.nodes["t1"].status == "revised"
    assert describe_change(argument).endswith("private [-cars.-] {+cars, street by street.+} (60 % sure, 70 % before)")


@pytest.mark.parametrize("form", ["json", "argdown", "mermaid"])
@FEWER
@given(argument=arguments())
def test_every_form_of_export_names_every_clause(form, argument: Argument):
    written = export(argument, form)
    assert all(name in written for name in argument.nodes)


@pytest.mark.parametrize(("data", "form"), [({"question": 1}, "md"), ({"nodes": []}, "json"), ({}, "pdf")])
def test_what_is_no_argument_or_no_form_is_refused_in_words(data, form):
    with pytest.raises(InvalidRequestError, match=r"cannot be read|There are: md"):
        export_data(data, form)


def test_a_circle_of_grounds_is_found_and_nothing_beside_it():
    argument = play(Argument(), until="warrant")
    for text in ("People like quiet.", "Quiet is liked.", "Noise is not."):
        argument = moves.propose_node(argument, "narrative", text)
    for source, target in (("n2", "n3"), ("n3", "n2"), ("n4", "n2"), ("n2", "t1")):
        argument = moves.link(argument, source, "supports", target)
    assert [finding.about for finding in lint(argument) if finding.code == "circle"] == ["n2", "n3"]


def chain_of_reasons(length: int) -> Argument:
    argument = play(Argument(), until="grounds")
    for number in range(1, length):
        argument = moves.propose_node(argument, "narrative", f"Reason {number} holds in most cities.")
        argument = moves.link(argument, f"n{number}", "supports", "t1" if number == 1 else f"n{number - 1}")
    return argument


def test_the_time_to_describe_an_argument_grows_with_its_length():
    assert_linear(describe_progress, chain_of_reasons, 25)


def test_the_lint_asks_for_a_term_that_is_used_and_not_defined():
    """T8: the question comes from the lint: a word carries two clauses and has no definition."""
    argument = play(Argument(), until="grounds")
    question = next_question(argument)
    argument = go_on(take_answer(argument, question, "Cities breathe when their streets are free of traffic."))
    assert [finding.detail for finding in lint(argument) if finding.code == "undefined"] == ["cities"]
    assert next_question(argument).text.startswith("You use “cities” in your claim and in reason 1, and have not said what it")
    assert next_question(go_on(take_answer(argument, next_question(argument), "/skip"))).need == "warrant"


def test_hints_rise_and_then_there_is_only_being_told():
    argument = play(Argument(), until="steelman")
    question = next_question(argument)
    for level in (1, 2, 3):
        argument, text = give_hint(argument, question)
        assert text.startswith(f"Hint {level} of 4")
    with pytest.raises(MoveRefusedError, match="/tell"):
        give_hint(argument, question)


def test_a_reply_brings_no_new_evidence():
    """T8"""
    argument = play(Argument(), until="reply")
    for text in (
        "A study in 14 towns found the opposite.",
        "See https://example.org/shops for the figures.",
        "According to the mayor it went well.",
        "They said “nobody here wants the cars back at all”.",
    ):
        with pytest.raises(MoveRefusedError, match="no new evidence"):
            moves.propose_node(argument, "reply", text)
    assert "p1" in moves.propose_node(argument, "reply", "Streets without traffic, as n1 says, bring buyers.").nodes


def test_a_refutation_does_not_redefine_terms():
    """T8"""
    argument = play(Argument(), until="steelman")
    for text in (
        "By private cars we should mean delivery vans too, so it fails.",
        "A centre, properly understood, includes the suburbs.",
        "If you define centres as shopping streets, nothing is left.",
        "Centres really means the whole town.",
    ):
        with pytest.raises(MoveRefusedError, match="does not redefine"):
            moves.propose_node(argument, "refutation", text)
    assert "r1" in moves.propose_node(argument, "refutation", "Centres without private cars lose their shops.").nodes


def test_a_thesis_changes_only_together_with_a_confidence():
    argument = play(Argument(), until="elenchus")
    with pytest.raises(MoveRefusedError, match="confidence"):
        moves.update_node(argument, "t1", text="Cities should tax cars.")
    changed = moves.update_node(argument, "t1", text="Cities should tax private cars.", confidence=55)
    assert describe_change(changed) == "Cities should [-close their centres to-] {+tax+} private cars. (55 % sure, 70 % before)"


def test_an_opposing_seminar_has_a_thesis_and_grounds_of_its_own():
    argument = play(Argument(), until="elenchus")
    argument = moves.set_phase(argument, "steelman")
    opposed = moves.propose_node(argument, "thesis", "Cities should leave their centres as they are.", side="opposing")
    assert [gap.about for gap in missing(opposed)] == ["t2"]
    grown = moves.propose_node(opposed, "narrative", "Most shops there are doing well.", side="opposing")
    assert not missing(moves.link(grown, "n2", "supports", "t2"))
    with pytest.raises(MoveRefusedError, match="the same side"):
        moves.link(grown, "n2", "supports", "t1")
    assert "## Opposing seminar\n\n### t2 thesis, held" in write_seminar(grown)
    assert grown.thesis.id == "t1"


def test_a_challenged_clause_is_held_again_only_when_every_attack_is_answered():
    argument = play(Argument(), until="reply")
    assert argument.nodes["t1"].status == "challenged"
    with pytest.raises(MoveRefusedError, match="objection 1 has no reply"):
        moves.update_node(argument, "t1", status="held")


def test_a_file_edited_by_hand_is_read_again():
    argument = play(Argument(), until="steelman")
    files = write_files(argument)
    edited = files[SEMINAR].replace("Streets without traffic are used", "Quiet streets are\nused")
    taken = read_files({**files, SEMINAR: edited})
    assert taken.nodes["n1"].text == "Quiet streets are used by more people."
    assert taken.moves[-1].text == "edited by hand: n1"
    as_json = files[ARGUMENT].replace("Streets without traffic are used", "Quiet streets are used")
    assert read_files({**files, ARGUMENT: as_json}).nodes["n1"].text == "Quiet streets are used by more people."


def test_two_files_edited_differently_are_both_left_alone():
    files = write_files(play(Argument(), until="steelman"))
    edited = {name: text.replace("used by more people", f"used for {name}") for name, text in files.items()}
    with pytest.raises(FileRefusedError, match="were both edited"):
        read_files(edited)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ('"status": "held"', '"status": "perhaps"', "t1", "there is no status"),
        ('"n1 supports t1"', '"n1 supports t9"', "n1 supports t9", "no clause 't9'"),
        ('"kind": "thesis"', '"kind": 5', "t1", "is not a text"),
        ('"phase": "steelman"', '"phase": "close"', "phase", "is not finished"),
        ('"terms": [', '"terms": 5, "old": [', "terms", "not a list"),
        ('"nodes": {', '"nodes": {"t1": {},', "t1", "twice"),
        ("{", "{{", None, "not JSON"),
    ],
)
def test_an_argument_edited_into_nonsense_is_refused_with_line_and_reason(old, new, line, reason):
    """T8: the line and the reason; nothing is taken."""
    text = write_argument(play(Argument(), until="steelman"))
    nonsense = text.replace(old, new, 1)
    with pytest.raises(FileRefusedError) as refused:
        read_files({ARGUMENT: nonsense})
    assert reason in str(refused.value)
    if line is not None:
        assert json.dumps(line) in nonsense.split("\n")[refused.value.line - 1]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("### n1 narrative, held", "### n1 narrative", "a clause begins like"),
        ("### n1 narrative, held", "### n1 story, held", "there is no kind"),
        ("- supports t1", "- proves t1", "a link reads like"),
        ("- supports t1", "And more.\n\nAnd yet more.\n- supports t1", "one paragraph"),
        ("confidence: 70", "confidence: high", "from 0 to 100"),
        ("phase: steelman", "phase: close", "is not finished"),
        ("## Narrative", "## Story", "there is no section"),
    ],
)
def test_a_page_edited_into_nonsense_is_refused_with_its_line(old, new, reason):
    files = write_files(play(Argument(), until="steelman"))
    page = files[SEMINAR].replace(old, new, 1)
    with pytest.raises(FileRefusedError, match=reason) as refused:
        read_files({**files, SEMINAR: page})
    assert abs(refused.value.line - page[: page.index(new)].count("\n") - 1) <= 3


def test_what_a_person_types_for_a_confidence_is_one_number():
    argument = Argument()
    for need in ("question", "thesis"):
        argument = take_answer(argument, next_question(argument), ANSWERS[need])
    for text in ("quite", "150", "between 40 and 50"):
        with pytest.raises(MoveRefusedError, match="from 0 to 100"):
            take_answer(argument, next_question(argument), text)
    assert take_answer(argument, next_question(argument), "about 70 %").nodes["t1"].confidence == 70


def test_whoever_withdraws_the_thesis_early_still_comes_to_an_end():
    argument = moves.update_node(play(Argument(), until="grounds"), "t1", status="withdrawn")
    argument = go_on(argument)
    assert (argument.phase, next_question(argument).need) == ("close", "conclusion")
    argument, words = tell(argument, next_question(argument))
    assert "“The claim was given up; the question is open.”" in words
    assert is_complete(argument)
