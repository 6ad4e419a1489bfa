"""What a person has opened stays open when new data arrives, and when it is scrolled out of sight."""

from __future__ import annotations

import json

import httpx
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.device import put_project
from tests.browser.steps import ask, dock, last_answer, say
from tests.integration.served.process import Server

SEEN_BY_OBSERVERS = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  await frame();
  await new Promise((seen) => new IntersectionObserver(seen).observe(document.body));
  await frame();
}"""


def lines(page: Page) -> Locator:
    return page.get_by_test_id("transcript").get_by_role("list", name="What was done").locator("details")


def test_a_subagents_card_stays_open_when_it_finishes(page: Page):
    ask(page, "team", "Find out")
    expect(dock(page)).to_contain_text("Which river?")
    card = lines(page).first
    card.locator("summary").click()
    expect(card).to_have_attribute("open", "")
    dock(page).get_by_role("textbox").fill("The Exe")
    dock(page).get_by_role("textbox").press("Enter")
    expect(last_answer(page)).to_contain_text("The Exe")
    expect(card.locator("summary")).to_contain_text("done")
    expect(card).to_have_attribute("open", "")


def test_a_step_stays_open_when_it_joins_the_line_above(page: Page):
    """Two files that were read become one line. It was opened while only the first was there."""
    put_project(page, {"/a.md": "first text\n", "/b.md": "second text\n"})
    held: list[Route] = []
    resumes = 0

    def hold_second(route: Route) -> None:
        nonlocal resumes
        resumes += "resume" in (route.request.post_data or "")
        held.append(route) if resumes == 2 else route.continue_()

    page.route("**/threads/*/runs", hold_second)
    ask(page, "filer", json.dumps([["read_file", {"file_path": f"/project/{name}.md"}] for name in "ab"]))
    expect(lines(page)).to_have_count(1)
    lines(page).last.locator("summary").click()
    expect(lines(page).last).to_have_attribute("open", "")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(last_answer(page)).to_contain_text("second text")
    expect(lines(page)).to_have_count(1)
    expect(lines(page)).to_contain_text("second text")
    expect(lines(page)).to_have_attribute("open", "")


def test_a_step_stays_open_when_it_is_scrolled_out_of_sight(page: Page, server: Server):
    thread = make_long_thread(server)
    page.goto(f"/t/{thread}")
    expect(page.get_by_text("turn 2 line 199", exact=False)).to_be_visible()
    scroll_to(page, "0")
    expect(page.get_by_text("question 0")).to_be_in_viewport()
    opened = page.locator("[data-turn]", has_text="question 0").locator("details")
    opened.locator("summary").click()
    expect(opened).to_have_attribute("open", "")
    scroll_to(page, "1e9")
    expect(page.get_by_text("turn 2 line 199", exact=False)).to_be_in_viewport()
    page.evaluate(SEEN_BY_OBSERVERS)
    scroll_to(page, "0")
    expect(page.get_by_text("question 0")).to_be_in_viewport()
    expect(opened).to_have_attribute("open", "")


def test_a_chosen_bar_stays_chosen_when_the_timeline_is_read_again(page: Page):
    ask(page, "hostile", "Go")
    expect(last_answer(page)).to_have_attribute("data-status", "done")
    page.get_by_role("tab", name="Steps").click()
    page.locator("svg g", has_text="Write file").first.locator("rect").click()
    expect(page.locator("svg rect.chosen")).to_have_count(1)
    bars = page.locator("svg g").count()
    say(page, "Once more")
    expect(page.locator("svg g").nth(bars)).to_be_attached()
    expect(page.locator("svg rect.chosen")).to_have_count(1)


def scroll_to(page: Page, top: str) -> None:
    page.get_by_test_id("transcript").evaluate(f"element => element.scrollTo({{top: {top}, behavior: 'instant'}})")


def make_long_thread(server: Server) -> str:
    """Three turns, each with a step and far longer than a screen."""
    messages = []
    for turn in range(3):
        text = "\n\n".join(f"turn {turn} line {line}" for line in range(200))
        used = {"name": "note", "args": {"text": "x"}, "id": f"call{turn}"}
        messages += [
            {"type": "human", "content": f"question {turn}", "id": f"h{turn}"},
            {"type": "ai", "content": "", "tool_calls": [used], "id": f"c{turn}"},
            {"type": "tool", "content": "noted", "tool_call_id": f"call{turn}", "id": f"t{turn}"},
            {"type": "ai", "content": text, "id": f"a{turn}"},
        ]
    with httpx.Client(base_url=server.url, timeout=60) as client:
        thread = client.post("/threads", json={"metadata": {"graph_id": "echo", "title": "Long"}}).json()["thread_id"]
        client.post(f"/threads/{thread}/state", json={"values": {"messages": messages}, "as_node": "model"}).raise_for_status()
    return str(thread)
