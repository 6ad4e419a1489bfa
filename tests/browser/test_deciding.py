"""Deciding: everything that waits for the user, in the answer box and in the inbox."""

from __future__ import annotations

import json
import re

import httpx
from playwright.sync_api import APIResponse, BrowserContext, Page, Request, Route, expect
from tests.browser.conftest import AT_REST
from tests.browser.device import put_project, steps, texts_of
from tests.browser.steps import answers, ask, composer, dock, last_answer, receipts, say, thread_id
from tests.browser.wordcount import words_on_screen
from tests.integration.served.process import Server


def test_an_approval_survives_a_reload_with_its_draft(page: Page):
    """Numbers stay numbers, and what was typed is not lost."""
    ask(page, "clerk", "Order pumps")
    dock(page).get_by_role("button", name="Edit").click()
    dock(page).get_by_label("count").fill("41")
    page.reload()
    expect(dock(page).get_by_label("count")).to_have_value("41")
    dock(page).get_by_label("count").fill("not a number")
    dock(page).get_by_role("button", name="Run with these changes").click()
    expect(dock(page).locator(".fault").first).to_be_visible()
    dock(page).get_by_label("count").fill("42")
    dock(page).get_by_role("button", name="Run with these changes").click()
    expect(last_answer(page)).to_contain_text("ordered 42 of 'pumps'")


def test_two_tabs_one_answer(page: Page, open_page, server: Server):
    ask(page, "clerk", "Order pumps")
    expect(dock(page)).to_be_visible()
    other = open_page(page.url)
    expect(dock(other)).to_be_visible()
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("ordered 3")
    expect(dock(other).get_by_role("button", name="Approve")).to_have_count(0)
    expect(last_answer(other)).to_contain_text("ordered 3")
    assert len(httpx.get(f"{server.url}/threads/{thread_id(page)}/runs").json()) == 2


def test_the_same_tool_twice_gets_two_decisions_in_order(page: Page):
    ask(page, "twins", "Note both")
    expect(dock(page).get_by_text("first")).to_be_visible()
    decisions = dock(page).get_by_role("group")
    decisions.nth(0).get_by_label("Approve").check()
    decisions.nth(1).get_by_label("Reject").check()
    dock(page).get_by_label("Why not?").fill("not that one")
    dock(page).get_by_role("button", name="Send").click()
    expect(last_answer(page)).to_contain_text("noted first")
    expect(last_answer(page)).to_contain_text("not that one")
    assert "noted second" not in last_answer(page).inner_text()


def test_a_subagents_question_names_it_and_the_row_has_a_badge(page: Page):
    ask(page, "team", "Which river?")
    expect(dock(page)).to_contain_text("scout")
    row = page.get_by_test_id("thread-row").filter(has_text="Which river?").first
    expect(row).to_contain_text("1 question")
    page.goto("/inbox")
    expect(page.get_by_test_id("inbox")).to_contain_text("Which river?")
    page.get_by_test_id("inbox").get_by_role("button").filter(has_text="Which river?").first.click()
    dock(page).get_by_role("textbox").fill("the Nile")
    dock(page).get_by_role("button", name="Answer").click()
    expect(last_answer(page)).to_contain_text("the person says the Nile")


def test_every_clarification_by_keyboard(page: Page):
    ask(page, "asker", "text")
    expect(dock(page).get_by_role("textbox")).to_be_focused()
    page.keyboard.type("my own")
    page.keyboard.press("Enter")
    expect(last_answer(page)).to_contain_text("my own")

    say(page, "single")
    expect(dock(page).get_by_role("radio", name="SQLite")).to_be_visible()
    dock(page).get_by_role("radio", name="SQLite").focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(dock(page).get_by_role("radio", name="Postgres")).to_be_checked()
    dock(page).get_by_role("button", name="Answer").press("Enter")
    expect(last_answer(page)).to_contain_text("['pg']")

    say(page, "multiple")
    dock(page).get_by_role("checkbox", name="SQLite").press("Space")
    dock(page).get_by_role("checkbox", name="MySQL").press("Space")
    dock(page).get_by_label("Your own answer").press_sequentially("DuckDB")
    page.keyboard.press("Enter")
    expect(last_answer(page)).to_contain_text("['sq', 'my']")
    expect(last_answer(page)).to_contain_text("DuckDB")
    expect(answers(page)).to_have_count(3)


def test_whoever_writes_the_next_answer_goes_on_writing_when_the_last_one_is_confirmed(page: Page):
    late: list[tuple[Route, APIResponse]] = []

    def tell_late(route: Route) -> None:
        if "resume" in (route.request.post_data or "") and not late:
            late.append((route, route.fetch()))
        else:
            route.continue_()

    page.route(re.compile(r"/threads/[^/]+/runs$"), tell_late)
    ask(page, "filer", steps(("ask_person", {"question": "First?"}), ("ask_person", {"question": "Second?"})))
    dock(page).get_by_role("textbox", name="First?").fill("one")
    page.keyboard.press("Enter")
    second = dock(page).get_by_role("textbox", name="Second?")
    second.fill("two")
    while not late:
        page.wait_for_timeout(20)
    ((route, answer),) = late
    route.fulfill(response=answer)
    expect(receipts(page)).to_have_count(1)
    page.evaluate(AT_REST)
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    expect(last_answer(page)).to_contain_text("the person says two")


DEVICE = re.compile("/assets/owner-")  # without it nobody knows whose device it is
HASTE = """(gone) => {
  window.hasty = false;
  const look = new MutationObserver(() => {
    const card = document.querySelector("[data-testid=dock] .card");
    const approve = [...(card?.querySelectorAll("button") ?? [])].find((each) => each.textContent.startsWith("Approve"));
    if (!approve || gone.some((words) => card.textContent.includes(words))) return;
    look.disconnect();
    const { x, y, width, height } = approve.getBoundingClientRect();
    document.elementFromPoint(x + width / 2, y + height / 2).closest("button")?.click();
    const keys = { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true };
    for (const repeat of [false, true]) card.dispatchEvent(new KeyboardEvent("keydown", { ...keys, repeat }));
    window.hasty = true;
  });
  look.observe(document, { childList: true, subtree: true, characterData: true });
}"""
"""Presses what is under the pointer, and the shortcut, at once when a card comes that has none of these words."""


def test_a_press_that_was_meant_for_the_card_before_answers_nothing(page: Page, server: Server):
    """A second click and a key that is held down; and a card that goes away because somebody else has answered it."""
    answered: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/runs"):
            answered.extend(request.post_data_json.get("command", {}).get("resume", {}))

    page.on("request", note)
    lakes = ("Erie", "Huron", "Ontario")
    ask(page, "juggler", steps(*(("propose_plan", {"objective": name}) for name in lakes)))
    card, thread = dock(page).locator(".card"), f"{server.url}/threads/{thread_id(page)}"
    expect(dock(page)).to_contain_text("1 of 3")
    tasks = httpx.get(f"{thread}/state").json()["tasks"]
    ids = {asked["value"]["plan"]["objective"]: asked["id"] for task in tasks for asked in task["interrupts"]}
    (first,) = (name for name in lakes if name in card.inner_text())
    page.evaluate(HASTE, [first])
    dock(page).get_by_role("button", name="Approve").click()
    page.wait_for_function("() => window.hasty")
    expect(dock(page)).to_contain_text("1 of 2")
    (second,) = (name for name in lakes if name in card.inner_text())
    page.evaluate(HASTE, [first, second])
    elsewhere = {"assistant_id": "juggler", "command": {"resume": {ids[second]: {"decision": "reject", "reason": "dry"}}}}
    httpx.post(f"{thread}/runs/wait", json={**elsewhere, "multitask_strategy": "enqueue"}, timeout=60).raise_for_status()
    page.wait_for_function("() => window.hasty")
    expect(receipts(page).filter(has_text="No longer waiting")).to_have_count(1)
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("the plan is reject")
    (third,) = {*lakes} - {first, second}
    assert answered == [ids[first], ids[third]]


def test_the_card_that_is_shown_stays_when_another_comes_before_it(page: Page, context: BrowserContext):
    """A change of the person's files is shown when the device is ready, perhaps in the middle of a reading of something else."""
    put_project(page, {"/a.md": "one\n"})
    write = ("write_file", {"file_path": "/project/b.md", "content": "two\n"})
    ask(page, "juggler", steps(write, ("propose_plan", {"objective": "Rivers"})))
    expect(dock(page)).to_contain_text("1 of 2")
    expect(dock(page)).to_contain_text("May /b.md be changed?")
    held: list[Route] = []
    context.route(DEVICE, lambda route: held.append(route))
    page.reload()
    expect(dock(page)).to_contain_text("Rivers")
    dock(page).get_by_role("heading", level=2).focus()
    while not held:
        page.wait_for_timeout(20)
    for route in held:
        route.continue_()
    expect(dock(page)).to_contain_text("2 of 2")
    expect(dock(page)).to_contain_text("Rivers")
    page.keyboard.press("Control+Enter")
    expect(dock(page)).to_contain_text("May /b.md be changed?")
    expect(receipts(page)).to_contain_text(["You approved the plan."])
    assert texts_of(page) == {"/a.md": "one\n"}


def test_a_rejection_and_its_reason_reach_the_agent(page: Page):
    ask(page, "clerk", "Order pumps")
    dock(page).get_by_role("button", name="Reject").click()
    dock(page).get_by_label("Why not?").fill("we have enough")
    dock(page).get_by_role("button", name="Reject").click()
    expect(last_answer(page)).to_contain_text("we have enough")


def test_a_long_diff_opens_folded_and_is_marked_by_sign(page: Page):
    ask(page, "editor", "Mend the report")
    diff = dock(page).get_by_label("Change of /report.md")
    expect(diff).to_be_visible()
    expect(diff).to_contain_text("line 4321, mended")
    assert "line 17\n" not in diff.inner_text(), "5,000 lines are not folded"
    signs = diff.inner_text()
    assert "+" in signs
    assert "−" in signs or "-" in signs
    diff.get_by_role("button", name="unchanged lines").first.click()
    # Drawn some rows per frame: the 4,318 that were folded, and the eight around the change.
    expect(diff.locator(".row")).to_have_count(4_326, timeout=120_000)
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("mended")


def test_a_search_that_reached_nobody_can_go_on_with_the_persons_documents(page: Page):
    asked = {"type": "search_retry", "message": "No search engine answered.", "cause": "network", "steps": ["beams"]}
    ask(page, "pauser", json.dumps({**asked, "documents": True}))
    expect(dock(page)).to_contain_text("No search engine answered.")
    dock(page).get_by_role("button", name="Write from my documents").click()
    expect(last_answer(page)).to_contain_text('{"decision": "documents"}')
    ask(page, "pauser", json.dumps({**asked, "documents": False}))
    expect(dock(page).get_by_role("button", name="Retry")).to_be_visible()
    expect(dock(page).get_by_role("button", name="Write from my documents")).to_have_count(0)


def test_a_plan_of_documents_says_what_leaves_and_lets_further_searches_be_changed(page: Page):
    step = {"id": "s1", "tool": "search_documents", "input": "cracked beams", "rationale": "", "dependsOn": []}
    plan = {"objective": "Count", "steps": [step], "estimatedTokenBudget": 100, "revision": 0, "followUps": 2}
    estimate = {"requests": 0, "tokens": 0, "costUsd": 0, "sends": "Nothing will leave the machine."}
    ask(page, "pauser", json.dumps({"type": "plan_approval", "plan": plan, "estimate": estimate}))
    expect(dock(page)).to_contain_text("Search my documents for cracked beams")
    expect(dock(page)).to_contain_text("Nothing will leave the machine.")
    dock(page).get_by_text("Details", exact=True).click()
    expect(dock(page)).to_contain_text("Up to 2 more searches may follow for names found in the first ones.")
    dock(page).get_by_role("button", name="Edit").click()
    expect(dock(page).get_by_label("What step 1 does").get_by_role("option")).to_have_text(["Search my documents"])
    dock(page).get_by_label("Further searches").select_option("none")
    dock(page).get_by_role("button", name="Send the edited plan").click()
    expect(last_answer(page)).to_contain_text('"followUps": 0')


TOOL_BEFORE = (70, 36)
"""Words beside the list of conversations at a tool's approval, 1366 and 375 px wide, when four places named the tool."""


def test_a_tool_approval_takes_few_words(page: Page):
    ask(page, "clerk", "Order pumps")
    expect(dock(page).get_by_role("textbox")).to_be_focused()
    for width, before in zip((1366, 375), TOOL_BEFORE, strict=True):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(AT_REST)
        assert len(words_on_screen(page, without="nav")) <= before * 0.65


def test_shortcuts_on_the_buttons_work_wherever_the_focus_is(page: Page):
    """In the text field they type nothing; in a field elsewhere they press the same button."""
    ask(page, "clerk", "Order pumps")
    field = dock(page).get_by_role("textbox")
    expect(field).to_be_focused()
    page.keyboard.press("Alt+r")
    expect(field).to_have_attribute("placeholder", re.compile("Why not"))
    expect(field).to_have_value("")
    page.keyboard.press("Escape")
    page.get_by_test_id("thread-search").focus()
    page.keyboard.press("Alt+e")
    expect(dock(page).get_by_label("count")).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_be_focused()
    page.get_by_test_id("thread-search").focus()
    page.keyboard.press("Control+Enter")
    expect(last_answer(page)).to_contain_text("ordered 3")
    expect(receipts(page)).to_contain_text(["You approved: Run order."])


def test_the_help_lists_every_shortcut_that_a_button_shows(page: Page):
    ask(page, "clerk", "Order pumps")
    expect(dock(page).get_by_role("textbox")).to_be_focused()
    shown = [words.strip() for words in dock(page).locator("kbd").all_inner_texts()]
    assert len(shown) == 3
    dock(page).get_by_role("heading", level=2).focus()
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keyboard shortcuts").locator("kbd")
    expect(listed.filter(has_text=shown[0])).not_to_have_count(0)
    assert set(shown) <= set(listed.all_inner_texts())


def test_a_question_does_not_take_the_place_of_what_is_being_written(page: Page):
    ask(page, "filer", steps(("ask_person", {"question": "First?"})))
    expect(dock(page)).to_contain_text("First?")
    dock(page).get_by_role("button", name="Ask something else").click()
    page.keyboard.type("Half a sentence")
    page.reload()
    expect(dock(page)).to_contain_text("First?")
    page.keyboard.type("one")
    page.keyboard.press("Enter")
    expect(last_answer(page)).to_contain_text("the person says one")
    expect(composer(page)).to_have_value("Half a sentence")


def test_a_run_that_fails_says_so_once_and_can_be_retried(page: Page):
    ask(page, "breaker", "Go")
    failure = page.get_by_test_id("failure")
    expect(failure).to_be_visible()
    expect(page.get_by_test_id("toast")).to_have_count(0)
    sentence = failure.locator("strong").inner_text()
    assert page.locator("body").inner_text().count(sentence) == 1
    assert "graphs.py" not in failure.inner_text()
    failure.get_by_role("button", name="Retry").click()
    expect(page.get_by_test_id("user-message").first).to_be_visible()


def test_a_question_of_an_mcp_server_is_a_form(page: Page):
    """Defaults are filled in, what is missing is said, and the answer has the types that were asked for."""
    properties = {
        "seats": {"type": "integer", "description": "how many people travel", "minimum": 1, "maximum": 9},
        "seat": {"type": "string", "enum": ["w", "a"], "enumNames": ["Window", "Aisle"], "default": "w"},
        "vegan": {"type": "boolean"},
        "stops": {"type": "array", "items": {"type": "string"}},
    }
    schema = {"type": "object", "properties": properties, "required": ["seats"]}
    question = {"type": "mcp_elicitation", "server": "travel", "tool": "book", "mode": "form", "question_id": "q1"}
    ask(page, "pauser", json.dumps({**question, "message": "How do you fly?", "requested_schema": schema}))
    expect(dock(page)).to_contain_text("travel asks: How do you fly?")
    dock(page).get_by_role("button", name="Answer").click()
    expect(dock(page).get_by_role("alert")).to_contain_text("Fill in “Seats” first.")
    expect(dock(page)).to_contain_text("how many people travel (between 1 and 9)")
    dock(page).get_by_label("Seats").fill("12")
    expect(dock(page).get_by_label("Seats")).to_have_attribute("aria-invalid", "true")
    dock(page).get_by_role("button", name="Answer").click()
    expect(dock(page).get_by_role("alert")).to_have_text("Seats must be between 1 and 9.")
    dock(page).get_by_label("Seats").fill("2")
    dock(page).get_by_label("Seat", exact=True).select_option(label="Aisle")
    dock(page).get_by_label("Stops").fill("Rome\nNew York\n")
    page.reload()
    expect(dock(page).get_by_label("Seats")).to_have_value("2")
    dock(page).get_by_role("button", name="Answer").click()
    expect(last_answer(page)).to_contain_text(
        '"content": {"seats": 2, "seat": "a", "vegan": false, "stops": ["Rome", "New York"]}'
    )
    expect(last_answer(page)).to_contain_text('"question_id": "q1"')
    expect(receipts(page)).to_contain_text("You answered the question.")
    page.reload()
    expect(receipts(page)).to_contain_text("You answered the question.")

    say(page, json.dumps({**question, "mode": "url", "message": "Sign in.", "url": "https://bank.example/login"}))
    expect(dock(page).get_by_role("link", name="https://bank.example/login")).to_have_attribute("rel", "noopener noreferrer")
    dock(page).get_by_role("button", name="Decline").click()
    expect(last_answer(page)).to_contain_text('"action": "decline"')
