"""What a subagent did, opened from its row."""

from __future__ import annotations

import httpx
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Watch
from tests.browser.steps import ask, dock, last_answer, thread_id
from tests.integration.served.process import Server


def card(page: Page) -> Locator:
    return page.get_by_test_id("transcript").get_by_role("list", name="What was done").locator("details").first


def finished(page: Page) -> None:
    ask(page, "team", "Find out")
    dock(page).get_by_role("textbox").fill("The Exe")
    dock(page).get_by_role("textbox").press("Enter")
    expect(last_answer(page)).to_contain_text("The Exe")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)


def test_after_a_reload_a_subagents_messages_come_from_the_server(page: Page):
    finished(page)
    page.reload()
    expect(last_answer(page)).to_contain_text("The Exe")
    card(page).locator("summary").click()
    said = card(page).get_by_role("log", name="Messages of scout")
    expect(said).to_contain_text("Task: Find out.")
    expect(said).to_contain_text("→ ask person Which river?")
    expect(said).to_contain_text("✓ ask person: the person says The Exe")
    expect(said).to_contain_text("Answer: the person says The Exe")


def test_a_waiting_subagents_messages_are_shown_too(page: Page):
    ask(page, "team", "Find out")
    expect(dock(page)).to_contain_text("Which river?")
    page.reload()
    expect(dock(page)).to_contain_text("Which river?")
    card(page).locator("summary").click()
    expect(card(page).get_by_role("log")).to_contain_text("→ ask person Which river?")


def test_messages_that_are_no_longer_stored_leave_the_answer(page: Page, server: Server, watch: Watch):
    watch.allow("404")
    finished(page)
    pruned = {"thread_ids": [thread_id(page)], "strategy": "keep_latest"}
    assert httpx.post(f"{server.url}/threads/prune", json=pruned).status_code == 200
    page.reload()
    card(page).locator("summary").click()
    expect(card(page)).to_contain_text("Answer: the person says The Exe")
    expect(card(page)).to_contain_text("Retention has deleted them")
