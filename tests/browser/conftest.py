"""The web page in a real browser, against the real server.

`page_at` opens a fresh browser context on a server that all tests of a file share. A test fails if the page wrote an error to the
console, broke its Content-Security-Policy, or asked anything of another origin; `allow_console` names what a test provokes.
Playwright's loop is started and stopped for each file: left running, it would keep the asynchronous tests of other files from theirs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright
from tests.integration.served.process import Server, serve
from tests.support.missing import MissingProgramError

GRAPHS = Path(__file__).parent / "langgraph.json"
STATIC = Path(__file__).parents[2] / "src/stepwell/server/page/static/index.html"
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""Without a window's frame, menus and services it needs two thirds of the time of a whole one; where there is none, that does too."""
NO_CHROMIUM = "There is no Chromium. Install the package `chromium-headless-shell`."
FLAGS = [
    "--no-sandbox",  # as root there is none
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 375, "height": 740}
LOOKS = [("light", WIDE), ("dark", WIDE), ("light", PHONE)]


AT_REST = """async () => {
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  const ends = (each) => each.effect.getComputedTiming().endTime !== Infinity;
  await Promise.allSettled(document.getAnimations().filter(ends).map((each) => each.finished));
}"""
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def violations(page: Page, *, of_colours: bool = False) -> list[str]:
    """The accessibility rules that what is shown breaks. The same page in other colours can only break rules `of_colours`."""
    page.evaluate(AT_REST)  # a transition that is under way has colours of its own
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], **(COLOURS if of_colours else {})}
    found = page.evaluate("options => axe.run(options).then(({ violations }) => violations)", options)
    return [f"{each['id']}: {node['html'][:160]} {node['failureSummary'][:300]}" for each in found for node in each["nodes"]]


# A busy machine is not a defect: what is waited for comes later there, and what never comes is told as well after half a minute.
expect.set_options(timeout=90_000)


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    assert STATIC.exists(), "The page is not built. Run `make page`."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        raise MissingProgramError(NO_CHROMIUM)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("browser"), graphs=GRAPHS) as started:
        yield started


class Watch:
    """What must not happen on any page of a test."""

    def __init__(self, *origins: str) -> None:
        self._origins = origins
        self._allowed: list[re.Pattern[str]] = []
        self.errors: list[str] = []
        self.elsewhere: list[str] = []

    def allow(self, pattern: str) -> None:
        self._allowed.append(re.compile(pattern))

    def look_at(self, page: Page) -> None:
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(f"uncaught: {error.stack or error}"))
        page.on("request", self._asked)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({urlsplit(message.location['url']).path})")

    def _asked(self, request: Request) -> None:
        place = urlsplit(request.url)
        if place.scheme not in ("data", "blob") and f"{place.scheme}://{place.netloc}" not in self._origins:
            self.elsewhere.append(request.url)

    def check(self) -> None:
        assert self.elsewhere == [], "the page asked something of another origin"
        unexpected = [error for error in self.errors if not any(pattern.search(error) for pattern in self._allowed)]
        assert unexpected == []


@pytest.fixture
def watch(server: Server) -> Iterator[Watch]:
    watching = Watch(server.url)
    yield watching
    watching.check()


@pytest.fixture
def allow_console(watch: Watch) -> Callable[[str], None]:
    return watch.allow


@pytest.fixture
def context(browser: Browser, server: Server) -> Iterator[BrowserContext]:
    # Without a service worker: requests are then the page's own, and no test waits for a cache to fill. test_project.py has one.
    made = browser.new_context(base_url=server.url, viewport=WIDE, reduced_motion="reduce", service_workers="block")
    made.set_default_timeout(90_000)
    yield made
    made.unroute_all(behavior="ignoreErrors")  # a request that is still on its way does not fail the next test
    made.close()


@pytest.fixture
def open_page(context: BrowserContext, watch: Watch) -> Callable[..., Page]:
    """Another tab of the same browser: `open_page("/")`."""

    def opened(path: str = "/") -> Page:
        page = context.new_page()
        watch.look_at(page)
        page.goto(path)
        return page

    return opened


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    return open_page("/")
