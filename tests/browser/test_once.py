"""Everything once: while a question waits it is said in one place, the answer box.

`BEFORE` has the words on screen (see `wordcount.py`) when step line, orange line, card and panel each said the same. A window may show at
most half as many now. On a phone the tutor's own words take up the room that was won: there it may be three quarters.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import AT_REST, violations
from tests.browser.steps import ask, composer, dock
from tests.browser.wordcount import words_on_screen
from tests.integration.served.process import Server, serve

SIZES = [{"width": 1366, "height": 800}, {"width": 375, "height": 800}]
BEFORE = {"plan": (273, 131), "tutor": (299, 118)}
SHARE = {"plan": (0.5, 0.5), "tutor": (0.5, 0.75)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications."""
    with serve(tmp_path_factory.mktemp("once"), graphs=None) as started:
        yield started


def count(page: Page) -> list[int]:
    found = []
    for size in SIZES:
        page.set_viewport_size(size)  # type: ignore[arg-type]
        page.evaluate(AT_REST)
        found.append(len(words_on_screen(page)))
    page.set_viewport_size(SIZES[0])  # type: ignore[arg-type]
    return found


def assert_halved(page: Page, state: str) -> None:
    for now, before, share in zip(count(page), BEFORE[state], SHARE[state], strict=True):
        assert now <= before * share, f"{now} words where there were {before}"


def test_a_plan_is_said_once_and_decided_by_keyboard(page: Page):
    page.get_by_test_id("demo-research_demo").click()
    expect(dock(page)).to_contain_text("Approve this plan?")
    expect(composer(page)).to_be_hidden()
    expect(dock(page).get_by_role("textbox")).to_be_focused()
    assert_halved(page, "plan")
    plan = page.get_by_role("main").inner_text()
    first = dock(page).locator("ol strong").first.inner_text()
    assert plan.count(first) == 1, "the first step is said more than once"
    assert "research_demo" not in page.locator("body").inner_text()
    assert violations(page) == []

    page.keyboard.press("Alt+e")
    step = dock(page).get_by_role("textbox", name="Step 1")
    expect(step).to_be_focused()
    step.fill("something else")
    undo = dock(page).get_by_role("button", name="Undo changes")
    undo.press("Enter")
    expect(undo).to_be_focused()
    expect(step).to_have_value(first)
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(dock(page).get_by_role("textbox")).to_be_focused()

    page.keyboard.type("fewer searches")
    expect(dock(page).get_by_role("button", name="Ask for another plan")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(dock(page).get_by_role("textbox")).to_have_value("")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("You approved the plan")).to_have_count(1)
    expect(dock(page)).to_have_count(0)
    expect(composer(page)).to_be_focused()


def test_a_tutors_question_is_said_once(page: Page):
    ask(page, "deeptutor", "Should schools give marks?")
    expect(dock(page).get_by_role("textbox")).to_be_focused()
    assert_halved(page, "tutor")
    question = dock(page).get_by_role("heading").inner_text()
    assert page.get_by_role("main").inner_text().count(question) == 1


def test_a_message_can_be_asked_instead_and_the_question_comes_back(page: Page):
    page.get_by_test_id("demo-research_demo").click()
    dock(page).get_by_role("button", name="Ask something else").click()
    expect(composer(page)).to_be_focused()
    page.keyboard.type("Never mind")
    expect(dock(page)).to_have_count(0)
    page.get_by_test_id("waits-aside").get_by_role("button", name="Answer it").click()
    expect(dock(page).get_by_role("textbox")).to_be_focused()
    dock(page).get_by_role("button", name="Ask something else").click()
    expect(composer(page)).to_have_value("Never mind")
    assert violations(page) == []
