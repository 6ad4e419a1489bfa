"""Nothing of what agents ask of the device is lost or done twice: browser, network and server may go at any moment."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Playwright, TimeoutError, expect, sync_playwright
from tests.browser.conftest import CHROMIUM, FLAGS, GRAPHS, NO_CHROMIUM, Watch
from tests.browser.device import PROJECT, put_project, rows_of, steps, texts_of
from tests.browser.steps import ask, dock, last_answer, thread_id
from tests.conftest import Effort
from tests.integration.served.process import Server, serve
from tests.support.missing import MissingProgramError

EDITS = 6
DEVICE = 3
"""The place of the client tool among the four kinds."""
STARTED_S = 60
DONE_S = 90


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("kills"), graphs=GRAPHS) as started:
        yield started


class KillableBrowser:
    """A browser of our own on a profile that stays. Only the process that was started here is ever signalled."""

    def __init__(self, playwright: Playwright, profile: Path) -> None:
        self._playwright = playwright
        self._profile = profile
        self._port = profile / "DevToolsActivePort"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Page:
        self._port.unlink(missing_ok=True)
        if CHROMIUM is None:
            raise MissingProgramError(NO_CHROMIUM)
        command = [CHROMIUM, *FLAGS, "--headless=new"]
        options = ["--remote-debugging-port=0", f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        connected = self._playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{self._wait_for_port()}")
        context = connected.contexts[0]
        context.set_default_timeout(90_000)
        return context.pages[0] if context.pages else context.new_page()

    def kill(self) -> None:
        """As a crash, or the system when memory is short."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)
        self._process = None

    def _wait_for_port(self) -> str:
        deadline = time.monotonic() + STARTED_S
        while time.monotonic() < deadline:
            if self._port.exists() and (lines := self._port.read_text().splitlines()):
                return lines[0]
            time.sleep(0.05)
        raise AssertionError("the browser did not start")


@contextmanager
def killable_browser(profile: Path) -> Iterator[KillableBrowser]:
    with sync_playwright() as playwright:
        browser = KillableBrowser(playwright, profile)
        try:
            yield browser
        finally:
            if browser._process is not None:
                browser.kill()


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_killed_browser_loses_nothing_and_does_nothing_twice(
    server: Server, tmp_path: Path, effort: Effort, record_property: Callable[[str, object], None]
):
    """Each round asks for six changes of a file, each of which leaves one more mark in it, and kills the browser meanwhile."""
    kills, chance = effort.cases(2, 20), random.Random(15)
    in_the_outbox = 0
    with killable_browser(tmp_path / "profile") as browser:
        page = browser.start()
        page.goto(server.url)
        put_project(page, {f"/log{number}.md": "END\n" for number in range(kills)}, write_approval=False)
        for number in range(kills):
            marks = [f"mark-{number}-{step}" for step in range(EDITS)]
            edits = [_add_mark(f"/project/log{number}.md", mark) for mark in marks]
            thread = ask_from_elsewhere(server, steps(*edits))
            page.goto(f"{server.url}/t/{thread}")
            _wait_until_it_works(server, thread)
            time.sleep(chance.uniform(0.0, 1.5))
            browser.kill()
            page = browser.start()
            page.goto(server.url)
            in_the_outbox += len([row for row in rows_of(page, "outbox") if "delivered_at" not in row])
            page.goto(f"{server.url}/t/{thread}")
            results = wait_for_results(server, thread)
            assert len(results) == EDITS
            assert all(result["status"] == "success" for result in results), results
            text = texts_of(page)[f"/log{number}.md"]
            assert text == "".join(f"{mark} " for mark in marks) + "END\n"
        changes = [row for row in rows_of(page, "versions") if row["by"] == "agent"]
        assert len(changes) == kills * EDITS
    record_property("kills", kills)
    record_property("changes", len(changes))
    record_property("found in the outbox", in_the_outbox)


def test_a_browser_killed_between_deed_and_answer_sends_what_it_did(server: Server, tmp_path: Path):
    with killable_browser(tmp_path / "profile") as browser:
        page = browser.start()
        page.goto(server.url)
        put_project(page, {"/a.md": "END\n"}, write_approval=False)
        lost = re.compile(r"/threads/[^/]+/runs$")
        page.context.route(lost, lambda route: None if "resume" in (route.request.post_data or "") else route.continue_())
        thread = ask_from_elsewhere(server, steps(_add_mark("/project/a.md", "once")))
        page.goto(f"{server.url}/t/{thread}")
        page.evaluate(_WAIT_UNTIL_DONE)
        browser.kill()
        page = browser.start()
        page.goto(server.url)
        assert [result["status"] for result in wait_for_results(server, thread)] == ["success"]
        assert texts_of(page) == {"/a.md": "once END\n"}
        assert len(rows_of(page, "versions")) == 1


_WAIT_UNTIL_DONE = """async () => {
  const count = () => new Promise((resolve) => {
    const request = indexedDB.open("stepwell");
    request.onsuccess = () => {
      const counting = request.result.transaction("outbox").objectStore("outbox").count();
      counting.onsuccess = () => { request.result.close(); resolve(counting.result); };
    };
  });
  while (!(await count())) await new Promise((resolve) => setTimeout(resolve, 20));
}"""


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_chain_of_mixed_interrupts_survives_reload_lost_network_and_a_killed_server(
    page: Page,
    context: BrowserContext,
    server: Server,
    watch: Watch,
    effort: Effort,
    record_property: Callable[[str, object], None],
):
    watch.allow("ERR_|409")  # an answer that is given again may have arrived the first time
    count = effort.cases(8, 30)
    cut_off = next(number for number in range(count // 3, count) if number % 4 == DEVICE)
    put_project(page, {"/a.md": "The Nile is long.\n"})
    ask(page, "filer", steps(*(_link(number) for number in range(count))))
    for number in range(count):
        if number == count // 4:
            page.reload()
        _answer(page, number, without_network=context if number == cut_off else None)
        if number == count * 3 // 4:
            server.kill()
            server.start()
            _answer_again(page, number)
    expect(last_answer(page)).to_contain_text("Results:", timeout=120_000)
    results = wait_for_results(server, thread_id(page))
    assert [_effect(number) in result["content"] for number, result in enumerate(results)] == [True] * count
    written = {row["path"] for row in rows_of(page, "versions")}
    assert written == {f"/f{number}.md" for number in range(count) if number % 4 == DEVICE}
    assert len(rows_of(page, "versions")) == len(written)
    record_property("interrupts", count)


def _link(number: int) -> tuple[str, dict[str, object]]:
    """Plan approval, tool approval, clarification, client tool, and so on."""
    kinds: list[tuple[str, dict[str, object]]] = [
        ("propose_plan", {"objective": f"plan {number}"}),
        ("order", {"count": number, "name": "pumps"}),
        ("ask_person", {"question": f"Question {number}?"}),
        ("write_file", {"file_path": f"/project/f{number}.md", "content": f"text {number}\n"}),
    ]
    return kinds[number % 4]


def _effect(number: int) -> str:
    return ["the plan is approved", f"ordered {number} of", f"the person says answer {number}", f"f{number}.md"][number % 4]


def _answer(page: Page, number: int, *, without_network: BrowserContext | None) -> None:
    """An answer that did not get through is given again."""
    expect(dock(page)).to_contain_text(_shown(number), timeout=120_000)
    if without_network:
        without_network.set_offline(True)
        _click(page, number)
        expect(dock(page).get_by_role("alert")).to_be_visible(timeout=120_000)
        without_network.set_offline(False)
    _click(page, number)


def _answer_again(page: Page, number: int) -> None:
    """If the answer went down with the server, the card says so and keeps the draft."""
    deadline = time.monotonic() + DONE_S
    while time.monotonic() < deadline and dock(page).get_by_text(_shown(number)).is_visible():
        if dock(page).get_by_role("alert").is_visible():
            with suppress(TimeoutError):  # it has arrived after all, and its card is gone
                _click(page, number, timeout=5_000)
        page.wait_for_timeout(200)


def _shown(number: int) -> str:
    return [f"plan {number}", "pumps", f"Question {number}?", f"May /f{number}.md be changed?"][number % 4]


def _click(page: Page, number: int, *, timeout: float | None = None) -> None:
    if number % 4 == 2:
        dock(page).get_by_role("textbox").fill(f"answer {number}", timeout=timeout)
        dock(page).get_by_role("button", name="Answer").click(timeout=timeout)
    else:
        dock(page).get_by_role("button", name=re.compile("Approve|Retry")).first.click(timeout=timeout)


def _add_mark(path: str, mark: str) -> tuple[str, dict[str, str]]:
    return ("edit_file", {"file_path": path, "old_string": "END", "new_string": f"{mark} END"})


def ask_from_elsewhere(server: Server, text: str) -> str:
    """A conversation that no page has begun."""
    thread = httpx.post(f"{server.url}/threads", json={"metadata": {"graph_id": "filer"}}).json()["thread_id"]
    given = {"messages": [{"role": "user", "content": text}], "current_project_id": PROJECT}
    httpx.post(f"{server.url}/threads/{thread}/runs", json={"assistant_id": "filer", "input": given}).raise_for_status()
    return str(thread)


def _wait_until_it_works(server: Server, thread: str) -> None:
    deadline = time.monotonic() + STARTED_S
    while time.monotonic() < deadline and len(httpx.get(f"{server.url}/threads/{thread}/runs").json()) < 2:
        time.sleep(0.02)


def wait_for_results(server: Server, thread: str) -> list[dict[str, str]]:
    """What the tools gave, once the agent has said its last word."""
    deadline = time.monotonic() + DONE_S
    while time.monotonic() < deadline:
        found = httpx.get(f"{server.url}/threads/{thread}").json()
        messages = (found.get("values") or {}).get("messages", [])
        if found["status"] == "idle" and messages and messages[-1]["content"].startswith("Results:"):
            return [message for message in messages if message["type"] == "tool"]
        time.sleep(0.1)
    raise AssertionError(f"not done within {DONE_S} s: {httpx.get(f'{server.url}/threads/{thread}/interrupts').text[:2000]}")
