"""A server that asks who you are: the page can be loaded, asks for a key, and shows an operator's page to operators only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import GRAPHS
from tests.browser.device import put_project
from tests.browser.steps import ask, composer, last_answer, open_settings
from tests.integration.served.process import Server, environment, serve
from tests.integration.served.warm import run_warm

DRAFT_OF_ADA = "stepwell.draft.new@ada"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("signing_in")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    make_key(folder, "--user", "ada")  # a server that would ask, but could know nobody, does not start
    with serve(folder, graphs=GRAPHS, STEPWELL_AUTH="required") as started:
        yield started


def make_key(folder: Path, *arguments: str) -> str:
    variables = environment(STEPWELL_DATA_DIR=str(folder / "data"))
    made = run_warm(["keys", "create", *arguments], folder, variables)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def sign_out(page: Page, user: str) -> None:
    account = open_settings(page, "Account")
    expect(account).to_contain_text(f"signed in as {user}")
    with page.expect_event("load"):  # the page begins anew: what is written before that is gone
        account.get_by_role("button", name="Sign out").click()


def test_a_visitor_signs_in_with_a_key_and_talks(page: Page, folder: Path, allow_console):
    allow_console("401")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(page, "sw_wrong_key")
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, make_key(folder, "--user", "ada"))
    expect(composer(page)).to_be_visible()  # whoever goes elsewhere before the server has answered is not signed in
    ask(page, "echo", "hello")
    expect(last_answer(page)).to_contain_text("hello")
    page.keyboard.press("Control+k")
    expect(page.get_by_text("Operator: keys, usage, health")).to_have_count(0)


def test_an_operator_sees_usage_and_keys(page: Page, folder: Path, allow_console):
    allow_console("401")
    sign_in(page, make_key(folder, "--user", "grace", "--operator"))
    expect(composer(page)).to_be_visible()
    page.goto("/operator")
    expect(page.get_by_role("tab", name="Usage")).to_be_visible()
    page.get_by_role("tab", name="Keys").click()
    expect(page.get_by_text("grace").first).to_be_visible()


def test_the_next_account_in_a_browser_finds_nothing_of_the_one_before(page: Page, folder: Path, open_page, allow_console):
    allow_console("401")
    sign_in(page, make_key(folder, "--user", "ada"))
    expect(composer(page)).to_be_visible()
    put_project(page, {"/diary.md": "mine"}, database="stepwell:ada")
    expect(page.get_by_role("button", name="Project 1 file")).to_be_visible()
    composer(page).fill("a message of Ada's")
    other_tab = open_page("/")
    expect(other_tab.get_by_role("button", name="Project 1 file")).to_be_visible()
    other_tab.evaluate("sessionStorage.setItem('stepwell.answer.1', '\"an answer\"')")
    page.wait_for_function(f"() => localStorage.getItem('{DRAFT_OF_ADA}')")
    page.evaluate("localStorage.setItem('stepwell.theme', 'dark'); localStorage.setItem('stepwell.workspace.root', '/ada/')")

    sign_out(page, "ada")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(other_tab.get_by_role("heading", name="Sign in")).to_be_visible()  # it hears of it
    for tab in (page, other_tab):
        assert tab.evaluate("[{...localStorage}, {...sessionStorage}]") == [{"stepwell.theme": "dark"}, {}]
    expect(page.get_by_text("Project")).to_have_count(0)
    sign_in(page, make_key(folder, "--user", "bob"))
    expect(composer(page)).to_have_value("")
    for tab in (page, other_tab):  # the other one hears of it, and begins anew
        expect(tab.get_by_role("button", name="Project", exact=True)).to_be_visible()
        expect(tab.get_by_role("button", name="Project 1 file")).to_have_count(0)

    sign_out(page, "bob")
    sign_in(page, make_key(folder, "--user", "ada"))
    expect(page.get_by_role("button", name="Project 1 file")).to_be_visible()
    expect(composer(page)).to_have_value("")


def test_a_draft_outlives_a_session_that_ends_by_itself(page: Page, folder: Path, allow_console):
    """Somebody who has not signed out goes on where they were."""
    allow_console("401")
    key = make_key(folder, "--user", "ada")
    sign_in(page, key)
    expect(composer(page)).to_be_visible()
    composer(page).fill("a message of Ada's")
    page.wait_for_function(f"() => localStorage.getItem('{DRAFT_OF_ADA}')")
    page.context.clear_cookies()
    page.reload()
    sign_in(page, key)
    expect(composer(page)).to_have_value("a message of Ada's")
