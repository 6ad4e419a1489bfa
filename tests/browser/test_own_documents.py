"""Office files as knowledge, and research that searches nothing but what a person keeps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect
from tests.browser.conftest import LOOKS, WIDE, Watch, violations
from tests.browser.documents import docx, eml, pdf, pptx, xlsx
from tests.browser.steps import composer, dock
from tests.browser.test_knowledge import addition, choose, counts, knowledge, open_knowledge, wait_until_prepared
from tests.integration.served.process import Server, serve

ELSEWHERE = "https://stepwell.example"
BRIDGES = [
    ("Town", "Number of cracked beams", "Inspector", "Remark"),
    ("Quellmouth", 41, "Ann Lee", "the deck is closed to lorries since May"),
    ("Brook", 7, "Bo Ek", "the deck was mended in the spring"),
    ("Ashford", 0, "Ann Lee", "nothing was found under the deck"),
]
OFFICE = {
    "report__docx": docx("# Ferries", "The ferry of Quellmouth has two decks.", "# Lamps", "None of the lamps is broken."),
    "talk__pptx": pptx(("Tides", "High water is at noon."), ("Bridges", "The bridge was closed in spring.")),
    "beams__xlsx": xlsx(Survey=BRIDGES),
    "letter__eml": eml("Ann Lee <ann@a.example>", "The bridge", "I counted the cracked beams twice."),
    "table__csv": b"Town;Lamps\nQuellmouth;120\nBrook;14\n",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications, demonstrations among them."""
    with serve(tmp_path_factory.mktemp("documents"), graphs=None) as started:
        yield started


def uploads(page: Page) -> list[Request]:
    found: list[Request] = []
    page.on("request", lambda request: found.append(request) if request.url.endswith("/api/documents/read") else None)
    return found


@pytest.fixture
def far_page(browser: Browser, server: Server) -> Iterator[Page]:
    """The same server under a name of the web."""

    def pass_on(route: Route) -> None:
        place = urlsplit(route.request.url)
        address = f"{server.url}{place.path}{f'?{place.query}' if place.query else ''}"
        if place.path == "/api/embedder":  # 37 MB less
            return route.fulfill(json={"embedder": None, "sentence": "None here."})
        return route.fulfill(response=route.fetch(url=address, headers={**route.request.headers, "origin": server.url}))

    context = browser.new_context(base_url=ELSEWHERE, viewport=WIDE, reduced_motion="reduce", service_workers="block")
    context.set_default_timeout(90_000)
    context.route("**/*", pass_on)
    watching = Watch(ELSEWHERE)
    page = context.new_page()
    watching.look_at(page)
    page.goto("/")
    yield page
    context.unroute_all(behavior="ignoreErrors")
    context.close()
    watching.check()


def test_an_office_file_is_sent_to_be_read_only_after_the_person_agreed(far_page: Page):
    page = far_page
    sent = uploads(page)
    dialog = open_knowledge(page)
    choose(page, report__docx=OFFICE["report__docx"], table__csv=OFFICE["table__csv"])
    question = page.get_by_test_id("may-send")
    expect(question).to_contain_text(
        "To read a Word file, your browser sends it to this server, which returns its text and keeps nothing."
    )
    expect(addition(page, "table.csv")).to_contain_text("passage")  # it waits for nobody
    assert violations(page) == []
    question.get_by_role("button", name="Not this time").click()
    expect(addition(page, "report.docx")).to_contain_text("Not read: it was not sent to the server")
    assert sent == []
    assert counts(page)["departures"] == 0

    choose(page, report__docx=OFFICE["report__docx"], beams__xlsx=OFFICE["beams__xlsx"])
    expect(question).to_contain_text("To read these 2 files, your browser sends them")
    expect(question).to_contain_text("report.docx, beams.xlsx")
    question.get_by_role("button", name="Read them").click()
    expect(addition(page, "beams.xlsx")).to_contain_text("1 passage")
    expect(dialog.get_by_role("list", name="Documents")).to_contain_text("Word · 2 passages")
    assert [request.headers["x-stepwell-file-name"] for request in sent] == ["file.docx", "file.xlsx"], (
        "no more than the ending"
    )
    assert counts(page)["departures"] == 2

    page.reload()
    open_knowledge(page)
    choose(page, letter__eml=OFFICE["letter__eml"])  # remembered
    expect(addition(page, "letter.eml")).to_contain_text("passage")
    knowledge(page).get_by_role("button", name="Ask me before").click()
    choose(page, talk__pptx=OFFICE["talk__pptx"])
    expect(question).to_contain_text("To read a PowerPoint file")
    assert len(sent) == 3


def test_office_files_are_searched_and_opened_at_their_place(page: Page, allow_console: Callable[[str], None]):
    allow_console("422")  # one of them cannot be read
    sent = uploads(page)
    dialog = open_knowledge(page)
    choose(page, **OFFICE, broken__docx=b"PK\x03\x04 not a Word file", old__doc=b"\xd0\xcf\x11\xe0")
    expect(addition(page, "old.doc")).to_contain_text("save it as .docx")
    expect(addition(page, "broken.docx").get_by_role("alert")).to_have_text(re.compile(r"\w.*\.$"))
    expect(page.get_by_test_id("may-send")).to_have_count(0)  # the server is on this machine
    wait_until_prepared(page, 5)
    assert {request.headers["x-stepwell-file-name"] for request in sent} == {"file.docx", "file.pptx", "file.xlsx", "file.eml"}
    documents = dialog.get_by_role("list", name="Documents")
    for described in ("Slides · 2 slides", "Spreadsheet · 1 sheet", "Mail", "Table", "Word"):
        expect(documents).to_contain_text(described)

    found = page.get_by_test_id("found")
    for words, place, passage in (
        ("Which town has how many cracked beams?", "beams.xlsx, sheet Survey, A1:D4", "Town: Quellmouth; Number of cracked beams: 41"),
        ("When does the sea rise?", "talk.pptx, slide 1", "High water is at noon."),
        ("lamps that are broken", "report.docx, section Lamps", "None of the lamps is broken."),
        ("who counted twice", "letter.eml, message 1 (Ann Lee, 3 May 2025)", "I counted the cracked beams twice."),
        ("lamps of Brook", "table.csv, lines 2 to 3", "Town: Brook; Lamps: 14"),
    ):  # fmt: skip
        dialog.get_by_role("searchbox").fill(words)
        dialog.get_by_role("searchbox").press("Enter")
        hit = found.get_by_role("listitem").filter(has_text=place)
        expect(hit).to_contain_text(passage)
    expect(found.get_by_role("status")).to_contain_text("found by meaning and by words")
    hit.get_by_role("button").click()
    expect(page.get_by_test_id("passage").locator("mark")).to_contain_text("Town: Brook; Lamps: 14")
    expect(page.get_by_test_id("passage").get_by_role("heading")).to_have_text("table.csv, lines 2 to 3")


def test_a_heading_of_a_pdf_is_no_part_of_the_sentence_below_it(page: Page):
    dialog = open_knowledge(page)
    choose(page, survey__pdf=pdf("# Cracked beams\nThe bridge of Quellmouth has 41 of them.\n# Lamps\nNone is broken."))
    dialog.get_by_role("button", name="survey.pdf", exact=True).click()
    expect(page.get_by_test_id("passage")).to_contain_text("Lamps")
    lines = page.get_by_test_id("passage").inner_text().splitlines()
    for line in ("Cracked beams", "The bridge of Quellmouth has 41 of them.", "Lamps", "None is broken."):
        assert line in lines


@pytest.fixture
def with_beams(page: Page) -> Page:
    open_knowledge(page)
    choose(page, **{name: OFFICE[name] for name in ("beams__xlsx", "report__docx", "talk__pptx")})
    wait_until_prepared(page, 3)
    page.keyboard.press("Escape")
    page.goto("/new/research_demo")
    return page


def test_only_my_documents_sends_them_alone_and_is_on_by_itself_without_a_network(with_beams: Page):
    page = with_beams
    along = page.get_by_test_id("going-along")
    switch = along.get_by_role("switch", name="Only my documents")
    expect(switch).not_to_be_checked()
    page.context.set_offline(True)
    expect(switch).to_be_checked()
    expect(along).to_contain_text("You are offline: no web search")
    page.context.set_offline(False)
    expect(switch).not_to_be_checked()

    composer(page).fill("How many cracked beams has the bridge of Quellmouth?")
    switch.check()
    expect(along).to_contain_text("No web search: the answer rests on them alone")
    expect(along.get_by_role("listitem").filter(has_text="beams.xlsx, sheet Survey, A1:D4")).to_have_count(1)
    for scheme, size in LOOKS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        assert violations(page, of_colours=scheme == "dark") == []
    with page.expect_request(lambda request: request.url.endswith("/runs") and request.method == "POST") as started:
        composer(page).press("Enter")
    given = started.value.post_data_json["input"]
    assert (given["only_documents"], given["context_urls"]) == (True, [])
    assert {(each["label"], each["place"]) for each in given["snippets"]} >= {("beams.xlsx", "sheet Survey, A2:D2")}


def test_only_my_documents_without_any_excerpt_is_not_sent(with_beams: Page):
    page = with_beams
    along = page.get_by_test_id("going-along")
    along.get_by_role("switch", name="Only my documents").check()
    composer(page).fill("How many cracked beams are there?")
    expect(along.get_by_role("listitem").first).to_be_visible()
    for box in along.get_by_role("listitem").get_by_role("checkbox").all():
        box.uncheck()
    composer(page).press("Enter")
    expect(along).to_contain_text("Choose at least one excerpt: there is nothing else to answer from.")
    expect(composer(page)).to_have_value("How many cracked beams are there?")
    expect(page).to_have_url(re.compile("/new/research_demo$"))


@pytest.mark.parametrize(
    ("question", "label", "place", "words"),
    [
        ("When was the bridge closed?", "talk.pptx", "slide 2", "The bridge was closed in spring."),
        (
            "What is the number of cracked beams in Quellmouth, and is the deck closed to lorries?",
            "beams.xlsx",
            "sheet Survey, A2:D2",
            "Town: Quellmouth; Number of cracked beams: 41; Inspector: Ann Lee; Remark: the deck is closed to lorries since May",
        ),
    ],
)
def test_a_report_from_documents_alone_opens_at_its_place(with_beams: Page, question: str, label: str, place: str, words: str):
    """The report and the device, which has the document, name the same place: the quote's own cells or slide."""
    page = with_beams
    composer(page).fill(question)
    along = page.get_by_test_id("going-along")
    along.get_by_role("switch", name="Only my documents").check()
    expect(along.get_by_role("listitem").filter(has_text=label).first).to_be_visible()
    composer(page).press("Enter")
    expect(dock(page)).to_contain_text("Search my documents for")
    expect(dock(page)).to_contain_text("Nothing will leave the machine.")
    expect(dock(page)).not_to_contain_text("Search the web")
    dock(page).get_by_role("button", name="Approve").click(timeout=120_000)
    report = page.get_by_test_id("report")
    expect(report).to_contain_text(words.removesuffix("."), timeout=120_000)
    expect(report.get_by_role("button", name="Verify")).to_be_visible()
    report.get_by_role("listitem").first.select_text()
    copied = page.evaluate("getSelection().toString().trim()")
    assert not re.search(r"\d\.$", copied), "copied, a citation's number is no figure"
    page.evaluate("getSelection().removeAllRanges()")
    report.get_by_text(words.removesuffix(".")).first.click()
    evidence = page.get_by_test_id("evidence")
    expect(evidence).to_contain_text(place)
    evidence.get_by_role("button", name="Open it here").first.click()
    passage = page.get_by_test_id("passage")
    expect(passage.locator("mark")).to_have_text(words)
    expect(passage.get_by_role("heading")).to_have_text(f"{label}, {place}")
    page.goto(page.url)
    went = page.get_by_test_id("went-along")
    expect(went).to_contain_text("nothing else was to be searched")
    went.click()
    went.get_by_role("button", name="beams.xlsx, sheet Survey, A1:D4").click()
    expect(passage.locator("mark")).to_contain_text("Town: Quellmouth; Number of cracked beams: 41")
