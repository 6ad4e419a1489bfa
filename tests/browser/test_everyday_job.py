"""The everyday job on the page (`tests/support/everyday`): thirteen files are dropped, the model may see the screenshot, the plan is
edited, the server is killed while the report is written, a follow-up is asked, and what is exported is checked on another machine."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.steps import THREAD, composer, dock
from tests.browser.test_knowledge import addition, knowledge, wait_until_prepared
from tests.conftest import Effort
from tests.integration.served.process import Server, serve
from tests.support.everyday import case, limits
from tests.support.everyday.elsewhere import author_of, tampered, verify_elsewhere
from tests.support.everyday.model import CaseModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(600)

DROP_ALL = """(files) => {
    const transfer = new DataTransfer();
    for (const [name, data] of files) {
        const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
        transfer.items.add(new File([bytes], name, { type: name.endsWith(".png") ? "image/png" : "" }));
    }
    for (const kind of ["dragenter", "dragover", "drop"])
        document.querySelector("main").dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def model() -> Iterator[CaseModel]:
    with CaseModel() as started:
        yield started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: CaseModel) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("everyday"), graphs=None, **model.variables) as started:
        yield started


class Analyst:
    """A person at the page: counts clicks and sent messages, and the words of what has to be read before going on."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self.words = 0

    def drop(self, files: dict[str, bytes]) -> None:
        self.page.evaluate(DROP_ALL, [[name, base64.b64encode(content).decode()] for name, content in files.items()])
        self.clicks += 1

    def click(self, place: Locator, name: str) -> None:
        place.get_by_role("button", name=name, exact=True).click()
        self.clicks += 1

    def ask(self, question: str) -> None:
        composer(self.page).fill(question)
        expect(self.page.get_by_test_id("going-along").get_by_role("listitem").first).to_be_visible()
        self.read(self.page.get_by_test_id("going-along"))
        composer(self.page).press("Enter")
        self.clicks += 1

    def read(self, place: Locator) -> None:
        self.words += len(place.inner_text().split())

    def export(self, report: Locator, ending: str) -> bytes:
        self.click(report, "Export")
        with self.page.expect_download() as download:
            self.page.get_by_role("menuitem").filter(has_text=f".{ending}").click()
        self.clicks += 1
        return Path(download.value.path()).read_bytes()


def report_of(page: Page) -> Locator:
    return page.get_by_test_id("report").last


def check_first_report(report: Locator, model: CaseModel) -> None:
    for fact in (case.CAUSE, case.HOURS, case.RULE):
        expect(report).to_contain_text(fact.rstrip("."))
    if limits.WRONG_SENTENCE == "corrected":
        expect(report).to_contain_text(case.RIGHT)
        expect(report.locator(".claim").filter(has_text=case.WRONG)).to_have_count(0)
        expect(report).to_contain_text("1 sentence corrected before you saw the report")
        expect(report.locator("details del").filter(has_text=case.WRONG)).to_have_count(1)
        assert "revise" in model.roles
    else:
        expect(report.locator("del").filter(has_text=case.WRONG)).to_have_count(1)
        expect(report).to_contain_text("41,700")


def test_an_analyst_does_an_everyday_job_on_the_page(
    page: Page,
    server: Server,
    model: CaseModel,
    tmp_path: Path,
    effort: Effort,
    allow_console: Callable[[str], None],
    record_property: Callable[[str, Any], None],
):
    began = time.monotonic()
    allow_console("ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE")
    analyst = Analyst(page)
    analyst.drop(case.files())
    question = page.get_by_test_id("may-send")
    expect(question).to_contain_text("The image is shown to a connected model, which writes down the text.")
    analyst.read(question)
    assert "see" not in model.roles, "nothing is shown to a model before the person agreed"
    analyst.click(question, "Read it")
    expect(addition(page, case.SCREENSHOT)).to_contain_text("Transcribed by gpt-4.1 from the image; not checked")
    wait_until_prepared(page, len(case.files()))
    analyst.click(knowledge(page), "Ask about these")

    analyst.ask(case.QUESTION)
    expect(page).to_have_url(THREAD)
    expect(dock(page)).to_contain_text("cost of the outage")
    analyst.read(dock(page))
    analyst.click(dock(page), "Edit")
    dock(page).get_by_label("Step 1", exact=True).fill("why pump 3 stopped")
    analyst.click(dock(page), "Send the edited plan")
    expect(dock(page).get_by_role("button", name="Approve")).to_be_visible()
    expect(dock(page)).to_contain_text("why pump 3 stopped")
    analyst.read(dock(page))
    with model.held():
        analyst.click(dock(page), "Approve")
        wait_until(model.writing.is_set, "the writer was never asked")
        server.kill()
    server.start()

    report = report_of(page)
    expect(report.get_by_role("button", name="Verify")).to_be_visible()
    check_first_report(report, model)
    analyst.read(report)
    report.get_by_text("9,140 hours").first.click()
    analyst.clicks += 1
    expect(page.get_by_test_id("evidence")).to_contain_text("image, transcribed by gpt-4.1, not checked")

    analyst.ask(case.FOLLOW_UP)
    expect(dock(page)).to_contain_text("who pays for the bearing")
    analyst.read(dock(page))
    analyst.click(dock(page), "Approve")
    expect(page.get_by_test_id("report")).to_have_count(2)
    report = report_of(page)
    for fact in case.NEXT_ANSWER:
        expect(report).to_contain_text(fact.rstrip("."))
    expect(report.get_by_role("button", name="Verify")).to_be_visible()
    analyst.read(report)
    assert model.roles.count("see") == 1, "the screenshot is read once"

    assert analyst.export(report, "docx").startswith(b"PK")
    assert analyst.export(report, "pdf").startswith(b"%PDF-")
    bundle = analyst.export(report, "zip")
    key = author_of(server.folder / "data")
    code, said = verify_elsewhere(bundle, key, tmp_path)
    assert code == 0, said
    assert f"Vouched for by {key}" in said
    code, said = verify_elsewhere(tampered(bundle, tmp_path, words=b"20 March", by=b"21 March"), key, tmp_path)
    assert (code, "received.zip does not hold" in said) == (1, True), said

    assert model.unknown == []
    seconds = time.monotonic() - began
    for name, value in (
        ("clicks", analyst.clicks),
        ("words", analyst.words),
        ("tokens", model.tokens),
        ("seconds", round(seconds)),
    ):
        record_property(name, value)
    assert analyst.clicks <= limits.MOST_CLICKS
    assert analyst.words <= limits.MOST_WORDS_ON_PAGE
    assert model.tokens <= limits.MOST_TOKENS
    assert seconds <= effort.seconds(limits.MOST_SECONDS_BUSY, limits.MOST_SECONDS)
