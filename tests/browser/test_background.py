"""Subagents that work in the background, beside the conversation."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.browser.steps import answers, ask, last_answer, say


def tasks(page: Page) -> Locator:
    page.get_by_role("tab", name="Background").click()
    return page.get_by_test_id("background-task")


def test_a_task_is_shown_while_it_works_and_the_agent_hears_of_its_end(page: Page, tmp_path: Path):
    ask(page, "expedition", f"Dig until {tmp_path / 'found'}")
    expect(last_answer(page)).to_contain_text("A digger is on the way.")
    task = tasks(page)
    expect(task).to_contain_text("digger")
    expect(task).to_contain_text("Working")
    (tmp_path / "found").touch()
    expect(last_answer(page)).to_contain_text("The digger is back.")
    expect(task).to_contain_text("Done")
    expect(page.get_by_test_id("user-message")).to_have_count(1)
    page.reload()
    expect(last_answer(page)).to_contain_text("The digger is back.")
    expect(page.get_by_test_id("user-message")).to_have_count(1)


def test_a_task_s_conversation_is_opened_and_written_to(page: Page, tmp_path: Path):
    (tmp_path / "found").touch()
    ask(page, "expedition", f"Dig until {tmp_path / 'found'}")
    expect(last_answer(page)).to_contain_text("The digger is back.")
    tasks(page).get_by_role("link", name="Open the conversation of digger").click()
    expect(answers(page)).to_contain_text("I found a coin.")
    say(page, f"Once more until {tmp_path / 'found'}")
    expect(answers(page)).to_have_count(2)
    expect(last_answer(page)).to_contain_text("I found a coin.")
    page.get_by_role("link", name="Back to the conversation").click()
    expect(answers(page).nth(1)).to_contain_text("The digger is back.")


def test_the_details_do_not_cover_a_task_s_conversation_on_a_phone(page: Page, tmp_path: Path):
    (tmp_path / "found").touch()
    ask(page, "expedition", f"Dig until {tmp_path / 'found'}")
    expect(last_answer(page)).to_contain_text("The digger is back.")
    page.set_viewport_size({"width": 390, "height": 800})
    page.get_by_role("button", name="Details").click()
    details = page.get_by_role("dialog", name="Details")
    details.get_by_role("tab", name="Background").click()
    details.get_by_role("link", name="Open the conversation of digger").click()
    expect(details).to_be_hidden()
    expect(answers(page)).to_contain_text("I found a coin.")


def test_a_task_is_stopped(page: Page, tmp_path: Path):
    ask(page, "expedition", f"Dig until {tmp_path / 'never'}")
    expect(last_answer(page)).to_contain_text("A digger is on the way.")
    task = tasks(page)
    task.get_by_role("button", name="Stop digger").click()
    expect(task).to_contain_text("Stopped")
    expect(task.get_by_role("button")).to_have_count(0)
