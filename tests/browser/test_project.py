"""Files on the device: a project comes in, is read, edited and searched, goes out, works without a network, and can be erased."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect
from tests.browser.conftest import LOOKS, PHONE, STATIC, WIDE, violations
from tests.browser.device import put_project, texts_of
from tests.browser.steps import close_settings, open_settings
from tests.conftest import Effort
from tests.integration.served.process import Server

MANY = 2_000
LONGEST_TASK_MS = 200

# As soon as some of it is in: whoever clicks from outside may come when all of it is.
CANCEL_IN_THE_MIDDLE = """() => new MutationObserver((_, self) => {
    const job = document.querySelector('[data-testid=import-progress]');
    if (!(job?.querySelector('progress').value > 0)) return;
    self.disconnect();
    job.querySelector('button').click();
}).observe(document, {childList: true, subtree: true, attributes: true, characterData: true})"""

# Everything in the database, store by store: what a person would find with the browser's own tools.
ROWS = """async () => {
    const found = {};
    for (const {name} of await indexedDB.databases()) {
        const database = await new Promise((done, fail) => {
            const request = indexedDB.open(name);
            request.onsuccess = () => done(request.result);
            request.onerror = () => fail(request.error);
        });
        for (const store of database.objectStoreNames) {
            const all = database.transaction(store).objectStore(store).getAll();
            found[store] = (found[store] ?? 0) + await new Promise(done => all.onsuccess = () => done(all.result.length));
        }
        database.close();
    }
    return found;
}"""


@pytest.fixture
def context(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    """With a service worker, unlike other tests."""
    made = browser.new_context(base_url=server.url, viewport=WIDE, reduced_motion="reduce", accept_downloads=True)
    made.set_default_timeout(90_000)
    yield made
    made.close()


def project(page: Page) -> Locator:
    if not page.get_by_role("dialog", name="Project").is_visible():
        page.get_by_role("button", name="Project").first.click()
    return page.get_by_role("dialog", name="Project")


def tree(page: Page) -> Locator:
    return page.get_by_test_id("file-tree")


def notice(page: Page) -> Locator:
    return page.get_by_test_id("project-notice")


def give(page: Page, *files: dict[str, Any] | Path) -> None:
    page.get_by_test_id("import-files").set_input_files(list(files))  # type: ignore[arg-type]


def give_in_page(page: Page, files: str) -> None:
    """Files that are made in the page, by an expression."""
    page.evaluate(
        f"""() => {{
            const input = document.querySelector('[data-testid=import-files]');
            Object.defineProperty(input, 'files', {{value: {files}, configurable: true}});
            input.dispatchEvent(new Event('change', {{bubbles: true}}));
            delete input.files;
        }}"""
    )


def text_file(name: str, content: str | bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "", "buffer": content.encode() if isinstance(content, str) else content}


def zip_of(**files: bytes | str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def choose_in_menu(page: Page, menu: str, item: str) -> None:
    page.get_by_role("button", name=menu).click()
    page.get_by_role("menuitem", name=item).click()


def rows(page: Page) -> dict[str, int]:
    return page.evaluate(ROWS)


def watch_long_tasks(page: Page) -> None:
    page.evaluate(
        """() => {
            window.longest = 0;
            new PerformanceObserver(list => {
                for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
            }).observe({type: 'longtask', buffered: false});
        }"""
    )


def test_a_folder_comes_in_is_read_edited_undone_and_searched(page: Page, tmp_path: Path):
    folder = tmp_path / "thesis"
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "wells.md").write_text("# Wells\n\nA **stepwell** is deep.")
    (folder / "plan.txt").write_text("first line")
    (folder / ".DS_Store").write_text("x")
    dialog = project(page)
    expect(dialog.get_by_text("Your files, on this device")).to_be_visible()
    page.get_by_test_id("import-folder").set_input_files(folder)
    expect(notice(page)).to_contain_text("2 files imported, 1 left out")
    expect(dialog.get_by_label("Project", exact=True)).to_have_value(rows_of_first_project(page))

    tree(page).focus()  # by keyboard alone: into the folder, to the note, open it
    for key in ("Home", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(dialog.get_by_role("heading", name="Wells", exact=True)).to_be_visible()
    expect(tree(page).get_by_role("treeitem", name="wells.md")).to_have_attribute("aria-selected", "true")

    dialog.get_by_role("tab", name="Edit").click()
    dialog.get_by_role("textbox", name="Text of wells.md").fill("# Wells\n\nA **stepwell** is very deep.")
    expect(tree(page)).to_contain_text("unsaved")
    page.keyboard.press("Control+s")
    expect(notice(page)).to_contain_text("is saved")
    dialog.get_by_role("tab", name="Versions").click()
    dialog.get_by_role("button", name="when you changed it").click()
    expect(dialog.get_by_label("What restoring changes: 1 lines added, 1 removed")).to_be_visible()
    dialog.get_by_role("button", name="Restore this version").click()
    dialog.get_by_role("tab", name="Read").click()
    expect(dialog.get_by_role("tabpanel")).to_contain_text("A stepwell is deep.")

    search = page.get_by_test_id("project-search")
    search.fill("stepwell")
    expect(page.get_by_test_id("project-hits").locator("mark")).to_have_text("stepwell")
    search.fill("nothing like it")
    expect(page.get_by_test_id("project-hits")).to_contain_text("No name and no text here has")
    search.fill("")
    tree(page).focus()
    page.keyboard.press("End")
    page.keyboard.press("Delete")
    expect(notice(page)).to_contain_text("“plan.txt” is deleted")
    expect(tree(page).get_by_text("plan.txt")).to_have_count(0)
    notice(page).get_by_role("button", name="Undo").click()
    expect(tree(page).get_by_text("plan.txt")).to_be_visible()

    tree(page).focus()
    page.keyboard.press("End")
    page.keyboard.press("Delete")
    choose_in_menu(page, "More about this project", "Deleted files")
    dialog.get_by_role("button", name="Bring back thesis/plan.txt").click()
    expect(tree(page).get_by_text("plan.txt")).to_be_visible()
    expect(dialog.get_by_text("Nothing was deleted")).to_be_visible()

    choose_in_menu(page, "More about this project", "Delete this project")
    expect(dialog.get_by_text("Your files, on this device")).to_be_visible()
    notice(page).get_by_role("button", name="Undo").click()
    expect(tree(page).get_by_text("plan.txt")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Project 2 files")).to_be_visible()


def rows_of_first_project(page: Page) -> str:
    return (
        page.get_by_test_id("project").get_by_label("Project", exact=True).locator("option").first.get_attribute("value") or ""
    )


def edit(page: Page, name: str, text: str) -> Locator:
    """Opens a file and writes into it, without saving; its text field."""
    tree(page).get_by_text(name).click()
    project(page).get_by_role("tab", name="Edit").click()
    field = project(page).get_by_role("textbox", name=f"Text of {name}")
    field.fill(text)
    return field


def unsaved(page: Page) -> Locator:
    return tree(page).get_by_role("treeitem").filter(has_text="unsaved")


# A save hashes its text first: it waits there until `goOn()`.
HOLD_SAVES = """() => {
    const real = crypto.subtle.digest.bind(crypto.subtle);
    const held = new Promise(done => window.goOn = () => { delete crypto.subtle.digest; done(); });
    crypto.subtle.digest = (...given) => held.then(() => real(...given));
}"""


def test_what_is_written_while_a_save_is_under_way_is_kept(page: Page):
    put_project(page, {"/a.md": "a", "/b.md": "b"})
    dialog = project(page)
    edit(page, "b.md", "b, not saved")
    field = edit(page, "a.md", "a, saved")
    page.evaluate(HOLD_SAVES)
    page.keyboard.press("Control+s")
    field.press_sequentially(" and more")
    page.evaluate("goOn()")
    expect(notice(page)).to_contain_text("“a.md” is saved")
    expect(field).to_have_value("a, saved and more")
    expect(unsaved(page)).to_have_count(2)
    assert texts_of(page) == {"/a.md": "a, saved", "/b.md": "b"}

    notice(page).get_by_role("button", name="Close this notice").click()
    page.evaluate(HOLD_SAVES)
    page.keyboard.press("Control+s")  # the next one is based on the one before: no conflict
    tree(page).get_by_text("b.md").click()
    page.evaluate("goOn()")
    expect(notice(page)).to_contain_text("“a.md” is saved")
    expect(unsaved(page)).to_have_text([re.compile("b.md")])
    dialog.get_by_role("tab", name="Edit").click()
    expect(dialog.get_by_role("textbox", name="Text of b.md")).to_have_value("b, not saved")
    assert texts_of(page) == {"/a.md": "a, saved and more", "/b.md": "b"}


def test_an_undo_is_of_the_file_that_was_changed_whatever_is_shown_by_then(page: Page):
    put_project(page, {"/a.md": "a", "/b.md": "b"})
    dialog = project(page)

    def undo_with_the_other_file_shown() -> None:
        tree(page).get_by_text("b.md").click()
        expect(dialog.get_by_role("region", name="/b.md")).to_be_visible()
        notice(page).get_by_role("button", name="Undo").click()
        tree(page).get_by_text("a.md").click()

    for name in ("b.md", "a.md"):  # each has a change that could be taken back
        edit(page, name, f"{name}, changed")
        page.keyboard.press("Control+s")
        expect(notice(page)).to_contain_text(f"“{name}” is saved")
    undo_with_the_other_file_shown()
    expect(dialog.get_by_role("tabpanel")).to_have_text("a")
    assert texts_of(page) == {"/a.md": "a", "/b.md": "b.md, changed"}

    dialog.get_by_role("tab", name="Versions").click()
    dialog.get_by_role("button", name="when you changed it").first.click()
    dialog.get_by_role("button", name="Restore this version").click()
    expect(notice(page)).to_contain_text("is as it was")
    assert texts_of(page)["/a.md"] == "a.md, changed"
    undo_with_the_other_file_shown()
    expect(dialog.get_by_role("tabpanel")).to_have_text("a")
    assert texts_of(page) == {"/a.md": "a", "/b.md": "b.md, changed"}


def test_a_file_that_changed_while_its_edit_was_left_is_not_overwritten(page: Page):
    put_project(page, {"/a.md": "a", "/b.md": "b"})
    dialog = project(page)
    edit(page, "a.md", "mine")
    tree(page).get_by_text("b.md").click()
    put_project(page, {"/a.md": "theirs"})  # as another tab does
    expect(dialog.get_by_role("button", name="2 files, 7 B")).to_be_visible()  # the page knows of it
    tree(page).get_by_text("a.md").click()
    expect(dialog.get_by_role("tabpanel")).to_have_text("theirs")
    dialog.get_by_role("tab", name="Edit").click()
    expect(dialog.get_by_role("textbox", name="Text of a.md")).to_have_value("mine")
    expect(dialog.get_by_role("alert")).to_contain_text("changed meanwhile")
    page.keyboard.press("Control+s")
    expect(dialog.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    assert texts_of(page)["/a.md"] == "theirs"
    dialog.get_by_role("button", name="Save mine over it").click()
    expect(notice(page)).to_contain_text("“a.md” is saved")
    assert texts_of(page)["/a.md"] == "mine"
    expect(dialog.get_by_role("alert")).to_have_count(0)


@pytest.mark.prove
def test_two_thousand_files_and_a_large_one_never_hold_the_page_up(
    page: Page, tmp_path: Path, effort: Effort, record_property: Callable[[str, object], None]
):
    packed = zip_of(**{f"folder {n % 20}/note {n}.md": f"# Note {n}\n\n{'words of a note ' * 20}" for n in range(MANY)})
    large = tmp_path / "z large.txt"
    large.write_bytes(os.urandom(1_000).hex().encode() * 10_000)
    dialog = project(page)
    page.evaluate(CANCEL_IN_THE_MIDDLE)
    give(page, text_file("many.zip", packed))
    expect(notice(page)).to_contain_text("Cancelled. Nothing was imported.")
    assert rows(page)["files"] == 0

    def work() -> float:
        """The longest task of the page while much comes in, is looked at and searched."""
        watch_long_tasks(page)
        give(page, text_file("many.zip", packed))
        expect(notice(page)).to_contain_text(f"{MANY:,} files imported", timeout=120_000)
        tree(page).focus()
        for key in ("Home", "ArrowRight", "ArrowDown", "Enter", "End"):
            page.keyboard.press(key)
        expect(dialog.get_by_role("heading", name="Note 0", exact=True)).to_be_visible()
        assert page.get_by_role("treeitem").count() < 60, "it draws far more than is seen"
        page.get_by_test_id("project-search").fill("note 1999")
        expect(page.get_by_test_id("project-hits")).to_contain_text("1 name")
        expect(page.get_by_test_id("project-hits").locator("mark").first).to_be_visible()
        page.get_by_test_id("project-search").fill("")
        give(page, large)
        expect(notice(page)).to_contain_text("1 file imported", timeout=120_000)
        tree(page).focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(dialog.get_by_text("The first 60,000 characters")).to_be_visible()
        expect(dialog.get_by_role("tab", name="Edit")).to_have_count(0)
        return page.evaluate("longest")

    longest = work()
    # The clock runs on while other programs have the processor: what counts is a round that was not disturbed.
    for _ in range(2):
        if longest <= LONGEST_TASK_MS or not effort.long:
            break
        choose_in_menu(page, "More about this project", "Delete this project")
        longest = min(longest, work())
    record_property("longest task (ms)", longest)
    assert not effort.long or longest <= LONGEST_TASK_MS, "other tests share the machine; alone, `make prove` holds it to that"


def test_what_must_not_come_in_is_refused_with_a_sentence_and_leaves_nothing(
    open_page: Callable[..., Page], context: BrowserContext, server: Server
):
    # Before the page is there, which writes at once: a browser remembers for a while how much room there was.
    page = open_page("about:blank")
    tools = context.new_cdp_session(page)
    tools.send("Storage.overrideQuotaForOrigin", {"origin": server.url, "quotaSize": 20_000_000})
    page.goto("/")
    project(page)
    expect(page.get_by_test_id("project")).to_contain_text("Your files")

    def refused(sentence: str) -> None:
        expect(notice(page)).to_contain_text(sentence)
        found = rows(page)
        assert {store: found.get(store, 0) for store in ("projects", "files", "contents")} == dict.fromkeys(
            ("projects", "files", "contents"), 0
        )
        notice(page).get_by_role("button", name="Close this notice").click()

    give(page, text_file("bomb.zip", zip_of(bomb=b"\0" * 30_000_000)))
    refused("as in a zip bomb")
    give(page, text_file("out.zip", zip_of(**{"good.md": "x", "../../etc/passwd": "x"})))
    refused("climbs out with '..'")
    link = zipfile.ZipInfo("link")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    give(page, text_file("link.zip", packed.getvalue()))
    refused("is a link to another place")
    # Half a gigabyte, as far as anybody can see who does not read it.
    give_in_page(page, "[Object.defineProperty(new File(['x'], 'huge.bin'), 'size', {value: 500_000_000})]")
    refused("“huge.bin” has 500.0 MB. At most 50.0 MB can be kept")
    # No room in the middle: some batches are written, then the browser refuses.
    # Bytes that cannot be made shorter: a browser packs what it stores.
    noise = "(() => { const made = new Uint8Array(3_932_160); for (let at = 0; at < made.length; at += 65_536) "
    noise += "crypto.getRandomValues(made.subarray(at, at + 65_536)); return made; })()"
    give_in_page(page, f"Array.from({{length: 10}}, (_, n) => new File([{noise}], `part ${{n}}.bin`))")
    refused("not enough room on your device")
    tools.send("Storage.overrideQuotaForOrigin", {"origin": server.url})
    give(page, text_file("small.md", "fits"))
    expect(notice(page)).to_contain_text("1 file imported")


def test_names_that_differ_only_in_case_are_kept_apart_and_told(page: Page):
    project(page)
    give(page, text_file("names.zip", zip_of(**{"Readme.md": "one", "README.md": "two", "Docs/a.md": "a", "docs/b.md": "b"})))
    expect(notice(page)).to_contain_text("4 files imported, 2 names changed")
    notice(page).locator("summary").click()
    expect(notice(page)).to_contain_text("“/README.md” differs from “/Readme.md” only in case")
    expect(tree(page).get_by_role("treeitem")).to_have_count(5)
    expect(tree(page).get_by_role("treeitem", name="README (2).md")).to_be_visible()
    page.get_by_test_id("project").evaluate(
        """(dialog) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(['dropped'], 'dropped.md'));
            dialog.dispatchEvent(new DragEvent('drop', {dataTransfer, bubbles: true, cancelable: true}));
        }"""
    )
    expect(notice(page)).to_contain_text("1 file imported")
    expect(tree(page).get_by_role("treeitem", name="dropped.md")).to_be_visible()


def test_an_exported_project_comes_in_again_byte_for_byte(page: Page, tmp_path: Path):
    dialog = project(page)
    contents = {"text.md": b"caf\xc3\xa9\r\n", "mark.txt": b"\xef\xbb\xbfx", "bytes.bin": os.urandom(10_000), "empty.txt": b""}
    give(page, *[text_file(name, content) for name, content in contents.items()])
    expect(notice(page)).to_contain_text("4 files imported")
    dialog.get_by_label("Ask before the agent changes files").uncheck()
    choose_in_menu(page, "More about this project", "Rename this project")
    page.get_by_label("Name of the project").fill("On wells")
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Project", exact=True).locator("option")).to_have_text(["On wells"])
    with page.expect_download() as saved:
        choose_in_menu(page, "More about this project", "Export as zip")
    assert saved.value.suggested_filename == "On wells.zip"
    saved.value.save_as(tmp_path / "On wells.zip")
    with zipfile.ZipFile(tmp_path / "On wells.zip") as archive:
        assert {name: archive.read(name) for name in archive.namelist()[1:]} == contents
        assert json.loads(archive.read(archive.namelist()[0]))["name"] == "On wells"
    give(page, tmp_path / "On wells.zip")
    expect(notice(page)).to_contain_text("4 files imported")
    expect(dialog.get_by_label("Project", exact=True).locator("option")).to_have_text(["On wells", "On wells"])
    # Whoever made the zip does not decide that an agent may write unasked.
    expect(dialog.get_by_label("Ask before the agent changes files")).to_be_checked()
    hashes = page.evaluate(
        """async () => {
            const database = await new Promise(done => { const r = indexedDB.open('stepwell'); r.onsuccess = () => done(r.result); });
            const all = database.transaction('files').objectStore('files').getAll();
            const rows = await new Promise(done => all.onsuccess = () => done(all.result));
            database.close();
            return rows.map(({path, hash, type, title}) => [path, hash, type, title].join(' '));
        }"""
    )
    assert sorted(hashes)[::2] == sorted(hashes)[1::2], "what came back is another"


def test_without_a_network_the_page_opens_and_files_can_be_edited(page: Page, context: BrowserContext, allow_console):
    allow_console("ERR_INTERNET_DISCONNECTED|Failed to load resource")
    dialog = project(page)
    give(page, text_file("note.md", "before"))
    expect(notice(page)).to_contain_text("1 file imported")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    assert page.evaluate("caches.keys()") != [], "the shell is not kept"
    context.set_offline(True)
    page.goto("/t/00000000-0000-0000-0000-000000000000")
    expect(page.get_by_test_id("connection-banner")).to_contain_text("Your projects on this device can be read and edited")
    dialog = project(page)
    tree(page).get_by_text("note.md").click()
    dialog.get_by_role("tab", name="Edit").click()
    dialog.get_by_role("textbox", name="Text of note.md").fill("written offline")
    dialog.get_by_role("button", name="Save").click()
    expect(notice(page)).to_contain_text("is saved")
    page.reload()
    project(page)
    tree(page).get_by_text("note.md").click()
    expect(dialog.get_by_role("tabpanel")).to_contain_text("written offline")
    kept = page.evaluate(
        """async () => {
            const names = await caches.keys();
            const requests = (await Promise.all(names.map(async name => (await caches.open(name)).keys()))).flat();
            return requests.map(request => new URL(request.url).pathname);
        }"""
    )
    assert [path for path in kept if not path.startswith(("/assets/", "/page/")) and path != "/"] == [], "an answer was kept"
    context.set_offline(False)


class OtherBuild(SimpleHTTPRequestHandler):
    """The page's files from a folder that can be exchanged, as a server that was updated has them."""

    folder: Path

    def translate_path(self, path: str) -> str:
        plain = path.partition("?")[0]
        return str(self.folder / ("index.html" if plain == "/" else plain.lstrip("/")))

    def end_headers(self) -> None:
        self.send_header("cache-control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: pytest shows what matters."""


def test_a_new_build_is_shown_at_once_and_takes_the_place_of_the_old_one(browser: Browser, tmp_path: Path):
    for build in ("old", "new"):
        shutil.copytree(STATIC.parent, tmp_path / build)
        for name, found, put in (
            ("index.html", "<title>Stepwell", f"<meta name=build content={build}><title>Stepwell"),
            ("service-worker.js", '"build":"', f'"build":"{build}-'),
        ):
            place = tmp_path / build / name
            assert found in place.read_text()
            place.write_text(place.read_text().replace(found, put, 1))
            os.utime(place, (0, 0) if build == "old" else None)
    OtherBuild.folder = tmp_path / "old"
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherBuild) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        context = browser.new_context(base_url=f"http://127.0.0.1:{serving.server_port}", reduced_motion="reduce")
        page = context.new_page()
        shown = page.locator("meta[name=build]")

        def wait_for_cache(build: str) -> None:
            """Until the worker of this build, and no other, has its files and this page."""
            assert page.evaluate(
                """async build => {
                    for (let tries = 0; tries < 300; tries++) {
                        const names = await caches.keys();
                        const {active, waiting} = await navigator.serviceWorker.getRegistration() ?? {};
                        const alone = names.length === 1 && names[0].startsWith(`stepwell-shell-${build}-`);
                        if (alone && active?.state === 'activated' && !waiting && navigator.serviceWorker.controller) return true;
                        await new Promise(done => setTimeout(done, 100));
                    }
                    return false;
                }""",
                build,
            )

        page.goto("/")
        wait_for_cache("old")
        OtherBuild.folder = tmp_path / "new"
        page.reload()
        expect(shown).to_have_attribute("content", "new")
        wait_for_cache("new")
        serving.shutdown()
    page.reload()
    expect(shown).to_have_attribute("content", "new")
    expect(page.get_by_role("button", name="Project")).to_be_visible()
    context.close()


# What the page stores, as the browser has it: databases with rows, caches, keys of both storages.
STORED = """async () => [
    ...(await indexedDB.databases()).map(({name}) => ['database', name]),
    ...(await caches.keys()).map(name => ['cache', name]),
    ...Object.keys(localStorage).map(key => ['local', key]),
    ...Object.keys(sessionStorage).map(key => ['session', key]),
]"""


def test_everything_that_is_kept_is_listed_exported_and_erased(page: Page, tmp_path: Path):
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.keyboard.press("Control+Shift+L")
    page.get_by_test_id("composer").fill("a message that is not sent")
    page.wait_for_function("() => Object.values(localStorage).includes('a message that is not sent')")
    page.evaluate("sessionStorage.setItem('stepwell.answer', 'half')")
    page.evaluate(
        """() => new Promise(done => {
            const request = indexedDB.open('elsewhere', 1);
            request.onsuccess = () => { request.result.close(); done(); };
        })"""
    )
    project(page)
    give(page, text_file("note.md", "words"))
    expect(notice(page)).to_contain_text("1 file imported")
    page.keyboard.press("Escape")
    dialog = open_settings(page, "This device")
    expect(dialog.get_by_text("Project files")).to_be_visible()
    listed = [row.split(":", 1) for row in dialog.locator("[data-kept]").evaluate_all("all => all.map(e => e.dataset.kept)")]
    stored = [row for row in page.evaluate(STORED) if row != ["database", "stepwell"]]
    assert len(stored) >= 5
    assert [row for row in stored if row not in listed] == [], "something is kept that the page does not tell"
    with page.expect_download() as saved:
        dialog.get_by_role("button", name="Export all").click()
    saved.value.save_as(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert b"words" in archive.read("contents.jsonl")
        assert "a message that is not sent" in archive.read("local-storage.json").decode()
    dialog.get_by_role("button", name="Erase: Project files").click()
    dialog.get_by_role("button", name="Erase for good").click()
    expect(dialog.get_by_text("Erased: Project files.")).to_be_visible()
    assert rows(page)["contents"] == 0
    dialog.get_by_role("button", name="Erase everything…").click()
    confirm = dialog.get_by_role("button", name="Erase everything for good")
    expect(confirm).to_be_disabled()
    dialog.get_by_label("to go on").fill("erase everything")
    confirm.click()
    expect(dialog.get_by_text("Everything is erased")).to_be_visible()
    page.evaluate("window.dispatchEvent(new Event('online'))")  # whatever waits to be sent is looked for then
    assert page.evaluate(STORED) == []
    assert page.evaluate("navigator.serviceWorker.getRegistrations().then(all => all.length)") == 0
    dialog.get_by_role("button", name="Load the page again").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_test_id("composer")).to_have_value("")  # not even the message that stood there


def test_a_browser_that_keeps_nothing_says_so_and_talks_as_before(context: BrowserContext, open_page: Callable[..., Page]):
    context.add_init_script("delete window.indexedDB; Object.defineProperty(window, 'indexedDB', {value: undefined})")
    page = open_page("/")
    expect(project(page).get_by_role("alert")).to_contain_text("keeps nothing for this page")
    page.keyboard.press("Escape")
    open_settings(page, "This device")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("keeps nothing for this page")
    close_settings(page)
    page.goto("/new/echo")
    page.get_by_test_id("composer").fill("hello")
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("agent-message").last).to_contain_text("hello")


def test_no_accessibility_rule_is_broken(page: Page):
    found: dict[str, list[str]] = {}

    def look(state: str) -> None:
        for scheme, size in LOOKS:
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.set_viewport_size(size)
            if broken := violations(page, of_colours=scheme == "dark"):
                found[f"{state}, {scheme}, {size['width']} px"] = broken
        page.set_viewport_size(WIDE)

    dialog = project(page)
    expect(dialog.get_by_text("Your files, on this device")).to_be_visible()
    look("empty")
    give(page, text_file("a.zip", zip_of(**{"notes/a.md": "# A\n\ntext", "b.txt": "text", "B.txt": "other"})))
    expect(notice(page)).to_contain_text("3 files imported")
    tree(page).get_by_text("a.md").click()
    dialog.get_by_role("tab", name="Edit").click()
    look("editing")
    page.get_by_test_id("project-search").fill("text")
    expect(page.get_by_test_id("project-hits").locator("mark").first).to_be_visible()
    look("search")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    open_settings(page, "This device")
    expect(page.get_by_text("Project files")).to_be_visible()
    page.get_by_role("button", name="Erase everything…").click()
    look("this device")
    assert found == {}
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], "the page scrolls sideways"
