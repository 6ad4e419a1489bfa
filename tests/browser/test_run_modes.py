"""How much a conversation may change, chosen beside the composer."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page, expect
from tests.browser.steps import THREAD, dock, last_answer, say, thread_id
from tests.integration.served.process import Server


def choose(page: Page, mode: str) -> None:
    page.get_by_label("Permissions for this conversation").select_option(mode)


def state(server: Server, page: Page) -> dict:
    return httpx.get(f"{server.url}/threads/{thread_id(page)}/state").json()["values"]


def test_a_plan_changes_nothing_and_the_conversation_remembers_its_mode(page: Page, server: Server):
    page.goto("/new/editor")
    choose(page, "Plan only")
    say(page, "Mend the report")
    expect(page).to_have_url(THREAD)
    expect(last_answer(page)).to_contain_text("The report is mended.")  # a script says so; the files know better
    assert not state(server, page).get("files")
    page.reload()
    expect(page.get_by_label("Permissions for this conversation")).to_have_value("plan")
    page.evaluate("localStorage.clear()")  # as in another browser: the thread knows
    page.reload()
    expect(page.get_by_label("Permissions for this conversation")).to_have_value("plan")
    choose(page, "Ask first")
    page.reload()
    expect(page.get_by_label("Permissions for this conversation")).to_have_value("ask")
    page.goto("/new/editor")
    expect(page.get_by_label("Permissions for this conversation")).to_have_value("")


def test_the_switch_is_as_small_as_its_words_and_says_what_it_means(page: Page):
    page.goto("/new/editor")
    choose(page, "Accept edits")
    expect(page.get_by_text("Changes files without asking. Deletions, rules and other approvals still ask.")).to_be_visible()
    box = page.get_by_label("Permissions for this conversation").bounding_box()
    assert box is not None
    assert box["width"] < 200


def test_ask_first_asks_before_each_change(page: Page, server: Server):
    page.goto("/new/editor")
    choose(page, "Ask first")
    say(page, "Mend the report")
    expect(page).to_have_url(THREAD)
    expect(dock(page)).to_contain_text("/report.md")
    expect(dock(page)).to_contain_text("Ask mode: this changes something.")
    assert not state(server, page).get("files")
    dock(page).get_by_role("button", name="Approve").click()
    expect(dock(page)).to_contain_text("mended")
    assert "/report.md" in state(server, page)["files"]
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("The report is mended.")


def test_a_graph_without_modes_has_no_switch(page: Page):
    page.goto("/new/echo")
    say(page, "Hello")
    expect(last_answer(page)).to_be_visible()
    expect(page.get_by_label("Permissions for this conversation")).to_have_count(0)
