"""Project files that stay in the browser: read and changed there, each time once, whatever happens to page, network and server."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.device import put_project, rows_of, steps, texts_of
from tests.browser.steps import ask, dock, last_answer, say, thread_id
from tests.integration.served.process import Server

FILES = {"/notes/a.md": "# Rivers\n\nThe Nile is long.\n", "/b.md": "one two two\n"}
READ = ("read_file", {"file_path": "/project/notes/a.md"})
GREP = ("grep", {"pattern": "nile", "path": "/project/"})
WRITE = ("write_file", {"file_path": "/project/c.md", "content": "new words\n"})
EDIT = ("edit_file", {"file_path": "/project/b.md", "old_string": "one", "new_string": "1"})
MISFIT = ("edit_file", {"file_path": "/project/b.md", "old_string": "three", "new_string": "3"})


@pytest.fixture
def page(page: Page) -> Page:
    put_project(page, FILES)
    return page


def approve(page: Page) -> None:
    dock(page).get_by_role("button", name="Approve").click()


def test_reads_are_automatic_and_said(page: Page):
    ask(page, "filer", steps(READ, GREP))
    expect(last_answer(page)).to_contain_text("The Nile is long.")
    expect(dock(page)).to_contain_text("The agent read /notes/a.md.")
    left = rows_of(page, "departures")
    assert sorted((row["kind"], row["label"]) for row in left) == [("file", "/notes/a.md"), ("snippet", "Lines with nile")]
    assert [row for row in rows_of(page, "outbox") if "delivered_at" not in row] == []


def test_a_change_waits_for_approval_with_its_diff(page: Page):
    ask(page, "filer", steps(WRITE, EDIT))
    diff = dock(page).get_by_label("Change of /c.md")
    expect(diff).to_contain_text("new words")
    assert "/c.md" not in texts_of(page)
    approve(page)
    expect(dock(page).get_by_label("Change of /b.md")).to_contain_text("1 two two")
    approve(page)
    expect(last_answer(page)).to_contain_text("Results:")
    assert texts_of(page) == {**FILES, "/c.md": "new words\n", "/b.md": "1 two two\n"}
    assert [row["by"] for row in rows_of(page, "versions")] == ["agent", "agent"]


def test_a_rejection_reaches_the_agent_and_nothing_changes(page: Page):
    ask(page, "filer", steps(WRITE))
    dock(page).get_by_role("button", name="Reject").click()
    dock(page).get_by_label("Why not?").fill("too early")
    dock(page).get_by_role("button", name="Reject").click()
    expect(last_answer(page)).to_contain_text("too early")
    assert texts_of(page) == FILES


def test_a_patch_that_does_not_fit_is_reported_and_nothing_changes(page: Page):
    ask(page, "filer", steps(MISFIT))
    expect(dock(page)).to_contain_text("does not fit the file as it is now")
    dock(page).get_by_role("button", name="Tell the agent").click()
    expect(last_answer(page)).to_contain_text("the text to replace does not occur in it")
    assert texts_of(page) == FILES


def test_without_approval_changes_are_made_at_once(page: Page):
    put_project(page, FILES, write_approval=False)
    ask(page, "filer", steps(WRITE, EDIT))
    expect(last_answer(page)).to_contain_text("Results:")
    assert texts_of(page)["/c.md"] == "new words\n"
    assert len(rows_of(page, "versions")) == 2


def test_two_tabs_do_it_once(page: Page, open_page, server: Server):
    ask(page, "filer", steps(READ, WRITE, GREP))
    other = open_page(page.url)
    expect(dock(other).get_by_label("Change of /c.md")).to_be_visible()
    approve(page)
    expect(last_answer(page)).to_contain_text("Results:")
    expect(last_answer(other)).to_contain_text("Results:")
    assert len(rows_of(page, "versions")) == 1
    # One run for the message, one for each of the three answers.
    assert len(httpx.get(f"{server.url}/threads/{thread_id(page)}/runs").json()) == 4


def test_what_another_thread_asks_is_done_too(page: Page, server: Server):
    ask(page, "filer", steps(READ))
    expect(last_answer(page)).to_contain_text("The Nile")
    first = page.url
    ask(page, "filer", steps(WRITE, READ))
    expect(dock(page).get_by_label("Change of /c.md")).to_be_visible()
    waiting = thread_id(page)
    page.goto(first)
    say(page, steps(GREP))
    expect(last_answer(page)).to_contain_text("Nile")
    page.goto(f"/t/{waiting}")
    approve(page)
    page.goto(first)
    expect(page.get_by_test_id("thread-row").filter(has_text="waits for you")).to_have_count(0)
    state = httpx.get(f"{server.url}/threads/{waiting}/state").json()
    assert "The Nile is long." in str(state["values"]["messages"][-1])
