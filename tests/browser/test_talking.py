"""Talking: streaming, keys, stopping, scrolling, reloading, lost networks, killed servers."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
from playwright.sync_api import BrowserContext, Page, Route, expect
from tests.browser.graphs import WORDS
from tests.browser.steps import THREAD, answers, ask, composer, last_answer, open_settings, say, thread_id
from tests.integration.served.process import Server

# Seen by the page itself: whoever looks from outside may come too late.
SEEN_PART = """window.seenPart = false;
new MutationObserver(() => {
  const text = [...document.querySelectorAll('[data-testid=agent-message]')].at(-1)?.textContent ?? '';
  window.seenPart ||= text.includes('word3') && !text.includes('word199');
}).observe(document, {childList: true, subtree: true, characterData: true})"""


def test_an_answer_streams_and_ends_whole(page: Page):
    """R12: shimmer, then text as it comes; no word lost."""
    page.add_init_script(SEEN_PART)
    ask(page, "talker", "Talk to me")
    expect(last_answer(page)).to_contain_text("word199")
    assert page.evaluate("window.seenPart"), "it came in one piece"
    assert " ".join(last_answer(page).inner_text().split()).startswith(WORDS)


def test_enter_sends_shift_enter_breaks_and_composing_does_not_send(page: Page):
    page.goto("/new/echo")
    composer(page).fill("first line")
    composer(page).press("Shift+Enter")
    composer(page).press_sequentially("second line")
    assert composer(page).input_value() == "first line\nsecond line"
    composer(page).dispatch_event("keydown", {"key": "Enter", "isComposing": True, "keyCode": 229})
    assert composer(page).input_value() == "first line\nsecond line"
    composer(page).press("Enter")
    expect(last_answer(page)).to_contain_text("22 characters")


def test_a_run_that_waited_and_ended_before_the_stream_opened_is_shown(page: Page, server: Server):
    thread = httpx.post(f"{server.url}/threads", json={"metadata": {"graph_id": "echo"}}).json()["thread_id"]
    runs = f"{server.url}/threads/{thread}/runs"
    given = {"messages": [{"type": "human", "id": "asked", "content": "later"}]}
    run = httpx.post(runs, json={"assistant_id": "echo", "input": given, "after_seconds": 2}).json()["run_id"]
    page.route("**/threads/*/stream", lambda route: (httpx.get(f"{runs}/{run}/join", timeout=60), route.continue_()))
    page.goto(f"/t/{thread}")
    expect(last_answer(page)).to_contain_text("5 characters")
    expect(page.get_by_text("Queued", exact=True)).not_to_be_visible()


def test_stop_cancels_on_the_server_and_keeps_the_text(page: Page, server: Server):
    ask(page, "talker", "Talk slowly")
    expect(last_answer(page)).to_contain_text("word5")
    composer(page).press("Escape")
    expect(page.get_by_text("You stopped this run.")).to_be_visible()
    runs = httpx.get(f"{server.url}/threads/{thread_id(page)}/runs").json()
    assert [run["status"] for run in runs] == ["interrupted"]
    kept = last_answer(page).inner_text()
    assert "word5" in kept
    assert "word199" not in kept
    say(page, "Once more")
    expect(last_answer(page)).to_contain_text("word199")


def test_a_reader_who_scrolled_up_is_left_alone(page: Page):
    page.set_viewport_size({"width": 1280, "height": 360})
    ask(page, "talker", "Talk to me")
    expect(last_answer(page)).to_contain_text("word120")
    # It sticks to the bottom: the frame after the one that made it longer shows that.
    page.wait_for_function(
        """() => {
            const talk = document.querySelector('[data-testid=transcript]');
            return talk.scrollHeight > talk.clientHeight && talk.scrollHeight - talk.scrollTop - talk.clientHeight < 60;
        }"""
    )
    talk = page.get_by_test_id("transcript")
    talk.evaluate("e => e.scrollTo({top: 0})")
    expect(page.get_by_role("button", name="Jump to")).to_be_visible()
    expect(last_answer(page)).to_contain_text("word199")
    assert talk.evaluate("e => e.scrollTop") == 0, "the reader was yanked down"


def test_a_reload_in_the_middle_of_an_answer_shows_all_of_it(page: Page):
    ask(page, "talker", "Talk to me")
    expect(last_answer(page)).to_contain_text("word20")
    page.reload()
    expect(last_answer(page)).to_contain_text("word21")
    expect(last_answer(page)).to_contain_text("word199")
    assert " ".join(last_answer(page).inner_text().split()).startswith(WORDS)
    expect(answers(page)).to_have_count(1)


def test_without_network_the_page_says_so_and_goes_on(page: Page, context: BrowserContext, allow_console):
    allow_console("ERR_INTERNET_DISCONNECTED|Failed to (fetch|load resource)")
    ask(page, "talker", "Talk to me")
    expect(last_answer(page)).to_contain_text("word3")
    context.set_offline(True)
    expect(page.get_by_test_id("connection-banner")).to_be_visible()
    composer(page).fill("a draft that must survive")
    context.set_offline(False)
    expect(page.get_by_test_id("connection-banner")).to_be_hidden()
    expect(last_answer(page)).to_contain_text("word199")
    assert " ".join(last_answer(page).inner_text().split()).startswith(WORDS)
    assert composer(page).input_value() == "a draft that must survive"


def test_a_tab_where_nobody_writes_leaves_the_draft_of_another_one(page: Page, open_page):
    other = open_page("/")
    expect(composer(other)).to_have_value("")
    composer(page).fill("a draft of the first tab")
    page.wait_for_function("() => Object.values(localStorage).includes('a draft of the first tab')")
    other.goto("about:blank")
    other.goto("/")
    expect(composer(other)).to_have_value("a draft of the first tab")

    say(other, "sent from the other tab")
    expect(other).to_have_url(THREAD)
    page.reload()
    expect(composer(page)).to_have_value("a draft of the first tab")


def test_a_draft_that_is_erased_stays_erased(page: Page):
    composer(page).fill("to be forgotten")
    page.wait_for_function("() => Object.values(localStorage).includes('to be forgotten')")
    open_settings(page, "This device")
    row = page.get_by_role("dialog").get_by_role("listitem").filter(has_text="A message you began")
    row.get_by_role("button", name="Erase").first.click()
    page.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_role("dialog")).to_contain_text("Erased: A message you began.")
    page.reload()
    expect(composer(page)).to_have_value("")


def test_a_message_that_cannot_be_sent_is_kept_where_it_was_written(page: Page, context: BrowserContext, allow_console):
    allow_console("ERR_FAILED|Failed to load resource")
    ask(page, "echo", "first")
    expect(last_answer(page)).to_contain_text("5 characters")
    away = page.url
    context.route("**/threads/*/runs", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    say(page, "on its way")
    expect(composer(page)).to_have_value("")
    page.reload()
    expect(composer(page)).to_have_value("on its way")

    composer(page).press("Enter")
    expect(composer(page)).to_have_value("")
    page.get_by_role("link", name="New conversation").click()
    expect(page.get_by_role("heading", name="Agents").last).to_be_visible()
    page.goto(away)
    expect(composer(page)).to_have_value("on its way")


def test_a_first_message_that_is_refused_does_not_come_into_another_conversation(
    page: Page, context: BrowserContext, allow_console
):
    """Nor is an empty conversation left behind: the words wait where a new one begins."""
    allow_console("422")
    ask(page, "echo", "first")
    expect(last_answer(page)).to_contain_text("5 characters")
    other, held = page.url, []
    context.route(
        "**/threads/*/runs", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    page.get_by_role("link", name="New conversation").click()
    page.get_by_role("combobox", name="Ask").select_option("echo")
    say(page, "refused")
    expect(page).to_have_url(re.compile(rf"{THREAD.pattern}(?<!{other[-8:]})$"))
    refused = page.url
    page.get_by_role("navigation").get_by_role("link", name="first").first.click()
    expect(page).to_have_url(other)
    composer(page).fill("a draft of this conversation")
    while not held:
        page.wait_for_timeout(20)
    with page.expect_response(lambda response: response.request.method == "DELETE"):
        held.pop().fulfill(status=422, json={"detail": "not today"})
    expect(page.get_by_text("not today")).to_be_visible()
    expect(composer(page)).to_have_value("a draft of this conversation")
    page.goto("/new/echo")
    expect(composer(page)).to_have_value("refused")
    page.goto(refused)
    expect(page.get_by_text("There is no such conversation")).to_be_visible()


def test_a_double_click_begins_one_conversation(page: Page, context: BrowserContext):
    held: list[Route] = []
    context.route("**/threads", lambda route: held.append(route))
    page.goto("/new/echo")
    page.get_by_role("button", name="Start: Plan and write").dblclick()
    while not held:
        page.wait_for_timeout(20)
    expect(page.get_by_role("button", name="Start: Plan and write")).to_be_visible()
    assert len(held) == 1
    held.pop().continue_()
    expect(page).to_have_url(THREAD)


def test_a_message_that_is_taken_back_on_its_way_is_not_sent(
    page: Page, context: BrowserContext, tmp_path: Path, server: Server, allow_console
):
    allow_console("ERR_FAILED|Failed to load resource")
    over = tmp_path / "over"
    ask(page, "talker", f"Talk until {over}")
    expect(last_answer(page)).to_contain_text("word3")
    context.route("**/threads/*/runs", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    say(page, "taken back")
    expect(page.get_by_text("Sending", exact=True)).to_be_visible()
    page.get_by_role("button", name="Take back").click()
    context.unroute_all()
    composer(page).fill("stays")
    expect(page.get_by_role("button", name="Queue")).to_be_enabled()  # nothing is on its way any more
    page.get_by_role("button", name="Queue").click()
    expect(page.get_by_text("Queued", exact=True)).to_be_visible()
    over.touch()
    expect(answers(page)).to_have_count(2)
    runs = httpx.get(f"{server.url}/threads/{thread_id(page)}/runs").json()
    # If a try was under way when the message was taken back, its run was cancelled before it began.
    carried_out = [run["kwargs"]["input"]["messages"][0]["content"] for run in reversed(runs) if run["status"] != "interrupted"]
    assert carried_out == [f"Talk until {over}", "stays"]
    values = httpx.get(f"{server.url}/threads/{thread_id(page)}/state").json()["values"]
    assert "taken back" not in [message["content"] for message in values["messages"]]


def test_messages_queue_while_a_run_works(page: Page, tmp_path: Path):
    over = tmp_path / "over"
    ask(page, "talker", f"Talk until {over}")
    expect(last_answer(page)).to_contain_text("word3")
    say(page, "And then this")
    expect(page.get_by_test_id("queued-message")).to_contain_text("And then this")
    over.touch()
    expect(answers(page)).to_have_count(2)
    expect(page.get_by_test_id("user-message")).to_have_count(2)
    composer(page).press("Escape")


def test_an_edited_message_makes_a_second_branch_and_both_stay(page: Page):
    ask(page, "echo", "one")
    expect(last_answer(page)).to_contain_text("one")
    message = page.get_by_test_id("user-message").last
    message.hover()
    message.get_by_role("button", name="Edit").click()
    page.get_by_label("Edit your message").fill("another")
    page.get_by_role("button", name="Send this instead").click()
    expect(last_answer(page)).to_contain_text("another")
    expect(answers(page)).to_have_count(1)
    page.get_by_role("button", name="Version before").click()
    expect(last_answer(page)).to_contain_text("one")
    page.get_by_role("button", name="Version after").click()
    expect(last_answer(page)).to_contain_text("another")


def test_switching_threads_never_leaks(page: Page):
    ask(page, "talker", "Talk to me")
    expect(last_answer(page)).to_contain_text("word3")
    first = page.url
    ask(page, "echo", "something else")
    expect(last_answer(page)).to_contain_text("something else")
    assert "word" not in last_answer(page).inner_text()
    page.goto(first)
    expect(last_answer(page)).to_contain_text("word199")
    assert " ".join(last_answer(page).inner_text().split()).startswith(WORDS)


def test_checks_of_an_answer_stand_below_it(page: Page):
    """While the run works, after it, and after a reload. What the agent was told is not shown as the user's words."""
    ask(page, "checked", "How old is the bridge?")
    expect(last_answer(page)).to_contain_text("Source: the plaque.")
    for _ in range(2):
        lines = page.get_by_test_id("checks")
        expect(lines).to_have_count(2)
        expect(lines.first.locator("summary")).to_contain_text("0 of 1 check passed; the agent was asked to mend this")
        expect(lines.last.locator("summary")).to_contain_text("1 of 2 checks passed")
        expect(lines.last.get_by_text("It does not greet.")).to_be_hidden()
        lines.last.locator("summary").click()
        expect(lines.last).to_contain_text("has a source")
        expect(lines.last).to_contain_text("polite: It does not greet.")
        expect(page.get_by_test_id("user-message")).to_have_count(1)
        expect(page.get_by_text("not accepted yet")).to_have_count(0)
        expect(page.locator("body")).not_to_contain_text("rubric")
        page.reload()


def test_a_structured_answer_is_checked_too_and_the_page_says_so_meanwhile(page: Page, tmp_path: Path):
    ask(page, "dated", f"How old is the bridge? Judge until {tmp_path / 'judged'}")
    expect(page.get_by_text("Checking the answer…")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Checking the answer…")).to_be_visible()
    (tmp_path / "judged").touch()
    lines = page.get_by_test_id("checks")
    expect(lines).to_have_count(2)
    expect(page.get_by_text("Checking the answer…")).to_have_count(0)
    page.reload()
    expect(lines.last.locator("summary")).to_contain_text("2 of 2 checks passed")
    expect(lines.first.locator("summary")).to_contain_text("0 of 1 check passed; the agent was asked to mend this")
    steps = page.get_by_role("list", name="What was done")
    expect(steps).to_have_count(2)
    order = page.evaluate(
        "[...document.querySelectorAll('[aria-label=\"What was done\"], [data-testid=checks]')].map(e => e.tagName)"
    )
    assert order == ["OL", "DETAILS", "OL", "DETAILS"]


def test_a_killed_server_ends_in_a_clear_state(page: Page, server: Server, allow_console):
    """Last in this file: the others share this server."""
    allow_console("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|Failed to (fetch|load resource)|net::ERR")
    ask(page, "talker", "Talk to me")
    expect(last_answer(page)).to_contain_text("word20")
    server.kill()
    expect(page.get_by_test_id("connection-banner")).to_be_visible()
    server.start()
    expect(page.get_by_test_id("connection-banner")).to_be_hidden()
    expect(last_answer(page)).to_contain_text("word199")
    assert " ".join(last_answer(page).inner_text().split()).startswith(WORDS)
    expect(answers(page)).to_have_count(1)
