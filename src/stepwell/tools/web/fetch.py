"""Fetches a page: checks whether we may fetch it, follows redirects, finds its type and extracts its text.

```
address ──> check ──> robots.txt ──> send ──┬─> 2xx ──> type, text ──> FetchedPage
   ^                                        ├─> 3xx ──> next address, at most MOST_REDIRECTS times
   └────────────────────────────────────────┘   else ──> FetchFailedError
```

Every hop is checked like the first address. This module stores no pages; the caller keeps the evidence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.tools.documents.kinds import KINDS
from stepwell.tools.documents.parts import Part
from stepwell.tools.documents.reader_pool import READ_TIMEOUT_S, ReaderPool, usual_readers
from stepwell.tools.web.addresses import AddressRules, Url, check_url, read_hop, read_url
from stepwell.tools.web.robots import RobotsBook, RobotsVerdict
from stepwell.tools.web.transport import DEFAULT_MAX_BYTES, DEFAULT_TIMEOUT_S, Web, WebRequest, WebResponse

MOST_REDIRECTS = 5
_LONGEST_DELAY_S = 10.0
_MAX_ORIGINS = 1_000
_ACCEPT = ",".join(
    (
        "text/html",
        "application/xhtml+xml",
        *(f"{kind.media_types[0]};q=0.9" for kind in KINDS if kind.key not in ("html", "text")),
        "text/plain;q=0.8",
        "*/*;q=0.1",
    )
)

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class FetchedPage:
    """A page as received, and its text. `text` is normalised (`visible`), so offsets into it stay valid."""

    url: str
    final_url: str
    status: int
    media_type: str
    content: bytes = field(repr=False)
    text: str = field(repr=False)
    title: str
    robots: RobotsVerdict
    redirects: tuple[str, ...]
    """The addresses after the first one, in order; the last one is `final_url`. Empty if there were none."""
    fetched_at: str
    note: str = ""
    """What was left out, in one sentence."""
    parts: tuple[Part, ...] = ()
    """See `PageText.parts`."""
    found_by: str = ""
    """What gave it, if not the search engine of the step: `mcp:<server>`."""


class Turns:
    """When each origin may be asked next. Fetchers that share one `Turns` wait in one line."""

    def __init__(self, clock: Clock, sleep: Sleep = asyncio.sleep, longest_wait_s: float | None = None) -> None:
        """`take` raises `FetchFailedError` if it would have to wait for longer than `longest_wait_s`."""
        self._clock = clock
        self._sleep = sleep
        self._longest_wait_s = longest_wait_s
        self._next: dict[str, float] = {}

    async def take(self, origin: str, delay_s: float) -> None:
        """Wait until the origin may be asked, and block it for `delay_s` after that."""
        if delay_s <= 0:
            return
        now = self._clock.now().timestamp()
        turn = max(now, self._next.pop(origin, now))
        if self._longest_wait_s is not None and turn - now > self._longest_wait_s:
            self._next[origin] = turn
            raise FetchFailedError(f"'{origin}' asks for pauses between requests, and too many are already waiting.", "time")
        # The next turn is set before waiting, so that concurrent callers queue up.
        self._next[origin] = turn + delay_s
        while len(self._next) > _MAX_ORIGINS:
            del self._next[next(iter(self._next))]
        if turn > now:
            await self._sleep(turn - now)


class PageFetcher:
    """Fetches pages politely: it remembers robots.txt and when each origin was last asked."""

    def __init__(
        self,
        web: Web,
        *,
        clock: Clock | None = None,
        rules: AddressRules | None = None,
        sleep: Sleep = asyncio.sleep,
        check_hop: Callable[[str], None] | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        readers: ReaderPool | None = None,
        turns: Turns | None = None,
        robots: RobotsBook | None = None,
    ) -> None:
        """`check_hop` sees every address before we request it and may raise `FetchRefusedError`, to enforce a policy of the caller.
        `readers` are the processes that read pages (default: those that the whole process shares). Fetchers that share `turns` and `robots`
        keep to an origin's delay together, and request its robots.txt only once."""
        self._web = web
        self._clock = clock or SystemClock()
        self._rules = rules or AddressRules()
        self._check_hop = check_hop
        self._max_bytes = max_bytes
        self._timeout_s = timeout_s
        self._readers = readers or usual_readers()
        self._robots = robots or RobotsBook(web, self._clock, self._rules, check_hop, self._readers)
        self._turns = turns or Turns(self._clock, sleep, timeout_s + _LONGEST_DELAY_S)

    async def fetch_page(self, url: str) -> FetchedPage:
        """The page. Raises `FetchRefusedError` or `FetchFailedError` with the reason if it cannot be fetched."""
        first = current = read_url(url.strip())
        redirects: list[str] = []
        while True:
            robots = await self._admit(current)
            response = await self._web.send(self._request(current))
            location = response.header("location")
            if not (300 <= response.status < 400 and location):
                break
            current = _next_hop(current, location, redirects)
            redirects.append(str(current))
        _check_status(current, response)
        page = await self._readers.read_page(
            response.content,
            response.header("content-type"),
            min(self._timeout_s, READ_TIMEOUT_S),
            name=current.target.partition("?")[0].rpartition("/")[2],
        )
        return FetchedPage(
            str(first), str(current), response.status, page.media_type, response.content, page.text,
            page.title or current.host, robots, tuple(redirects), timestamp(self._clock), page.note, page.parts,
        )  # fmt: skip

    def _request(self, url: Url) -> WebRequest:
        return WebRequest(str(url), headers={"accept": _ACCEPT}, timeout_s=self._timeout_s, max_bytes=self._max_bytes)

    async def _admit(self, url: Url) -> RobotsVerdict:
        check_url(url, self._rules)
        if self._check_hop is not None:
            self._check_hop(str(url))
        robots = await self._robots.look_up(url)
        if robots.verdict == "disallowed":
            raise FetchRefusedError(f"'{url.host}' does not allow programs to fetch this page (robots.txt).", "robots")
        if robots.verdict == "unreachable":
            raise FetchRefusedError(
                f"We cannot find out whether '{url.host}' lets programs fetch its pages (robots.txt). {robots.why}",
                "robots_unreachable",
            )
        await self._turns.take(url.origin, min(robots.delay_s, _LONGEST_DELAY_S))
        return robots.verdict


def _next_hop(current: Url, location: str, redirects: list[str]) -> Url:
    if len(redirects) >= MOST_REDIRECTS:
        raise FetchFailedError(f"The page redirects more than {MOST_REDIRECTS} times.", "redirects")
    following = read_hop(current, location)
    if current.scheme == "https" and following.scheme == "http":
        raise FetchRefusedError("The page redirects from 'https' to 'http', where anyone could change it.", "downgrade")
    return following


def _check_status(url: Url, response: WebResponse) -> None:
    if 200 <= response.status < 300 and response.status != 204:
        return
    meaning = {404: "there is no such page", 410: "the page is gone", 401: "it asks for a login", 403: "it refuses us"}
    said = meaning.get(response.status, "it does not return the page")
    raise FetchFailedError(f"'{url.host}' answered with status {response.status}: {said}.", "status", response.status)
