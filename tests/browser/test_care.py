"""Care: hostile text is inert, everything is reachable by keyboard, no accessibility rule is broken, small screens work."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import APIResponse, Browser, BrowserContext, Locator, Page, Route, expect
from tests.browser.conftest import AT_REST, LOOKS, PHONE, WIDE, Watch, violations
from tests.browser.steps import ask, composer, dock, last_answer, say
from tests.integration.served.process import Server


def test_no_accessibility_rule_is_broken_in_any_state(browser: Browser, server: Server, watch: Watch):
    """Each state in light, in dark and on a phone, without leaving it in between."""
    context = browser.new_context(
        base_url=server.url, viewport=WIDE, color_scheme="light", reduced_motion="reduce", service_workers="block"
    )
    context.set_default_timeout(90_000)
    page = context.new_page()
    watch.look_at(page)
    found: dict[str, list[str]] = {}

    def look(state: str) -> None:
        for scheme, size in LOOKS:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size(size)
            page.wait_for_function("theme => document.documentElement.dataset.theme === theme", arg=scheme)
            if broken := violations(page, of_colours=scheme == "dark"):
                found[f"{state}, {scheme}, {size['width']} px"] = broken
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.set_viewport_size(WIDE)

    page.goto("/")
    expect(composer(page)).to_be_visible()
    look("first screen")
    ask(page, "clerk", "Order pumps")
    expect(dock(page)).to_be_visible()
    look("approval")
    dock(page).get_by_role("button", name="Edit").click()
    look("approval, editing")
    ask(page, "asker", "multiple")
    expect(dock(page)).to_be_visible()
    look("clarification")
    ask(page, "editor", "Mend it")
    expect(dock(page).get_by_label("Change of /report.md")).to_be_visible()
    look("diff")
    ask(page, "hostile", "Go")
    expect(last_answer(page)).to_be_visible()
    look("answer")
    page.goto("/inbox")
    expect(page.get_by_test_id("inbox")).to_be_visible()
    look("inbox")
    page.goto("/operator")
    expect(page.get_by_role("heading", name="Operator").first).to_be_visible()
    look("operator")
    page.goto("/t/00000000-0000-0000-0000-000000000000")
    expect(page.get_by_text("There is no such conversation")).to_be_visible()
    look("dead link")
    page.goto("/")
    composer(page).wait_for()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    look("palette")
    context.close()
    watch.allow("404")
    assert found == {}


def test_nothing_moves_under_the_pointer_when_the_prices_come(context: BrowserContext, open_page: Callable[..., Page]):
    held: list[Route] = []
    context.route("**/api/wallet/pricing", lambda route: held.append(route))
    page = open_page("/")
    expect(composer(page)).to_be_visible()
    buttons = [page.get_by_role("button", name=name).first for name in ("Knowledge", "Project", "Settings")]
    before = [button.bounding_box() for button in buttons]
    assert page.get_by_role("button", name="Wallet").count() == 0
    while not held:
        page.wait_for_timeout(20)
    held.pop().continue_()
    expect(page.get_by_role("button", name="Wallet Free")).to_be_visible()
    assert [button.bounding_box() for button in buttons] == before


def test_hostile_text_is_inert(page: Page, server: Server):
    ask(page, "hostile", "<img src=x onerror=\"document.title='pwned'\"> hello")
    expect(last_answer(page)).to_contain_text("<script>")
    expect(last_answer(page)).to_contain_text("tfel ot thgir")  # its last line
    assert page.title().startswith("<img src=x"), "a title is text"
    hrefs = page.get_by_test_id("transcript").locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert all(href is None or href.startswith(("http:", "https:", "mailto:", "/", "#")) for href in hrefs)
    assert page.get_by_test_id("transcript").locator("img, iframe, script").count() == 0


def test_a_message_of_a_megabyte_is_folded(page: Page):
    page.goto("/new/echo")
    composer(page).fill("words " * 166_666 + "last", timeout=120_000)
    composer(page).press("Enter")
    expect(last_answer(page)).to_contain_text("1000000 characters", timeout=120_000)
    assert len(page.get_by_test_id("user-message").inner_text()) < 3_000
    expect(page.get_by_role("button", name="Show all 1,000,000 characters")).to_be_visible()


def test_shortcuts_are_listed_and_dialogs_give_the_focus_back(page: Page):
    page.goto("/")
    composer(page).wait_for()
    page.get_by_role("button", name="More", exact=True).focus()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    for _ in range(10):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.querySelector('dialog[open]').contains(document.activeElement) || document.activeElement === document.body"
        )
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="More", exact=True)).to_be_focused()


def test_the_skip_link_leads_to_the_conversation(page: Page):
    page.goto("/")
    composer(page).wait_for()
    skip = page.get_by_role("link", name="Skip to the conversation")
    assert skip.evaluate("e => e === document.querySelector('a, button, input, textarea, select')"), "it does not come first"
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_a_narrow_screen_keeps_the_field_and_the_buttons_in_view(page: Page):
    page.set_viewport_size(PHONE)
    ask(page, "clerk", "Order pumps")
    expect(dock(page).get_by_role("button", name="Approve")).to_be_in_viewport()
    expect(dock(page).get_by_role("textbox")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], "the page scrolls sideways"
    page.get_by_role("button", name="Conversations").click()
    expect(page.get_by_test_id("thread-list")).to_be_visible()
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 640, "height": 400})  # 1280 px at 200 %
    expect(dock(page).get_by_role("textbox")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 640
    page.set_viewport_size({"width": 320, "height": 640})
    expect(dock(page).get_by_role("button", name="Approve")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def rename(page: Page, row: Locator, title: str) -> Locator:
    """Gives the row with its new title."""
    row.hover()
    row.get_by_role("button", name="More about").click()
    page.get_by_role("menuitem", name="Rename").click()
    page.get_by_role("textbox", name="Title", exact=True).fill(title)
    page.keyboard.press("Enter")
    renamed = page.get_by_test_id("thread-row").filter(has_text=title)
    expect(renamed).to_have_count(1)
    return renamed


def test_threads_can_be_renamed_pinned_searched_and_deleted_with_undo(page: Page):
    ask(page, "echo", "About aqueducts")
    expect(last_answer(page)).to_contain_text("aqueducts")
    row = page.get_by_test_id("thread-row").filter(has_text="About aqueducts").first
    renamed = rename(page, row, "On pumps and pipes")
    page.get_by_test_id("thread-search").fill("nothing like it")
    expect(page.get_by_text("No title has these words")).to_be_visible()
    page.get_by_test_id("thread-search").fill("pipes")
    opened = page.url
    renamed.hover()
    renamed.get_by_role("button", name="More about").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(renamed).to_have_count(0)
    expect(page).not_to_have_url(opened)
    page.get_by_role("button", name="Undo").click()
    expect(renamed).to_have_count(1)
    expect(page).to_have_url(opened)
    expect(last_answer(page)).to_contain_text("aqueducts")


def test_a_list_that_was_asked_for_before_a_rename_does_not_take_it_back(page: Page):
    ask(page, "echo", "About cisterns")
    expect(page.get_by_test_id("thread-row").filter(has_text="About cisterns")).to_have_count(1)
    held: list[Route] = []
    late: list[tuple[Route, APIResponse]] = []

    def hold_the_first(route: Route) -> None:
        """It is answered late, with what was then. While that is fetched, the next may come."""
        if held:
            route.continue_()
        else:
            held.append(route)
            late.append((route, route.fetch()))

    page.route("**/threads/search", hold_the_first)
    say(page, "And again")  # what the thread does is looked at in the list
    while not late:
        page.wait_for_timeout(20)
    row = page.get_by_test_id("thread-row").filter(has_text="About cisterns")
    renamed = rename(page, row, "On tanks")
    ((route, answer),) = late
    with page.expect_response(lambda response: response.request == route.request) as told:
        route.fulfill(response=answer)
    told.value.finished()
    page.evaluate(AT_REST)
    assert renamed.count() == 1


def test_a_chosen_theme_is_there_before_anything_is_drawn(page: Page):
    """Dark without a flash: the theme is set by a script that blocks, before the page has a body."""
    page.goto("/")
    composer(page).wait_for()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    for _ in range(2):  # system, light, dark
        page.keyboard.press("Control+Shift+L")
    page.add_init_script(
        """new MutationObserver((_, self) => {
            if (!document.body) return;
            window.firstTheme = document.documentElement.dataset.theme;
            self.disconnect();
        }).observe(document, {childList: true, subtree: true});
        // There is no frame before the style sheet is there: the first one with a body is the first that is drawn.
        requestAnimationFrame(function look() {
            if (document.body) window.firstColour = getComputedStyle(document.body).backgroundColor;
            else requestAnimationFrame(look);
        })"""
    )
    page.reload()
    composer(page).wait_for()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert dark != light
    assert page.evaluate("window.firstTheme") == "dark"
    assert page.evaluate("window.firstColour") == dark


def test_details_have_only_tabs_with_something_in_them(page: Page):
    """A conversation that has nothing but its steps leaves its place to the text; files open the details by themselves."""
    ask(page, "echo", "hello")
    expect(last_answer(page)).to_contain_text("hello")
    details = page.get_by_role("complementary", name="Details")
    expect(details).to_have_count(0)
    page.get_by_role("button", name="Details").click()
    expect(details.get_by_role("tab")).to_have_text(["Steps"])
    expect(details.get_by_role("tabpanel", name="Steps")).to_have_text(re.compile(r"\S(.|\s){20}"))
    page.keyboard.press("Control+Shift+D")
    expect(details).to_have_count(0)
    page.reload()
    ask(page, "editor", "Mend it")
    expect(dock(page)).to_be_visible()
    expect(details.get_by_role("tab")).to_have_text([re.compile(r"Files\s*1"), "Steps"])


def test_a_server_that_takes_no_money_says_so(page: Page):
    page.goto("/new/echo")
    composer(page).wait_for()
    page.get_by_role("button", name="Wallet Free").click()
    expect(page.get_by_role("dialog", name="Wallet")).to_contain_text("Everything here is free.")
    page.keyboard.press("Escape")
    token = f"cashuB{'o2F0gaJhaUgB' * 8}"
    say(page, f"For you: {token}")
    expect(page.get_by_text("There is a Cashu token in this message")).to_be_visible()
    page.reload()
    expect(composer(page)).to_have_value("")
    assert token not in page.evaluate("JSON.stringify({...localStorage})")
