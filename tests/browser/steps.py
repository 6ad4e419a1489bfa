"""What a person does on the page, in their words."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

THREAD = re.compile(r"/t/[0-9a-f-]{36}")
SETTINGS = re.compile(r"#settings")


def composer(page: Page) -> Locator:
    return page.get_by_test_id("composer")


def say(page: Page, text: str) -> None:
    composer(page).fill(text)
    composer(page).press("Enter")


def ask(page: Page, graph: str, text: str) -> None:
    """Begin a conversation with a graph."""
    page.goto(f"/new/{graph}")
    say(page, text)
    expect(page).to_have_url(THREAD)


def answers(page: Page) -> Locator:
    return page.get_by_test_id("agent-message")


def last_answer(page: Page) -> Locator:
    return answers(page).last


def dock(page: Page) -> Locator:
    """The answer box: it stands in the composer's place while a question waits."""
    return page.get_by_test_id("dock")


def open_settings(page: Page, section: str) -> Locator:
    """Settings, by its place in the sidebar."""
    page.get_by_role("button", name="Settings", exact=True).click()
    dialog = page.get_by_role("dialog", name="Settings")
    dialog.get_by_role("link", name=section).click()
    expect(dialog.get_by_role("heading", name=section, level=3)).to_be_visible()
    return dialog


def close_settings(page: Page) -> None:
    """Closes Settings and waits until the address is the old one: going back would end a navigation that begins too early."""
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(SETTINGS)


def receipts(page: Page) -> Locator:
    """What was decided, a line each, in the conversation."""
    return page.get_by_test_id("receipts").get_by_role("listitem")


def thread_id(page: Page) -> str:
    found = THREAD.search(page.url)
    assert found is not None, page.url
    return found[0].removeprefix("/t/")
