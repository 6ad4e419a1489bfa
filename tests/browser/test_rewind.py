"""Going back to before a message: a preview, the conversation and the files, and the way back."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page, expect
from tests.browser.conftest import violations
from tests.browser.steps import THREAD, last_answer, say, thread_id
from tests.integration.served.process import Server


def files(server: Server, page: Page) -> list[str]:
    return sorted(httpx.get(f"{server.url}/threads/{thread_id(page)}/state").json()["values"].get("files", {}))


def test_a_person_goes_back_to_a_message_and_undoes_it(page: Page, server: Server):
    page.goto("/new/writer")
    for number, text in enumerate(["first thought", "second thought", "third thought"], 1):
        say(page, text)
        expect(page).to_have_url(THREAD)
        expect(page.get_by_text("Written down.")).to_have_count(number)
    second = page.get_by_test_id("user-message").nth(1)
    second.hover()
    second.get_by_role("button", name="Go back to here").click()
    dialog = page.get_by_role("dialog", name="Go back to here?")
    expect(dialog).to_contain_text("2 files +0 −2")
    expect(dialog).to_contain_text("/third-thought.md is deleted")
    assert violations(page) == []
    dialog.get_by_role("button", name="Go back", exact=True).click()
    expect(page.get_by_test_id("user-message")).to_have_count(1)
    expect(last_answer(page)).to_contain_text("Written down.")
    assert files(server, page) == ["/first-thought.md"]

    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_test_id("user-message")).to_have_count(3)
    assert files(server, page) == ["/first-thought.md", "/second-thought.md", "/third-thought.md"]

    page.reload()
    expect(page.get_by_test_id("user-message")).to_have_count(3)


def test_a_conversation_goes_on_from_where_it_went_back(page: Page, server: Server):
    page.goto("/new/writer")
    say(page, "one thought")
    expect(last_answer(page)).to_contain_text("Written down.")
    message = page.get_by_test_id("user-message")
    message.hover()
    message.get_by_role("button", name="Go back to here").click()
    page.get_by_role("dialog").get_by_role("button", name="Go back", exact=True).click()
    expect(page.get_by_test_id("user-message")).to_have_count(0)
    say(page, "better thought")
    expect(page.get_by_test_id("user-message")).to_contain_text(["better thought"])
    expect(last_answer(page)).to_contain_text("Written down.")
    assert files(server, page) == ["/better-thought.md"]


def test_an_agent_that_keeps_nothing_offers_nothing(page: Page):
    page.goto("/new/echo")
    say(page, "hello")
    expect(last_answer(page)).to_be_visible()
    message = page.get_by_test_id("user-message")
    message.hover()
    expect(message.get_by_role("button", name="Ask again")).to_be_visible()
    expect(message.get_by_role("button", name="Go back to here")).to_have_count(0)
