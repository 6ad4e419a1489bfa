"""The first screen: what works comes first, whatever it offers starts a run or asks for what it lacks, nothing leads to a dead end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from tests.browser.conftest import PHONE, WIDE, violations
from tests.browser.model_server import serve_model
from tests.browser.steps import THREAD, composer, dock, last_answer
from tests.integration.served.process import Server, serve

NOTE = "The pump house of Quellmouth was built in 1911. It has three pumps.\n"
WIDTHS = (320, 375, 768, 1366, 1920)


@pytest.fixture(scope="module", params=["without a model", "with a model"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications."""

    def answer(asked: dict[str, Any]) -> dict[str, Any]:
        return {"content": f"You said {len(asked['messages'])} things."}

    folder = tmp_path_factory.mktemp("first")
    if request.param == "without a model":
        with serve(folder, graphs=None) as started:
            yield started
    else:
        with serve_model(answer) as variables, serve(folder, graphs=None, **variables) as started:
            yield started


@pytest.fixture
def has_model(request: pytest.FixtureRequest) -> bool:
    return "with a model" in request.node.callspec.params.values()


@pytest.fixture
def bare(has_model: bool) -> None:
    if has_model:
        pytest.skip("without a model only")


@pytest.fixture
def equipped(has_model: bool) -> None:
    if not has_model:
        pytest.skip("with a model only")


def quick(page: Page, name: str):
    return page.get_by_role("group", name="Quick actions").get_by_role("button", name=name)


def top_of(locator) -> float:
    expect(locator).to_be_visible()
    box = locator.bounding_box()
    assert box is not None
    return box["y"]


def test_the_demo_and_the_way_to_a_model_stand_above_everything_else(page: Page, bare):
    """On a phone too: the first button is in view without scrolling."""
    for size, lowest in ((WIDE, 400), (PHONE, 500)):
        page.set_viewport_size(size)
        demo, connect = page.get_by_test_id("demo-research_demo"), page.get_by_test_id("connect")
        assert top_of(demo) < lowest
        assert top_of(connect) < size["height"]
        assert max(top_of(demo), top_of(connect)) < top_of(composer(page))
        assert top_of(composer(page)) < top_of(quick(page, "Ask my documents"))


def test_with_a_model_the_composer_comes_first(page: Page, equipped):
    assert top_of(composer(page)) < 300
    expect(page.get_by_test_id("connect")).to_have_count(0)
    expect(page.get_by_text("needs a model")).to_have_count(0)
    places = page.get_by_role("list", name="Assistants").get_by_role("link")
    expect(places).to_contain_text(["Research", "Tutor", "Workspace", "Agents"])
    assert top_of(composer(page)) < top_of(quick(page, "Check a claim")) < top_of(places.first)


def test_everything_that_needs_a_model_says_so_and_leads_to_one(page: Page, bare):
    for name in ("Deep research", "Workspace", "Agents"):
        chip = quick(page, f"{name} · needs a model")
        expect(chip).to_have_css("border-style", "dashed")
        chip.click()
        expect(page.get_by_test_id("not-ready")).to_contain_text("needs a model")
        expect(page.get_by_test_id("not-ready").get_by_role("button", name="Connect")).to_be_visible()
        page.goto("/")
    for name in ("Workspace", "Agents"):
        page.get_by_role("navigation").get_by_role("link", name=name).click()
        expect(page.get_by_test_id("not-ready").get_by_role("button", name="Connect")).to_be_visible()
        expect(composer(page)).to_have_count(0)
    expect(page.get_by_role("navigation").get_by_test_id("thread-row")).to_have_count(0)


@pytest.mark.parametrize(
    ("name", "fields", "asked"),
    [
        ("Check a claim", {"The claim": "Honey never spoils."}, "Is this true? Honey never spoils."),
        ("Check a claim", {}, "Is this true? Honey never spoils."),
        (
            "Compare two sources",
            {"First address": "https://a.example/1", "Second address": "https://b.example/2"},
            "Compare these two sources.",
        ),
        ("Where did this source come from?", {"Its address": "https://a.example/1"}, "Where does this source come from"),
    ],
)
def test_a_quick_action_asks_for_what_it_lacks_and_starts_a_run(page: Page, name: str, fields: dict[str, str], asked: str):
    quick(page, name).click()
    form = page.get_by_test_id("action")
    expect(form.get_by_role("textbox").first).to_be_focused()
    expect(composer(page)).to_have_count(0)
    for label, words in fields.items():
        form.get_by_label(label).fill(words)
    form.get_by_role("textbox").first.press("Enter")
    expect(page).to_have_url(THREAD)
    expect(page.get_by_test_id("user-message")).to_contain_text(asked)
    row = page.get_by_test_id("thread-row").first
    expect(row).to_contain_text(asked[:20])
    expect(page.get_by_role("heading", level=1)).to_contain_text(asked[:20])


def test_esc_leads_back_to_the_composer_and_its_draft(page: Page):
    composer(page).fill("half a question")
    quick(page, "Check a claim").click()
    page.get_by_test_id("action").get_by_role("textbox").press("Escape")
    expect(composer(page)).to_have_value("half a question")
    expect(composer(page)).to_be_focused()


def test_asking_documents_without_any_asks_for_one_in_place(page: Page, tmp_path: Path, has_model: bool):
    file = tmp_path / "pumps.txt"
    file.write_text(NOTE)
    quick(page, "Ask my documents").click()
    form = page.get_by_test_id("action")
    expect(form).to_contain_text("You have no documents here yet.")
    form.get_by_test_id("choose-files").set_input_files(file)
    form.get_by_label("Your question").fill("When was the pump house built?")
    expect(form).to_contain_text("1 excerpt")
    form.get_by_role("button", name="Ask my documents").click()
    expect(page).to_have_url(THREAD)
    expect(page.get_by_test_id("user-message")).to_contain_text("pump house")
    if not has_model:  # this model cannot plan
        expect(dock(page)).to_be_visible()


def test_device_or_network_is_a_choice_before_the_question(page: Page):
    quick(page, "On this device or the network?").click()
    form = page.get_by_test_id("action")
    expect(form.get_by_role("radio", name="On this device")).to_be_checked()
    expect(form).to_contain_text("You have no documents here yet.")
    form.get_by_role("radio", name="Also the network").check()
    form.get_by_label("Your question").fill("When was the pump house built?")
    form.get_by_role("button", name="Ask", exact=True).click()
    expect(page).to_have_url(THREAD)


def test_approving_before_tools_run_starts_at_once(page: Page, has_model: bool):
    quick(page, "Approve before tools run").click()
    expect(page).to_have_url(THREAD)
    expect(page.get_by_test_id("user-message")).to_contain_text("note")


def test_a_starter_and_a_chip_after_the_answer_start_runs(page: Page, equipped):
    page.goto("/new/simple_agent")
    page.get_by_role("button", name="Start: Plan and write").click()
    expect(page).to_have_url(THREAD)
    expect(last_answer(page)).to_contain_text("You said")
    composer(page).fill("a draft")
    page.get_by_role("group", name="Go on with").get_by_role("button", name="Say it in three points").click()
    expect(page.get_by_test_id("user-message")).to_have_count(2)
    expect(page.get_by_test_id("user-message").last).to_contain_text("Say it in three points")
    expect(composer(page)).to_have_value("a draft")


def test_the_demo_offers_only_questions_that_it_answers(page: Page, bare):
    page.get_by_test_id("demo-research_demo").click()
    dock(page).get_by_role("button", name="Approve").click()
    chip = page.get_by_role("group", name="Go on with").get_by_role("button").first
    chip.click(timeout=120_000)
    expect(page.get_by_test_id("user-message")).to_have_count(2)
    expect(dock(page)).to_be_visible(timeout=120_000)


def test_a_title_has_the_whole_width_of_its_row(page: Page, server: Server, bare):
    page.get_by_test_id("demo-research_demo").click()
    row = page.get_by_test_id("thread-row").first
    expect(row).to_contain_text("1 question", timeout=120_000)
    title = row.locator(".title")
    whole, shown = title.bounding_box(), row.bounding_box()
    assert whole is not None
    assert shown is not None
    assert whole["width"] > shown["width"] - 24
    expect(row.get_by_role("link")).to_have_attribute("title", re.compile(r"^Why were stepwells built, and how deep is"))
    assert not re.search(r"research_demo|script:demo|without a title", page.locator("body").inner_text())


def test_nothing_is_cut_off_at_any_width_and_no_rule_is_broken(page: Page, context: BrowserContext):
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for path in ("/", "/new/workspace", "/new/deeptutor", "/new/simple_agent"):
            page.goto(path)
            expect(page.locator(".welcome")).to_be_visible()
            expect(page.locator(".unknown")).to_have_count(0)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            cut = "[...document.querySelectorAll('.welcome button, .welcome h1, .welcome h2, .welcome p, nav .apps, nav a')]"
            assert (
                page.evaluate(
                    f"{cut}.filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth + 1).map((each) => each.innerText)"
                )
                == []
            )
    page.goto("/")
    expect(composer(page)).to_be_visible()
    assert violations(page) == []
    quick(page, "Compare two sources").click()
    expect(page.get_by_test_id("action")).to_be_visible()
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page, of_colours=True) == []
