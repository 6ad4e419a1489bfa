"""A report in its conversation: it begins at its top, and every sentence leads to its evidence, by mouse, keyboard and thumb."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, ViewportSize, expect
from tests.browser.conftest import PHONE, WIDE
from tests.browser.steps import composer, dock
from tests.browser.test_care import violations
from tests.integration.served.process import Server, serve

from stepwell.research.audit.levels import describe_meaning, measurement


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("report"), graphs=None) as started:
        yield started


@pytest.fixture(scope="module")
def report_url(server: Server, browser: Browser) -> str:
    """The conversation of a research that has ended."""
    with browser.new_context(base_url=server.url, viewport=WIDE, reduced_motion="reduce") as context:
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto("/")
        page.get_by_test_id("demo-research_demo").click()
        dock(page).get_by_role("button", name="Approve").click()
        expect(report_of(page)).to_contain_text("sentences are supported", timeout=120_000)
        return page.url


@pytest.fixture(scope="module")
def two_reports_url(server: Server, browser: Browser) -> str:
    """A conversation of two reports."""
    with browser.new_context(base_url=server.url, viewport=WIDE, reduced_motion="reduce") as context:
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.goto("/")
        page.get_by_test_id("demo-research_demo").click()
        dock(page).get_by_role("button", name="Approve").click()
        expect(report_of(page)).to_contain_text("sentences are supported", timeout=120_000)
        composer(page).fill("How deep is Chand Baori?")
        composer(page).press("Enter")
        dock(page).get_by_role("button", name="Approve").click(timeout=120_000)
        expect(report_of(page).last).to_contain_text("Every sentence is supported by its source: ", timeout=120_000)
        return page.url


def report_of(page: Page) -> Locator:
    return page.get_by_test_id("report")


def evidence_of(page: Page) -> Locator:
    return page.get_by_test_id("evidence")


def focused(page: Page) -> str:
    """The sentence whose number has the focus."""
    return str(page.evaluate("document.activeElement.closest('[data-claim]')?.innerText ?? ''"))


def test_it_begins_at_its_top_with_verify_and_export(page: Page, report_url: str):
    page.goto(report_url)
    report = report_of(page)
    for name in ("Verify", "Export"):
        expect(report.get_by_role("button", name=name)).to_be_in_viewport()
    expect(report.get_by_text("7 of 9 sentences are supported")).to_be_in_viewport()
    expect(report.get_by_text("In western India nearly all rain falls")).to_be_in_viewport()
    expect(report.get_by_text("paid in salt")).to_be_in_viewport()
    shown = report.inner_text() + page.get_by_role("complementary", name="Details").inner_text()
    for detail in ("sha256", "SHA-256", "UTC", "searxng", "requests"):
        assert detail not in shown, f"'{detail}' is folded away"


def test_it_is_fetched_once_when_its_thread_is_opened(page: Page, report_url: str):
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url) if "/api/research/" in request.url else None)
    page.goto(report_url)
    expect(report_of(page)).to_contain_text("sentences are supported")
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("Supports 4 sentences")
    assert len(fetched) == 1, fetched


def test_a_citation_stays_on_the_line_of_its_word(page: Page, report_url: str):
    page.goto(report_url)
    expect(report_of(page)).to_contain_text("sentences are supported")
    alone = page.evaluate(
        """() => {
            const text = document.querySelector("[data-testid=report] .prose");
            const pairs = [...text.querySelectorAll(".together")];
            const widths = Array.from({ length: 60 }, (_, at) => 240 + 7 * at);
            return widths.map((width) => {
                text.style.width = `${width}px`;
                return pairs.filter((pair) => pair.getClientRects().length > 1).length;
            }).filter((count) => count > 0 || pairs.length === 0);
        }"""
    )
    assert alone == []


def test_it_says_once_and_quietly_which_model_judged_it(page: Page, report_url: str):
    page.goto(report_url)
    expect(report_of(page)).to_contain_text("sentences are supported")
    expect(page.get_by_text("Judged by")).to_have_count(0)  # the judge of a demo is a script
    about = "Judged by house:owl-2. How well it judges was not measured; measure it with: stepwell models judge FOLDER"

    def judged(route: Route) -> None:
        answered = route.fetch()
        judge = {"model": "house:owl-2", "measured": None, "about": about}
        route.fulfill(response=answered, json={**answered.json(), "judge": judge})

    page.route("**/api/research/*/report*", judged)
    page.reload()
    expect(report_of(page).get_by_text(about)).to_have_count(1)
    expect(page.get_by_text("house:owl-2")).to_have_count(1)
    assert violations(page, of_colours=True) == []


def test_a_click_anywhere_in_a_sentence_shows_its_evidence_beside_it(page: Page, report_url: str):
    page.goto(report_url)
    page.get_by_role("tab", name="Steps").click()
    report_of(page).get_by_text("memorial to a king").click()
    expect(evidence_of(page)).to_contain_text(re.compile("^(Supported|Word for word or nearly)"))
    expect(evidence_of(page).locator("mark")).to_contain_text("memorial to a king")
    expect(page.get_by_role("complementary", name="Details").get_by_test_id("evidence")).to_have_count(1)
    report_of(page).get_by_text("paid in salt").click()
    expect(evidence_of(page)).to_contain_text("Not in its source")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page, of_colours=True) == []
    evidence_of(page).get_by_role("button", name="Close").click()
    expect(evidence_of(page)).to_have_count(0)


def test_the_legend_and_the_evidence_say_how_often_such_a_sentence_is_true(page: Page, report_url: str):
    page.goto(report_url)
    figures = measurement().levels["contradicted"]
    legend = report_of(page).get_by_role("definition").filter(has_text=re.compile(rf"^{figures.true} \({figures.lowest} to"))
    report_of(page).get_by_text("How often such sentences are true").click()
    expect(legend.first).to_be_visible()
    report_of(page).get_by_text("Rani ki Vav is 38 metres deep").click()
    expect(evidence_of(page)).to_contain_text(describe_meaning("contradicted"))


def test_a_sentence_that_is_not_settled_has_a_thin_dotted_line_and_no_words(
    context: BrowserContext, page: Page, report_url: str
):
    thread = report_url.rsplit("/", 1)[1]

    def doubt(route: Route) -> None:
        told: dict[str, Any] = route.fetch().json()
        told["claims"][1] |= {"verdict": "partial", "reasons": ["the source does not say 'all year'"]}
        route.fulfill(body=json.dumps(told), content_type="application/json")

    context.route(f"**/api/research/{thread}/report", doubt)
    page.goto(f"{report_url}/report")
    report = page.get_by_test_id("report-page")
    expect(report).to_contain_text("6 of 9 sentences are supported by their sources; 1 is not settled")
    sentence = report.locator("[data-claim].partial")
    expect(sentence).to_have_css("text-decoration-style", "dotted")
    expect(sentence).to_have_css("text-decoration-thickness", "1px")
    expect(sentence).not_to_contain_text("does not say")
    sentence.get_by_text("all year round").click()
    expect(report.get_by_test_id("evidence")).to_contain_text("The source does not say “all year”.")
    assert violations(page) == []


def test_without_the_details_the_evidence_stands_below_the_sentence(page: Page, report_url: str):
    page.goto(report_url)
    expect(report_of(page)).to_contain_text("sentences are supported")
    page.get_by_role("button", name="Details", exact=True).click()
    expect(page.get_by_role("complementary", name="Details")).to_have_count(0)
    report_of(page).get_by_text("memorial to a king").click()
    expect(report_of(page).get_by_test_id("evidence").locator("mark")).to_contain_text("memorial to a king")


def test_sentences_are_one_stop_of_the_tab_key_and_the_arrows_go_on(page: Page, report_url: str):
    page.goto(report_url)
    report = report_of(page)
    expect(report.locator(".cite[tabindex='0']")).to_have_count(1)
    report.get_by_role("button", name="Export").focus()
    page.keyboard.press("Tab")
    assert "nearly all rain falls" in focused(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert "however far it sank" in focused(page)
    page.keyboard.press("Enter")
    expect(evidence_of(page).locator("mark")).to_contain_text("however far it sank")
    assert "however far it sank" in focused(page), "the reader stays at the sentence"
    page.keyboard.press("Escape")
    expect(evidence_of(page)).to_have_count(0)
    page.keyboard.press("End")
    assert "World Heritage" in focused(page)


def test_on_a_phone_the_evidence_stands_below_the_sentence(phone: Page, report_url: str):
    page = phone
    page.goto(report_url)
    report = report_of(page)
    expect(report.get_by_role("button", name="Verify")).to_be_in_viewport()
    report.get_by_text("Rani ki Vav is 38 metres deep").click()
    expect(report.get_by_test_id("evidence").locator("mark")).to_contain_text("28 metres deep")
    expect(report.get_by_role("heading", name="Sources")).to_be_attached()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []


@pytest.fixture
def phone(server: Server, browser: Browser) -> Iterator[Page]:
    with browser.new_context(base_url=server.url, viewport=PHONE, reduced_motion="reduce") as context:
        context.set_default_timeout(90_000)
        yield context.new_page()


def test_a_follow_up_goes_on_below_the_report_which_stays(page: Page, server: Server, report_url: str):
    page.goto(report_url)
    expect(report_of(page)).to_contain_text("sentences are supported")
    composer(page).fill("How deep is Chand Baori?")
    composer(page).press("Enter")
    dock(page).get_by_role("button", name="Approve").click(timeout=120_000)
    expect(report_of(page)).to_have_count(2, timeout=120_000)
    first, second = report_of(page).first, report_of(page).last
    expect(second).to_contain_text("Every sentence is supported by its source: ", timeout=120_000)
    expect(second.get_by_text("anything from 20 to 30 metres")).to_be_in_viewport()
    expect(first).to_contain_text("Stepwells gave people water all year round")
    expect(first.get_by_role("button", name="Verify")).to_have_count(0)


def test_an_earlier_report_keeps_its_verdicts_and_its_evidence(page: Page, two_reports_url: str):
    page.goto(two_reports_url)
    first, second = report_of(page).first, report_of(page).last
    expect(second).to_contain_text("Every sentence is supported by its source: ")
    first.scroll_into_view_if_needed()
    expect(first).to_contain_text("7 of 9 sentences are supported")
    expect(first.locator(".claim del")).to_have_count(1)
    expect(first).to_contain_text("Differs: “38 metres”; the source says “28 metres”.")
    first.get_by_text("memorial to a king").click()
    expect(first.get_by_test_id("evidence").locator("mark")).to_contain_text("memorial to a king")
    expect(page.get_by_test_id("evidence")).to_have_count(1)
    second.locator("[data-claim]").first.click()
    expect(page.get_by_test_id("evidence")).to_have_count(2)
    assert violations(page) == []


@pytest.mark.parametrize("viewport", [WIDE, {"width": 375, "height": 812}])
def test_after_two_answers_the_page_itself_cannot_scroll(page: Page, two_reports_url: str, viewport: ViewportSize):
    page.set_viewport_size(viewport)
    page.goto(two_reports_url)
    expect(report_of(page)).to_have_count(2)
    report_of(page).last.locator("[data-claim]").first.click()
    page.evaluate("scrollTo(0, 9999); document.querySelector('#app').scrollTo(0, 9999)")
    assert page.evaluate("[document.documentElement.scrollHeight, scrollY, document.querySelector('#app').scrollTop]") == [
        viewport["height"],
        0,
        0,
    ]
    for part in (page.locator("header").first, composer(page)):
        expect(part).to_be_in_viewport(ratio=1)


def test_two_thousand_sentences_can_be_read_and_chosen(context: BrowserContext, page: Page, report_url: str):
    """The text of the conversation is the server's; the report and its evidence are ours, and long."""
    thread = report_url.rsplit("/", 1)[1]
    claims, text = long_report(2000)

    def lengthen(route: Route) -> None:
        told: dict[str, Any] = route.fetch().json()
        quote = told["quotes"][0]["quote_id"]
        told |= {"report": text, "claims": [{**claim, "evidence": [quote]} for claim in claims]}
        route.fulfill(body=json.dumps(told), content_type="application/json")

    context.route(f"**/api/research/{thread}/report", lengthen)
    page.goto(f"{report_url}/report")
    report = page.get_by_test_id("report-page")
    expect(report).to_contain_text("Every sentence is supported by its source: 2000 of 2000.")
    expect(report.locator("[data-claim]")).to_have_count(2000)
    expect(report.locator(".cite[tabindex='0']")).to_have_count(1)
    report.get_by_text("Fact number 3 is").click()
    expect(report.get_by_test_id("evidence").locator("mark")).to_be_visible()
    report.locator(".cite").first.focus()
    page.keyboard.press("End")
    expect(report.get_by_text("Fact number 1999 is")).to_be_in_viewport()
    context.unroute_all(behavior="wait")  # the report is read again when the rest of the thread has come


def long_report(many: int) -> tuple[list[dict[str, Any]], str]:
    claims = [
        {
            "claim_id": f"c{n}",
            "text": f"Fact number {n} is on record.",
            "verdict": "supported",
            "reasons": [],
            "in_report": True,
        }
        for n in range(many)
    ]
    lines = [f"Fact number {n} is on record [1]." for n in range(many)]
    return claims, "\n\n".join(" ".join(lines[start : start + 8]) for start in range(0, many, 8)) + "\n"
