"""What a person keeps on the device as knowledge: read, searched and cited there; only the excerpts that the page shows leave it."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Request, Route, expect
from tests.browser.conftest import WIDE, Watch
from tests.browser.documents import broken_pdf, pdf, scanned_pdf
from tests.browser.steps import composer, dock
from tests.browser.test_care import violations
from tests.conftest import Effort
from tests.integration.served.process import Server, serve
from tests.integration.server import conftest as in_process

from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.minilm_files import MiniLMFiles
from stepwell.server.knowledge import KnowledgeAid
from stepwell.tools.web.fetch import PageFetcher

FIXTURE = json.loads((Path(__file__).parents[1] / "fixtures" / "minilm_vectors.json").read_text(encoding="utf-8"))
PREPARED_S = 60
ASSETS = Path(__file__).parents[2] / "src/stepwell/server/page/static/assets"
SURVEY = (
    "Our survey of the Quellmouth bridge was made in spring. The Quellmouth bridge has forty-one cracked beams under its deck. "
    "The lamps were counted too, and none was broken."
)
SECRET = "The strongbox stands behind the third shelf and opens with the year of the flood. "
DROP = """async ([name, type, data]) => {
    const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], name, { type }));
    for (const kind of ["dragenter", "dragover", "drop"])
        document.querySelector("main").dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""
COUNTS = """async () => {
    const open = indexedDB.open("stepwell");
    const database = await new Promise((resolve, reject) => { open.onsuccess = () => resolve(open.result); open.onerror = reject; });
    const stores = ["documents", "chunks", "vectors", "departures"];
    const counted = await Promise.all(stores.map((store) => new Promise((resolve) => {
        const counting = database.transaction(store).objectStore(store).count();
        counting.onsuccess = () => resolve(counting.result);
    })));
    database.close();
    return Object.fromEntries(stores.map((store, n) => [store, counted[n]]));
}"""

# In one breath: between two commands of a test, a page may have found what fits.
WRITE_AND_SEND = """(field, words) => {
    field.value = words;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
}"""
NOTE_WHAT_IS_SHOWN = """() => {
    const list = document.querySelector("[data-testid=going-along]");
    window.shown = "";
    const note = () => (window.shown += list.innerText);
    new MutationObserver(note).observe(list, { childList: true, subtree: true, characterData: true });
}"""
FILL = """async (embedder) => {
    const open = indexedDB.open("stepwell");
    const database = await new Promise((resolve) => (open.onsuccess = () => resolve(open.result)));
    const writing = database.transaction(["documents", "chunks", "vectors"], "readwrite");
    const [documents, chunks, vectors] = ["documents", "chunks", "vectors"].map((store) => writing.objectStore(store));
    const about = { kind: "text", label: "many.txt", hash: "many", size: 1, added_at: "2026-01-01", state: "kept", passages: 10000 };
    documents.put({ id: "many", ...about });
    for (let n = 0; n < 10000; n++) {
        const vector = Float32Array.from({ length: 384 }, (_, at) => Math.sin(n * 31 + at * 17) / 14);
        const text = Array.from({ length: 60 }, (_, at) => `word${(n * 37 + at * at * 11) % 5000}`).join(" ");
        chunks.put({ id: `many:${n}`, document_id: "many", n, start: n * 400, end: n * 400 + text.length, text });
        vectors.put({ chunk_id: `many:${n}`, document_id: "many", embedder, vector });
    }
    await new Promise((resolve) => (writing.oncomplete = resolve));
    database.close();
    new BroadcastChannel("stepwell.device").postMessage("documents");
}"""
TIME_SEARCHES = """async () => {
    const [box, button] = document.querySelectorAll('[role="search"] input, [role="search"] button');
    const times = [];
    for (const words of ["cracked beams of a bridge", "how many lamps were counted", "which beams are broken", "deck of the bridge"]) {
        box.value = words;
        box.dispatchEvent(new Event("input", { bubbles: true }));
        const began = performance.now();
        box.form.requestSubmit();
        do await new Promise(requestAnimationFrame);
        while (button.disabled);
        times.push(performance.now() - began);
    }
    return times.sort((one, two) => one - two);
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Our own applications, demonstrations among them."""
    with serve(tmp_path_factory.mktemp("knowledge"), graphs=None) as started:
        yield started


def drop(page: Page, name: str, content: bytes, media_type: str = "") -> None:
    page.evaluate(DROP, [name, media_type, base64.b64encode(content).decode()])


def choose(page: Page, **files: bytes) -> None:
    given = [{"name": name.replace("__", "."), "mimeType": "", "buffer": content} for name, content in files.items()]
    page.get_by_test_id("choose-files").set_input_files(given)


def knowledge(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Knowledge")


def open_knowledge(page: Page) -> Locator:
    page.get_by_role("button", name="Add images or documents").click()
    page.get_by_role("menuitem", name="Documents for your knowledge").click()
    expect(knowledge(page)).to_be_visible()
    return knowledge(page)


def addition(page: Page, name: str) -> Locator:
    """A file that is being added, or a document that was."""
    rows = knowledge(page).get_by_role("list", name=re.compile("^(Additions|Documents)$")).get_by_role("listitem")
    return rows.filter(has=page.get_by_text(name, exact=True))


def counts(page: Page) -> dict[str, int]:
    found: dict[str, int] = page.evaluate(COUNTS)
    return found


def wait_until_prepared(page: Page, documents: int) -> None:
    """Every passage has its vector: only then all of them are found by meaning."""
    deadline = time.monotonic() + PREPARED_S
    while (found := counts(page))["documents"] != documents or found["vectors"] != found["chunks"]:
        assert time.monotonic() < deadline, found
        page.wait_for_timeout(50)


def test_vectors_in_the_browser_are_those_of_python(page: Page):
    module = next(ASSETS.glob("embedder-*.js")).name
    found = page.evaluate(
        """async ([module, texts]) => {
            const made = await (await import(`/assets/${module}`)).embedder();
            const vectors = await made.embed(texts);
            return { id: made.id, vectors: vectors.map((vector) => [...vector]) };
        }""",
        [module, [entry["text"] for entry in FIXTURE["entries"]]],
    )
    assert found["id"] == FIXTURE["embedder_id"]
    apart = [
        max(abs(a - b) for a, b in zip(vector, entry["vector"], strict=True))
        for vector, entry in zip(found["vectors"], FIXTURE["entries"], strict=True)
    ]
    assert max(apart) < 1e-5, apart


def test_documents_of_every_kind_are_kept_searched_and_removed_or_refused_with_a_sentence(
    page: Page, tmp_path: Path, allow_console: Callable[[str], None]
):
    """Point 20 of acceptance: progress, clear words, nothing half kept, and a source takes its vectors along."""
    allow_console("422")  # no model here reads the image
    drop(page, "survey.pdf", pdf(SURVEY, "The second page is about ferries and their tickets."), "application/pdf")
    expect(addition(page, "survey.pdf")).to_contain_text("2 passages")
    bread = b"# Bread\n\nKnead the dough for ten minutes, and let it rest over night."
    choose(
        page,
        recipe__md=bread,
        again__txt=bread,
        page__html=b"<title>Tides</title><script>fetch('/stolen')</script><p>High water is at noon.<img src='/pixel.png'>",
        scan__pdf=scanned_pdf(),
        locked__pdf=pdf("Nobody reads this.", password="well"),
        broken__pdf=broken_pdf(),
        fake__pdf=b"not a pdf at all",
        picture__png=b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
        empty__txt=b" \n ",
    )
    expect(addition(page, "empty.txt")).to_contain_text("There is no text")
    expect(addition(page, "recipe.md").first).to_contain_text("1 passage")  # its double names it, too
    expect(addition(page, "again.txt")).to_contain_text("The same text is here already, as “recipe.md”")
    expect(addition(page, "page.html")).to_contain_text("1 passage")
    expect(addition(page, "scan.pdf")).to_contain_text("it was scanned")
    expect(addition(page, "locked.pdf")).to_contain_text("locked with a password")
    expect(addition(page, "broken.pdf")).to_contain_text("damaged")
    expect(addition(page, "fake.pdf")).to_contain_text("called a PDF and is none")
    question = page.get_by_test_id("may-send")  # also on this machine: a model elsewhere will see it
    expect(question).to_contain_text("The image is shown to a connected model, which writes down the text.")
    question.get_by_role("button", name="Read it").click()
    expect(addition(page, "picture.png")).to_contain_text("no connected model is known to read images. Connect one that does")
    large = tmp_path / "film.txt"
    with large.open("wb") as file:
        file.truncate(60_000_000)
    page.get_by_test_id("choose-files").set_input_files(large)
    expect(addition(page, "film.txt")).to_contain_text("at most 50.0 MB")
    page.get_by_role("button", name="Dismiss all that are done").click()

    wait_until_prepared(page, 3)
    expect(page.get_by_test_id("preparing")).to_have_text(re.compile(r"^\s*3 documents, 4 passages"))
    assert counts(page) == {"documents": 3, "chunks": 4, "vectors": 4, "departures": 1}  # the image
    box = knowledge(page).get_by_role("searchbox")
    box.fill("When does the sea rise?")
    box.press("Enter")
    found = page.get_by_test_id("found")
    expect(found.get_by_role("status")).to_contain_text("found by meaning")
    expect(found.get_by_role("listitem").first).to_contain_text("High water is at noon")
    assert violations(page) == []
    found.get_by_role("button", name="page.html").click()
    expect(page.get_by_test_id("passage").locator("mark")).to_contain_text("High water is at noon.")
    page.get_by_role("button", name="All of your knowledge").click()
    box.fill("")
    page.get_by_role("button", name="Remove survey.pdf").dblclick()  # asks, and no more
    # Nor if the list has moved, and the second click meets another button.
    page.get_by_role("button", name="Really remove survey.pdf").dispatch_event("click", {"detail": 2})
    expect(page.get_by_role("group", name="Remove survey.pdf?")).to_contain_text("This cannot be undone")
    assert counts(page)["documents"] == 3
    page.get_by_role("button", name="Really remove survey.pdf").click()
    expect(page.get_by_test_id("preparing")).to_contain_text("2 documents, 2 passages")
    assert counts(page) == {"documents": 2, "chunks": 2, "vectors": 2, "departures": 1}


def test_added_files_are_listed_once_and_lead_on_to_a_question(page: Page):
    dialog = open_knowledge(page)
    choose(page, survey__txt=SURVEY.encode(), ferry__md=b"The ferry at Quellmouth bridge has two decks.")
    for name in ("survey.txt", "ferry.md"):
        expect(addition(page, name)).to_contain_text("1 passage")
        expect(dialog.get_by_role("listitem").filter(has_text=name)).to_have_count(1)
    assert violations(page) == []
    dialog.get_by_role("button", name="Ask about these").click()
    expect(dialog).to_be_hidden()
    expect(composer(page)).to_be_focused()
    expect(page.get_by_test_id("going-along").get_by_role("switch", name="Only my documents")).to_be_checked()


def test_after_a_drop_on_the_composer_typing_goes_on_there(page: Page):
    """The dialog gave the focus back to the composer without a caret, and what was typed was lost."""
    expect(composer(page)).to_be_focused()
    drop(page, "survey.txt", SURVEY.encode(), "text/plain")
    knowledge(page).get_by_role("button", name="Ask about this").click()
    expect(knowledge(page)).to_be_hidden()
    page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(composer(page)).to_be_focused()
    page.keyboard.type("How long is it")
    expect(composer(page)).to_have_value("How long is it")


def test_of_two_bundles_that_are_dropped_the_second_is_judged(page: Page):
    held: list[Route] = []
    page.route("**/api/research/verify", lambda route: held.append(route), times=1)
    with page.expect_request("**/api/research/verify"):  # or the second one might be the one that is held
        drop(page, "first.zip", b"no zip")
    expect(page.get_by_role("dialog", name="Check of first.zip")).to_contain_text("Checking every byte")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "x")
    with page.expect_response("**/api/research/verify"):
        drop(page, "second.zip", packed.getvalue())
    second = page.get_by_role("dialog", name="Check of second.zip")
    expect(second).to_contain_text("a member named 'a.txt'")
    with page.expect_response("**/api/research/verify") as late:
        held[0].continue_()
    late.value.finished()
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    expect(second).to_contain_text("a member named 'a.txt'")


def test_a_hundred_pages_are_read_and_a_thousand_can_be_stopped(page: Page):
    open_knowledge(page)
    paragraph = "Landing {n} of the stepwell holds {n} jars of water, and people rest there in the shade. " * 12
    choose(page, long__pdf=pdf(*(f"Page {n}. {paragraph.format(n=n)}" for n in range(1, 101))))
    expect(addition(page, "long.pdf")).to_contain_text(re.compile(r"\d{3} passages"), timeout=120_000)
    expect(knowledge(page).get_by_role("list", name="Documents")).to_contain_text("100 pages")
    before = counts(page)
    choose(page, endless__pdf=pdf(*[paragraph.format(n=1)] * 1_500), later__txt=b"This one waits for its turn.")
    stop = page.get_by_role("button", name="Stop endless.pdf")
    expect(addition(page, "endless.pdf")).to_contain_text(re.compile(r"Page \d+ of 1500"), timeout=120_000)
    expect(addition(page, "endless.pdf").get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Stop later.txt").click()
    stop.click()
    expect(addition(page, "endless.pdf")).to_contain_text("Stopped. Nothing of it was kept.")
    expect(addition(page, "later.txt")).to_contain_text("Stopped")
    choose(page, last__txt=b"The queue goes on behind them.")
    expect(addition(page, "last.txt")).to_contain_text("passage")
    assert counts(page)["chunks"] == before["chunks"] + 1


def test_a_device_that_is_full_keeps_nothing_by_halves(open_page: Callable[..., Page], server: Server):
    # Before the page is there, which writes at once: a browser remembers for a while how much room there was.
    page = open_page("about:blank")
    devtools = page.context.new_cdp_session(page)
    devtools.send("Storage.overrideQuotaForOrigin", {"origin": server.url, "quotaSize": 400_000})
    page.goto("/")
    open_knowledge(page)
    choose(
        page,
        small__txt=b"This still fits.",
        large__txt=b"".join(b"Sentence %d no longer fits here. " % n for n in range(40_000)),
    )
    expect(addition(page, "small.txt")).to_contain_text("passage")
    expect(addition(page, "large.txt")).to_contain_text("There is no more room")
    devtools.send("Storage.overrideQuotaForOrigin", {"origin": server.url})
    assert (counts(page)["documents"], counts(page)["chunks"]) == (1, 1)


def test_a_research_cites_an_excerpt_and_nothing_else_left_the_device(page: Page):
    """R13: shown before, listed after, cited as evidence of the device, and the citation opens the passage here."""
    bodies: list[str] = []
    page.on("request", lambda request: bodies.append(_body(request)))
    open_knowledge(page)
    choose(
        page,
        survey__pdf=pdf("Contents and thanks.", SURVEY),
        secrets__txt=(SECRET * 12).encode(),
        ferry__md=b"The ferry at Quellmouth bridge has two decks.",
    )
    expect(addition(page, "ferry.md")).to_contain_text("passage")
    wait_until_prepared(page, 3)
    page.keyboard.press("Escape")

    page.goto("/new/research_demo")
    question = "How many cracked beams has the Quellmouth bridge, and who designed the Quellmouth bridge?"
    composer(page).fill(question)
    along = page.get_by_test_id("going-along")
    expect(along).to_contain_text("2 excerpts from your device will go along, found by meaning", timeout=120_000)
    expect(along.get_by_role("listitem")).to_have_count(2)
    along.get_by_role("checkbox", name="ferry.md").uncheck()
    expect(along).to_contain_text("1 excerpt from your device will go along")
    assert violations(page) == []
    bodies.clear()
    composer(page).press("Enter")
    expect(page.get_by_test_id("went-along")).to_contain_text("1 excerpt from your device went along")
    dock(page).get_by_role("button", name="Approve").click(timeout=120_000)
    report = page.get_by_test_id("report")
    expect(report).to_contain_text("forty-one cracked beams", timeout=120_000)
    report.get_by_text("forty-one cracked beams").first.click()
    article = page.get_by_test_id("evidence").get_by_role("article").first
    expect(article.get_by_text("page 2", exact=True)).to_be_visible()
    quoted = article.locator("mark").inner_text()
    article.get_by_role("button", name="Open it here").click()
    expect(page.get_by_test_id("passage").locator("mark")).to_have_text(quoted)
    expect(page.get_by_test_id("passage")).to_contain_text("survey.pdf, page 2")
    page.keyboard.press("Escape")
    report.get_by_role("button", name="Verify").click()
    expect(report.get_by_role("status")).to_contain_text("Unchanged since it was written: ", timeout=120_000)

    sent = "\n".join(bodies)
    assert "forty-one cracked beams" in sent
    for kept in ("strongbox", "two decks"):
        assert kept not in sent, "an excerpt left that was not listed, or was left out"
    starts = [json.loads(body.partition("\n")[2]) for body in bodies if '"snippets"' in body]
    sent_places = [[(each["label"], each["place"]) for each in start["input"]["snippets"]] for start in starts]
    assert sent_places == [[("survey.pdf", "page 2")]]
    assert counts(page)["departures"] == 1

    thread_url = page.url
    page.goto(thread_url)
    expect(page.get_by_test_id("went-along")).to_contain_text("1 excerpt from your device went along")
    with page.context.browser.new_context(viewport=WIDE) as elsewhere:
        other = elsewhere.new_page()
        other.goto(f"{thread_url}/report")
        other.get_by_test_id("report-page").get_by_text("forty-one cracked beams").first.click()
        other.get_by_test_id("report-page").get_by_role("button", name="Open it here").first.click()
        expect(other.get_by_test_id("passage")).to_contain_text("This device does not have it")


def _body(request: Request) -> str:
    return (
        f"{request.url}\n{(request.post_data_buffer or b'').decode('utf-8', 'replace')}"
        if request.method != "GET"
        else request.url
    )


def test_a_question_sent_at_once_goes_by_itself_when_its_excerpts_were_shown(page: Page):
    open_knowledge(page)
    choose(page, survey__txt=SURVEY.encode())
    expect(addition(page, "survey.txt")).to_contain_text("passage")
    wait_until_prepared(page, 1)
    page.keyboard.press("Escape")
    page.goto("/new/research_demo")
    expect(page.get_by_test_id("going-along")).to_be_attached()
    along = page.get_by_test_id("going-along")
    page.evaluate(NOTE_WHAT_IS_SHOWN)
    with page.expect_request(lambda request: request.url.endswith("/runs") and request.method == "POST") as started:
        composer(page).evaluate(WRITE_AND_SEND, "How many beams of the Quellmouth bridge are cracked?")
    assert len(started.value.post_data_json["input"]["snippets"]) == 1
    assert "Sending in a moment; a change stops it. 1 excerpt" in page.evaluate("window.shown")
    expect(dock(page)).to_contain_text("Quellmouth")

    # What was allowed once is not allowed for ever: the same words again, with "none".
    dock(page).get_by_role("button", name="Ask something else").click()
    composer(page).fill("How many beams of the Quellmouth bridge are cracked?")
    along.get_by_role("button", name="Send none").click()
    expect(along).to_contain_text("Nothing of your knowledge goes along")
    assert sent_snippets(page) == []
    assert counts(page)["departures"] == 1


def test_a_change_keeps_a_question_that_was_about_to_go(page: Page):
    open_knowledge(page)
    choose(page, survey__txt=SURVEY.encode())
    expect(addition(page, "survey.txt")).to_contain_text("passage")
    wait_until_prepared(page, 1)
    page.keyboard.press("Escape")
    page.goto("/new/research_demo")
    along = page.get_by_test_id("going-along")
    expect(along).to_be_attached()
    page.clock.install()
    page.clock.pause_at(page.evaluate("Date.now() + 60_000"))
    composer(page).evaluate(WRITE_AND_SEND, "How many beams of the Quellmouth bridge are cracked?")
    expect(along).to_contain_text("Sending in a moment")
    along.get_by_role("checkbox", name="survey.txt").uncheck()
    page.clock.run_for(60_000)
    expect(along).to_contain_text("Nothing from your device will go along.")
    expect(composer(page)).to_have_value(re.compile("beams"))
    expect(page).to_have_url(re.compile("/new/research_demo$"))


def sent_snippets(page: Page) -> list[dict[str, Any]]:
    with page.expect_request(lambda request: request.url.endswith("/runs") and request.method == "POST") as started:
        composer(page).press("Enter")
    snippets: list[dict[str, Any]] = started.value.post_data_json["input"]["snippets"]
    return snippets


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[tuple[str, OfflineWorld]]:
    """A server whose web is ours, so that a page can be fetched without leaving this machine."""
    ready: Queue[str] = Queue()
    ended = threading.Event()

    async def run(world: OfflineWorld) -> None:
        aid = KnowledgeAid(MiniLMFiles(), lambda: PageFetcher(world.web))
        async with in_process.serve(tmp_path, knowledge=aid) as running:
            ready.put(running.url)
            await asyncio.to_thread(ended.wait)

    with OfflineWorld(idle_timeout_s=60.0) as world:
        thread = threading.Thread(target=lambda: asyncio.run(run(world)), daemon=True)
        thread.start()
        yield ready.get(timeout=60), world
        ended.set()
        thread.join(60)


def test_the_page_of_an_address_is_fetched_by_the_server_when_somebody_asks(
    browser: Browser, reader: tuple[str, OfflineWorld], allow_console: Callable[[str], None]
):
    url, world = reader
    watching = Watch(url)
    watching.allow("422")
    context = browser.new_context(base_url=url, viewport=WIDE, reduced_motion="reduce")
    context.set_default_timeout(90_000)
    page = context.new_page()
    watching.look_at(page)
    page.goto("/")
    dialog = open_knowledge(page)
    for address in (world.pages[0].url, f"{world.pages[0].url}#again", "http://127.0.0.1:9/inside", "javascript:alert(1)"):
        dialog.get_by_role("button", name="Add an address").click()
        dialog.get_by_label("Address of a page").fill(address)
        dialog.get_by_role("button", name="Keep the address").click()
    expect(addition(page, "javascript:alert(1)")).to_contain_text("no address of a page")
    expect(addition(page, f"{world.pages[0].url}#again")).to_contain_text("here already")
    assert world.requests == [], "nothing is fetched before somebody asks"
    entry = dialog.get_by_role("list", name="Documents").get_by_role("listitem")
    entry.filter(has_text="127.0.0.1").get_by_role("button", name="Fetch the page").click()
    expect(page.get_by_text(re.compile("inside|not public|public web")).first).to_be_visible()
    entry.filter(has_text="its page is not here").filter(has_not_text="127.0.0.1").get_by_role(
        "button", name="Fetch the page"
    ).click()
    expect(entry.filter(has_text="Page ·")).to_contain_text("passage")
    assert [request.path for request in world.requests if "robots" not in request.path]
    assert counts(page)["departures"] == 2, "both addresses are listed as having left"
    context.close()
    watching.check()


def test_a_page_of_the_web_is_saved_into_a_project(browser: Browser, reader: tuple[str, OfflineWorld]):
    """T5: fetched by the server when somebody asks, kept on the device."""
    url, world = reader
    context = browser.new_context(base_url=url, viewport=WIDE, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto("/")
    page.get_by_role("button", name="Project").first.click()
    dialog = page.get_by_role("dialog", name="Project")
    dialog.get_by_role("button", name="Start empty").click()
    dialog.get_by_label("Name of the new project").fill("Bridges")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Add files").click()
    page.get_by_role("menuitem", name="A page of the web").click()
    dialog.get_by_label("Address of the page").fill(world.pages[0].url)
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text(f"Source: {world.pages[0].url}")).to_be_visible()
    expect(dialog.get_by_role("treeitem", name="articles")).to_be_visible()
    assert counts(page)["departures"] == 1
    context.close()


@pytest.mark.prove
def test_ten_thousand_passages_are_searched_in_a_moment(
    page: Page, effort: Effort, record_property: Callable[[str, Any], None]
):
    """At most 300 ms after a warm-up, from the click to the shown result: with the question's own embedding."""
    open_knowledge(page)
    choose(page, seed__txt=SURVEY.encode())
    wait_until_prepared(page, 1)
    page.evaluate(FILL, FIXTURE["embedder_id"])
    box = knowledge(page).get_by_role("searchbox")
    box.fill("warm up")
    box.press("Enter")
    expect(page.get_by_test_id("found")).to_be_visible(timeout=120_000)
    took = page.evaluate(TIME_SEARCHES)
    record_property("search_ms", [round(each) for each in took])
    expect(page.get_by_test_id("found").get_by_role("listitem").first).to_contain_text("Quellmouth")
    assert took[0] < effort.cases(5_000, 300), "other tests share the machine; alone, `make prove` holds it to 300 ms"
