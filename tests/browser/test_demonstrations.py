"""A stranger, without a key: the demos from the first screen to a checked report, by clicking alone."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect
from tests.browser.steps import composer, dock, last_answer
from tests.browser.test_care import violations
from tests.integration.served.process import Server, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications, demonstrations among them."""
    with serve(tmp_path_factory.mktemp("demonstrations"), graphs=None) as started:
        yield started


def test_research_from_the_first_screen_to_a_report_whose_mistakes_are_caught(page: Page, tmp_path: Path):
    """R1 to R5, R12: plan, approval, evidence, report, verification."""
    page.get_by_test_id("demo-research_demo").click()
    expect(dock(page)).to_contain_text("how deep is Rani ki Vav")
    dock(page).get_by_role("button", name="Approve").click()
    report = page.get_by_test_id("report")
    expect(report).to_contain_text(
        "7 of 9 sentences are supported by their sources; 1 differs, 1 is not in its source.", timeout=120_000
    )
    expect(report).to_contain_text("The writer in this demo plays a script")
    wrong = report.locator("[data-claim]").filter(has_text="Rani ki Vav is 38 metres deep")
    expect(wrong).to_contain_text("Differs: “38 metres”; the source says “28 metres”.")
    expect(report.locator("[data-claim]").filter(has_text="Its masons were paid in salt")).to_have_count(0)
    invented = report.get_by_role("listitem").filter(has_text="Its masons were paid in salt")
    expect(invented).to_contain_text("Not in its source.")
    details = page.get_by_role("complementary", name="Details")
    expect(details).to_contain_text("Supports 4 sentences")
    expect(details).to_contain_text("Supports 3 sentences, differs from 1")
    wrong.get_by_text("metres deep").click()
    expect(page.get_by_test_id("evidence").locator("mark")).to_contain_text("28 metres deep")
    assert violations(page) == []
    report.get_by_role("button", name="Verify").click()
    expect(report.get_by_role("status")).to_contain_text("Unchanged since it was written: 3 sources", timeout=120_000)
    with page.expect_download() as saved:
        report.get_by_role("button", name="Export").click()
        page.get_by_role("menuitem").filter(has_text=".zip").click()
    bundle = tmp_path / "bundle.zip"
    saved.value.save_as(bundle)
    assert "trail.jsonl" in zipfile.ZipFile(bundle).namelist()


def test_an_agent_plans_asks_and_writes(page: Page):
    page.get_by_role("button", name="Approve before tools run").click()
    expect(dock(page)).to_be_visible(timeout=120_000)
    dock(page).get_by_role("radio").or_(dock(page).get_by_role("checkbox")).first.check()
    dock(page).get_by_role("button", name="Answer").click()
    for change in ("Write /note.md?", "Change /note.md?"):
        expect(dock(page)).to_contain_text(change, timeout=120_000)
        dock(page).get_by_role("button", name="Approve").click()
    expect(last_answer(page)).to_contain_text("The note is in /note.md", timeout=120_000)
    page.get_by_role("tab", name="Files").click()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text(".md")
    page.get_by_role("tab", name="Steps").click()
    expect(page.get_by_role("complementary", name="Details").locator("svg").first).to_be_visible()


def test_an_early_click_waits_until_it_is_known_what_can_run(page: Page, context: BrowserContext):
    """It went to the workspace, which cannot run, where the server was slow to say so."""
    held: list[Route] = []
    context.route("**/api/graphs", lambda route: held.append(route))
    page.goto("/")
    with page.expect_request("**/api/graphs"):
        page.get_by_role("button", name="Approve before tools run").click()
    context.route("**/api/graphs", lambda route: route.continue_())
    for route in held:
        route.continue_()
    expect(dock(page)).to_be_visible(timeout=120_000)
    expect(page.get_by_role("main").get_by_role("heading", level=1)).not_to_contain_text("naming")


@pytest.mark.parametrize(("graph", "name"), [("workspace", "Workspace"), ("deep_research", "Deep research")])
def test_what_an_application_lacks_is_said_before_the_click(page: Page, graph: str, name: str):
    page.goto(f"/new/{graph}")
    told = page.get_by_test_id("not-ready")
    expect(told).to_contain_text(f"{name} needs a model that can use tools. None is connected yet.")
    assert "make_graph" not in told.inner_text()
    expect(page.get_by_test_id("starter")).to_have_count(0)
    expect(composer(page)).to_have_count(0)
    expect(page.get_by_role("navigation").get_by_role("link", name="Workspace")).to_contain_text("needs a model")
    assert violations(page) == []
    told.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("dialog", name="Settings").get_by_role("heading", name="Models", level=3)).to_be_visible()


def test_a_start_that_fails_leaves_no_empty_conversation(page: Page, context: BrowserContext, server: Server, allow_console):
    """Where it was not known yet that the application cannot run."""
    allow_console("503")
    held: list[Route] = []
    context.route("**/api/graphs", lambda route: held.append(route))
    before = httpx.post(f"{server.url}/threads/search", json={}).json()
    page.goto("/new/workspace")
    page.get_by_role("button", name="Start: Find your way").click()
    toast = page.get_by_role("alert").filter(has_text="needs a model that can use tools")
    expect(toast).to_be_visible()
    assert "make_graph" not in toast.inner_text()
    expect(page).to_have_url(re.compile("/new/workspace$"))
    expect(composer(page)).to_have_value(re.compile("What is in this workspace"))
    expect(page.get_by_test_id("thread-row").filter(has_text="What is in this workspace")).to_have_count(0)
    assert httpx.post(f"{server.url}/threads/search", json={}).json() == before
    for route in held:
        route.continue_()
    expect(page.get_by_test_id("not-ready")).to_be_visible()
