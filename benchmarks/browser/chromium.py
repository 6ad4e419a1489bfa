"""Opens pages in Chromium as a first visitor has them (a fresh profile each, nothing cached), with `observe.js` inside."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from benchmarks.bench import ContestantError

OBSERVE = Path(__file__).with_name("observe.js").read_text()
WINDOW = {"width": 1280, "height": 800}
TIMEOUT_MS = 60_000
FLAGS = [
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Chromium:
    """One browser, asked for one page after the other."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._browser = browser
        self._url = url
        self._session: CDPSession = browser.new_browser_cdp_session()

    @contextmanager
    def open(self, path: str, *, until: tuple[str, str]) -> Iterator[Page]:
        """A page, once an element (a selector) shows a text. `bench.seen` tells when that was."""
        context = self._browser.new_context(base_url=self._url, viewport=WINDOW)
        context.set_default_timeout(TIMEOUT_MS)
        try:
            page = context.new_page()
            page.add_init_script(f"{OBSERVE}\nbench.watch(...{json.dumps(until)});")
            page.goto(path, wait_until="commit")
            wait_until_seen(page)
            yield page
        finally:
            context.close()

    def renderer_cpu_ms(self) -> dict[int, float]:
        """CPU that each process of a page has used so far, by its id."""
        processes: list[dict[str, Any]] = self._session.send("SystemInfo.getProcessInfo")["processInfo"]
        return {each["id"]: 1000 * each["cpuTime"] for each in processes if each["type"] == "renderer"}

    def cpu_ms_since(self, before: dict[int, float]) -> float:
        return sum(used - before.get(process, 0.0) for process, used in self.renderer_cpu_ms().items())

    @contextmanager
    def record_tasks(self, page: Page) -> Iterator[list[float]]:
        """CPU in ms of each task on the page's main thread meanwhile. Unlike wall time, it leaves out what other programs took."""
        found: list[float] = []
        self._browser.start_tracing(
            page=page, categories=["__metadata", "devtools.timeline", "disabled-by-default-devtools.timeline"]
        )
        try:
            yield found
        finally:
            events: list[dict[str, Any]] = json.loads(self._browser.stop_tracing())["traceEvents"]
        main = {_thread_of(event) for event in events if _names_main_thread(event)}
        tasks = (event for event in events if event.get("name") == "RunTask" and _thread_of(event) in main)
        found += [event.get("tdur", 0) / 1000 for event in tasks]


def _names_main_thread(event: dict[str, Any]) -> bool:
    return event.get("name") == "thread_name" and event["args"]["name"] == "CrRendererMain"


def _thread_of(event: dict[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]


@contextmanager
def start_chromium(url: str) -> Iterator[Chromium]:
    program = shutil.which("chromium") or shutil.which("chromium-headless-shell")
    if program is None:
        raise ContestantError("no Chromium on this machine; scripts/system-packages installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield Chromium(browser, url)
        finally:
            browser.close()


def wait_until_seen(page: Page) -> float:
    page.wait_for_function("() => bench.seen !== null")
    return float(page.evaluate("() => bench.seen"))
