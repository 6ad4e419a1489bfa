"""Steering on the page: Enter sends to the run that works, Alt+Enter after it; what waits is shown and can be taken back."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.steps import answers, ask, composer, last_answer, say


def _walk(page: Page, file: Path) -> None:
    ask(page, "walker", f"Walk until {file}")
    expect(page.get_by_text("Running walk")).to_be_visible()
    expect(page.get_by_text("Enter steers this run")).to_be_visible()


def test_enter_steers_the_run_that_works(page: Page, tmp_path: Path):
    over = tmp_path / "over"
    _walk(page, over)
    say(page, "North please")
    waiting = page.get_by_test_id("queued-message")
    expect(waiting).to_contain_text("North please")
    expect(waiting).to_contain_text("Before the next step")
    page.reload()
    expect(waiting).to_contain_text("North please")
    over.touch()
    expect(last_answer(page)).to_contain_text("I heard: Walk, North")
    expect(waiting).to_have_count(0)
    expect(page.get_by_test_id("user-message").last).to_contain_text("North please")
    expect(page.get_by_test_id("user-message")).to_have_count(2)
    expect(answers(page)).to_have_count(1)
    page.reload()
    expect(last_answer(page)).to_contain_text("I heard: Walk, North")
    expect(page.get_by_test_id("user-message")).to_have_count(2)


def test_alt_enter_waits_for_the_end_of_the_run(page: Page, tmp_path: Path):
    over = tmp_path / "over"
    _walk(page, over)
    composer(page).fill("Later please")
    composer(page).press("Alt+Enter")
    expect(page.get_by_test_id("queued-message")).to_contain_text("Queued")
    over.touch()
    expect(answers(page)).to_have_count(2)
    expect(answers(page).first).to_contain_text("I heard: Walk")
    expect(last_answer(page)).to_contain_text("I heard: Walk, Later")


def test_a_waiting_message_is_taken_back(page: Page, tmp_path: Path):
    over = tmp_path / "over"
    _walk(page, over)
    say(page, "North please")
    waiting = page.get_by_test_id("queued-message")
    expect(waiting).to_contain_text("Before the next step")
    page.get_by_role("button", name="Take back").click()
    expect(waiting).to_have_count(0)
    over.touch()
    expect(last_answer(page)).to_have_text("I heard: Walk")
    expect(page.get_by_test_id("user-message")).to_have_count(1)


def test_a_queued_message_that_is_taken_back_stops_nothing(page: Page, tmp_path: Path):
    """It is queued from the menu, as one does without a keyboard."""
    over = tmp_path / "over"
    _walk(page, over)
    composer(page).fill("Later please")
    page.get_by_role("button", name="Add images or documents").click()
    page.get_by_role("menuitem", name="Send after this run").click()
    expect(page.get_by_test_id("queued-message")).to_contain_text("Queued")
    page.get_by_role("button", name="Take back").click()
    expect(page.get_by_test_id("queued-message")).to_have_count(0)
    over.touch()
    expect(last_answer(page)).to_have_text("I heard: Walk")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    expect(page.get_by_text("You stopped this run.")).to_have_count(0)
    page.reload()
    expect(last_answer(page)).to_have_text("I heard: Walk")
    expect(page.get_by_text("You stopped this run.")).to_have_count(0)


def test_a_side_question_leaves_the_conversation_as_it_is(page: Page, tmp_path: Path):
    over = tmp_path / "over"
    _walk(page, over)
    say(page, "/btw Where are you?")
    aside = page.get_by_test_id("side-question")
    expect(aside).to_contain_text("I heard: Walk, Where")
    expect(page.get_by_test_id("user-message")).to_have_count(1)
    aside.get_by_role("button", name="Close").click()
    expect(aside).to_have_count(0)
    over.touch()
    expect(last_answer(page)).to_have_text("I heard: Walk")
