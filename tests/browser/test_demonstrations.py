"""A stranger, without a key: "See it work" from the first screen to a checked report, by clicking alone."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.steps import dock, last_answer
from tests.browser.test_care import violations
from tests.integration.served.process import Server, serve


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications, demonstrations among them."""
    with serve(tmp_path_factory.mktemp("demonstrations"), graphs=None) as started:
        yield started


def test_research_from_the_first_screen_to_a_checked_report(page: Page, tmp_path: Path):
    """R1 to R5, R12: plan, approval, evidence, report, verification."""
    page.get_by_test_id("demo-research_demo").click()
    expect(dock(page)).to_contain_text("Quellmouth")
    dock(page).get_by_role("button", name="Approve").click()
    page.get_by_role("link", name="Check every sentence of this report").click(timeout=120_000)
    report = page.get_by_test_id("report")
    expect(report).to_contain_text("Quellmouth")
    report.get_by_role("button", name="Source 1", exact=True).first.click()
    expect(report.get_by_label("Evidence of the chosen sentence").locator("mark").first).to_be_visible()
    assert violations(page) == []
    report.get_by_role("button", name="Verify").click()
    expect(report.get_by_text("Everything fits").or_(report.get_by_text("holds")).first).to_be_visible(timeout=120_000)
    with page.expect_download() as saved:
        report.get_by_role("button", name="Export").click()
        page.get_by_role("menuitem").filter(has_text=".zip").click()
    bundle = tmp_path / "bundle.zip"
    saved.value.save_as(bundle)
    assert "trail.jsonl" in zipfile.ZipFile(bundle).namelist()


def test_an_agent_plans_asks_and_writes(page: Page):
    page.get_by_test_id("demo-demo_agent").click()
    expect(dock(page)).to_be_visible(timeout=120_000)
    dock(page).get_by_role("radio").or_(dock(page).get_by_role("checkbox")).first.check()
    dock(page).get_by_role("button", name="Answer").click()
    dock(page).get_by_role("button", name="Approve").click(timeout=120_000)
    expect(last_answer(page)).to_contain_text("note", timeout=120_000)
    page.get_by_role("tab", name="Files").click()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text(".md")
    page.get_by_role("tab", name="Timeline").click()
    expect(page.get_by_role("complementary", name="Details").locator("svg").first).to_be_visible()
