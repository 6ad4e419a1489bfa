"""The workspace by clicking: its tree, a viewer, uploads, mentions, an approval with its diff; and what happens when a file has changed
meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.conftest import PHONE, WIDE, Watch, violations
from tests.browser.model_server import calling, serve_model, tools_of
from tests.browser.steps import ask, composer, dock, last_answer
from tests.integration.served.process import Server, serve

FIRST_RUN_MS = 30_000
"""A graph of ours is built when it is first run."""
PLAN = "# May\n\n- 3 May: tea at four\n- 9 May: walk to the well\n- 17 May: open\n"


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The main agent delegates what the person wrote, the subagent edits the plan or writes a note."""
    last = request["messages"][-1]
    if last["role"] == "tool":
        return {"content": f"Done. {last['content']}"}
    said = next(message["content"] for message in reversed(request["messages"]) if message["role"] == "user")
    if "task" in tools_of(request):
        return calling("task", description=str(said), subagent_type="gcs-filesystem")
    if "note" in str(said):
        return calling("write_file", file_path="/notes/tea.md", content="Tea is at five.\n")
    return calling("edit_file", file_path="/plans/may.md", old_string="tea at four", new_string="tea at five")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with (
        serve_model(answer) as variables,
        serve(tmp_path_factory.mktemp("workspace"), graphs=None, **variables) as started,
    ):
        yield started


@pytest.fixture
def files(server: Server) -> Path:
    """The workspace's folder with a plan in it."""
    folder = server.folder / "data" / "workspace" / "local" / "workspace"
    (folder / "plans").mkdir(parents=True, exist_ok=True)
    (folder / "plans" / "may.md").write_text(PLAN)
    return folder


def panel(page: Page) -> Locator:
    return page.get_by_test_id("workspace")


def open_file(page: Page, name: str) -> Locator:
    stored(page, name).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def stored(page: Page, name: str) -> Locator:
    """A file of the tree. By its exact name: while it is uploaded there is a button to cancel that, which names it, too."""
    return panel(page).get_by_role("button", name=name, exact=True)


def drop(page: Page, name: str, text: str) -> None:
    dropped = page.evaluate_handle(
        "([name, text]) => { const data = new DataTransfer(); data.items.add(new File([text], name)); return data; }",
        [name, text],
    )
    panel(page).dispatch_event("drop", {"dataTransfer": dropped})


def test_a_change_is_approved_by_its_diff(page: Page, files: Path):
    """W5, W6: from a mention in the composer to the changed file."""
    page.goto("/new/workspace")
    composer(page).press_sequentially("Move the tea in @ma")
    option = page.get_by_role("option", name="/plans/may.md")
    expect(option).to_be_visible()
    expect(composer(page)).to_have_attribute("aria-activedescendant", option.get_attribute("id") or "none")
    assert violations(page) == []
    composer(page).press("Escape")
    expect(option).to_be_hidden()
    for _ in "@ma":
        composer(page).press("Backspace")
    composer(page).press_sequentially("@ma")
    expect(option).to_be_visible()
    expect(composer(page)).to_have_attribute("aria-activedescendant", option.get_attribute("id") or "none")
    composer(page).press("Enter")
    expect(composer(page)).to_have_value("Move the tea in @/plans/may.md ")
    composer(page).press_sequentially("to five")
    composer(page).press("Enter")

    diff = dock(page).get_by_label("Change of /plans/may.md")
    expect(diff).to_contain_text("3 May: tea at five", timeout=FIRST_RUN_MS)
    expect(diff).to_contain_text("9 May: walk to the well")
    expect(dock(page)).to_contain_text("gcs-filesystem")
    assert "1 lines added, 1 removed" in (diff.get_attribute("aria-label") or "")
    assert violations(page) == []
    expect(dock(page).get_by_text("has changed since")).to_have_count(0)

    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("Done.")
    assert (files / "plans" / "may.md").read_text() == PLAN.replace("four", "five")
    dialog = open_file(page, "may.md")
    expect(dialog.locator(".prose")).to_contain_text("tea at five")


def test_a_base_that_changed_is_warned_about_and_not_overwritten(page: Page, files: Path):
    ask(page, "workspace", "Move the tea")
    expect(dock(page).get_by_label("Change of /plans/may.md")).to_be_visible(timeout=FIRST_RUN_MS)
    theirs = PLAN.replace("17 May: open", "17 May: closed")
    (files / "plans" / "may.md").write_text(theirs)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(dock(page).get_by_role("alert")).to_contain_text("has changed since this diff was made")
    dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("changed")
    assert (files / "plans" / "may.md").read_text() == theirs


def test_files_go_up_and_down(page: Page, files: Path, tmp_path: Path):
    """A tree by folder; uploads with a progress and an end; a large one in parts; a download; an image; a deletion that is asked about."""
    ask(page, "workspace", "Write a note")
    expect(dock(page).get_by_text("new file")).to_be_visible(timeout=FIRST_RUN_MS)
    panel(page).get_by_label("Into").fill("/papers")
    large = tmp_path / "large.txt"
    large.write_bytes(b"A line of a large file.\n" * 800_000)
    (tmp_path / "dot.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
    )
    panel(page).get_by_label("Files to upload").set_input_files([large, tmp_path / "dot.svg"])
    uploads = panel(page).get_by_role("list", name="Uploads")
    expect(uploads.get_by_text("stored")).to_have_count(2, timeout=120_000)
    assert (files / "papers" / "large.txt").read_bytes() == large.read_bytes()

    drop(page, "dropped.txt", "From a drop.\n")
    expect(uploads.get_by_text("stored")).to_have_count(3)
    expect(stored(page, "dropped.txt")).to_be_visible()
    assert (files / "papers" / "dropped.txt").read_text() == "From a drop.\n"
    page.route("**/slow.txt?*", lambda route: None)  # never answered
    drop(page, "slow.txt", "Slow.\n")
    panel(page).get_by_role("button", name="Cancel the upload of /papers/slow.txt").click()
    expect(uploads.get_by_text("cancelled, nothing was stored")).to_be_visible()

    dialog = open_file(page, "large.txt")
    expect(dialog).to_contain_text("of 19.2 MB")
    dialog.get_by_role("button", name="Show more").click()
    expect(dialog).to_contain_text("The first 655 kB")
    with page.expect_download() as saved:
        dialog.get_by_role("link", name="Download").click()
    assert Path(saved.value.path()).read_bytes() == large.read_bytes()
    page.keyboard.press("Escape")
    image = open_file(page, "dot.svg").get_by_role("img")
    page.wait_for_function("image => image.complete && image.naturalWidth === 9", arg=image.element_handle())
    page.get_by_role("dialog").get_by_role("button", name="Delete…").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the file").click()
    expect(stored(page, "dot.svg")).to_have_count(0)
    assert not (files / "papers" / "dot.svg").exists()


def test_a_conflict_shows_both_versions_and_a_way_out(
    page: Page, files: Path, tmp_path: Path, allow_console: Callable[[str], None]
):
    allow_console("412")
    ask(page, "workspace", "Move the tea")
    (tmp_path / "may.md").write_text("# May\n\nEmpty.\n")
    panel(page).get_by_label("Into").fill("/plans")
    panel(page).get_by_label("Files to upload").set_input_files(tmp_path / "may.md")
    conflict = page.get_by_role("dialog", name="/plans/may.md is there already")
    expect(conflict.get_by_label("From what is there to yours")).to_contain_text("tea at four")
    assert violations(page) == []
    conflict.get_by_role("button", name="Keep both, mine as may (2).md").click()
    expect(stored(page, "may (2).md")).to_be_visible()
    assert (files / "plans" / "may.md").read_text() == PLAN

    dialog = open_file(page, "may.md")
    dialog.get_by_role("button", name="Edit").click()
    dialog.get_by_label("Text of /plans/may.md").fill("# May\n\nMine.\n")
    (files / "plans" / "may.md").write_text("# May\n\nTheirs.\n")
    dialog.get_by_role("button", name="Save").click()
    changed = page.get_by_role("dialog", name="/plans/may.md has changed meanwhile")
    expect(changed.get_by_label("From what is there to yours")).to_contain_text("Theirs.")
    changed.get_by_role("button", name="Replace it with mine").click()
    expect(page.get_by_text("/plans/may.md is stored.")).to_be_visible()
    assert (files / "plans" / "may.md").read_text() == "# May\n\nMine.\n"
    expect(dialog.locator(".prose")).to_contain_text("Mine.")  # read again: this is the version that it would delete

    dialog.get_by_role("button", name="Delete…").click()
    (files / "plans" / "may.md").write_text("# May\n\nTheirs again.\n")
    dialog.get_by_role("button", name="Delete the file").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Theirs again.")
    assert (files / "plans" / "may.md").exists()


def test_a_slow_save_or_deletion_leaves_the_file_that_is_open_by_then(page: Page, files: Path):
    (files / "plans" / "june.md").write_text("# June\n")
    ask(page, "workspace", "Move the tea")
    held: list[Route] = []
    page.route(
        "**/api/workspace/files/plans/may.md*",
        lambda route: route.continue_() if route.request.method == "GET" else held.append(route),
    )

    def go_on_with_another_file(end: str) -> None:
        """Leaves the file while its request is held, edits another one, and lets the request end."""
        page.keyboard.press("Escape")
        dialog = open_file(page, "june.md")
        dialog.get_by_role("button", name="Edit").click()
        dialog.get_by_label("Text of /plans/june.md").fill("# June, being written\n")
        held.pop().continue_()
        expect(page.get_by_text(end)).to_be_visible()
        expect(dialog.get_by_label("Text of /plans/june.md")).to_have_value("# June, being written\n")
        page.keyboard.press("Escape")

    dialog = open_file(page, "may.md")
    dialog.get_by_role("button", name="Edit").click()
    dialog.get_by_label("Text of /plans/may.md").fill("# May, saved\n")
    with page.expect_request(lambda request: request.method == "PUT"):
        dialog.get_by_role("button", name="Save").click()
    go_on_with_another_file("/plans/may.md is stored.")
    assert (files / "plans" / "may.md").read_text() == "# May, saved\n"

    dialog = open_file(page, "may.md")
    dialog.get_by_role("button", name="Delete…").click()
    with page.expect_request(lambda request: request.method == "DELETE"):
        dialog.get_by_role("button", name="Delete the file").click()
    go_on_with_another_file("/plans/may.md is deleted.")
    assert not (files / "plans" / "may.md").exists()


def test_the_panel_breaks_no_rule_in_any_look(page: Page, files: Path, watch: Watch):
    ask(page, "workspace", "Move the tea")
    expect(stored(page, "may.md")).to_be_visible()
    for scheme, size in (("dark", WIDE), ("light", PHONE)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size(size)
        if size is PHONE:
            page.get_by_role("button", name="Details").click()
        expect(stored(page, "may.md")).to_be_visible()
        assert violations(page) == [], scheme
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
