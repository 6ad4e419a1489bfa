"""robots.txt according to RFC 9309: requested once per origin, kept for a day, and obeyed.

| answer | meaning |
|---|---|
| a file | its rules |
| 4xx | the origin has no such file: everything is allowed (`none`) |
| 5xx, no connection, too many redirects | we cannot know: nothing is allowed (`unreachable`), asked again after some minutes |

`Crawl-delay` is not part of the RFC; `fetch` honours it up to a maximum. This module reads and remembers; `fetch` obeys.

A file is parsed in a reader's process (`reader_pool`), like pages. Rules to keep: parsing takes linear time, however often groups are
repeated; memory is limited over all origins; many rules are never checked on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from stepwell.clock import Clock
from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.tools.documents.reader_pool import ReaderPool, usual_readers
from stepwell.tools.documents.robots_rules import Rules
from stepwell.tools.web.addresses import AddressRules, Url, check_url, read_hop, read_url
from stepwell.tools.web.transport import Web, WebRequest

RobotsVerdict = Literal["allowed", "disallowed", "none", "unreachable", "n/a"]

_KEEP_S = 24 * 3600.0
_KEEP_UNREACHABLE_S = 300.0
_MAX_BYTES = 512_000  # RFC 9309 asks for at least 500 kibibytes
_MAX_ORIGINS = 2_000
_MAX_CHARACTERS = 16_000_000
"""The limit for the rules of all origins together, because two thousand files of the maximum size would fill the memory."""
_HOPS = 5


@dataclass(frozen=True)
class RobotsAnswer:
    """What an origin says about one address."""

    verdict: RobotsVerdict
    delay_s: float = 0.0
    """The delay that the origin asks for between requests."""
    why: str = ""
    """Why the origin could not be asked."""


@dataclass(frozen=True)
class _Kept:
    verdict: Literal["rules", "none", "unreachable"]
    rules: Rules
    until: float
    why: str = ""


class RobotsBook:
    """What the origins seen so far allow."""

    def __init__(
        self,
        web: Web,
        clock: Clock,
        rules: AddressRules | None = None,
        check_hop: Callable[[str], None] | None = None,
        readers: ReaderPool | None = None,
    ) -> None:
        """`check_hop` sees every address that a robots.txt redirects to before we request it, as for a page's redirects."""
        self._web = web
        self._clock = clock
        self._rules = rules or AddressRules()
        self._check_hop = check_hop
        self._readers = readers or usual_readers()
        self._kept: dict[str, _Kept] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def look_up(self, url: Url) -> RobotsAnswer:
        """The verdict on an address. Its origin is asked at most once a day."""
        kept = await self._of(url)
        if kept.verdict != "rules":
            return RobotsAnswer(kept.verdict, why=kept.why)
        rules = kept.rules
        allowed = rules.allow(url.target) if rules.are_few else await self._readers.check_robots(rules, url.target)
        return RobotsAnswer("allowed" if allowed else "disallowed", rules.delay_s)

    async def _of(self, url: Url) -> _Kept:
        async with self._asking.setdefault(url.origin, asyncio.Lock()):
            now = self._clock.now().timestamp()
            kept = self._kept.get(url.origin)
            if kept is None or kept.until <= now:
                kept = await self._ask(url, now)
                self._kept.pop(url.origin, None)
                self._kept[url.origin] = kept
                self._make_room()
        return kept

    def _make_room(self) -> None:
        size = sum(kept.rules.size for kept in self._kept.values())
        while len(self._kept) > _MAX_ORIGINS or (size > _MAX_CHARACTERS and len(self._kept) > 1):
            oldest = next(iter(self._kept))
            size -= self._kept.pop(oldest).rules.size
            self._asking.pop(oldest, None)

    async def _ask(self, url: Url, now: float) -> _Kept:
        target = read_url(f"{url.origin}/robots.txt")
        for _ in range(_HOPS + 1):
            request = WebRequest(str(target), purpose="robots", timeout_s=10.0, max_bytes=_MAX_BYTES, cut=True)
            try:
                response = await self._web.send(request)
            except FetchFailedError as error:
                return _unreachable(now, str(error))
            location = response.header("location")
            if not (300 <= response.status < 400 and location):
                return await self._judge(response.status, response.content, now)
            try:
                target = read_hop(target, location)
                check_url(target, self._rules)
                if self._check_hop is not None:
                    self._check_hop(str(target))
            except FetchRefusedError as error:
                return _unreachable(now, f"It leads to another address. {error}")
        return _unreachable(now, f"It has more than {_HOPS} redirects.")

    async def _judge(self, status: int, content: bytes, now: float) -> _Kept:
        if 300 <= status < 500:
            return _Kept("none", Rules(), now + _KEEP_S)
        if not 200 <= status < 300:
            return _unreachable(now, f"It answers with status {status}.")
        try:
            return _Kept("rules", await self._readers.read_robots(content), now + _KEEP_S)
        except FetchFailedError as error:
            return _unreachable(now, str(error))


def _unreachable(now: float, why: str) -> _Kept:
    return _Kept("unreachable", Rules(), now + _KEEP_UNREACHABLE_S, why)
