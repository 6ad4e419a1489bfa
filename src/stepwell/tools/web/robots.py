"""robots.txt after RFC 9309: asked for once per origin, kept for a day, and obeyed.

| answer | meaning |
|---|---|
| a file | its rules |
| 4xx | there are none: everything is allowed (`none`) |
| 5xx, no connection, too many redirects | nobody can say: nothing is allowed (`unreachable`), asked again after some minutes |

`Crawl-delay` is no part of the RFC; it is honoured up to `longest_delay_s`. This module reads and remembers; `fetch` obeys.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, unquote_to_bytes, urljoin

from stepwell.clock import Clock
from stepwell.errors import FetchFailedError, FetchRefusedError
from stepwell.tools.web.addresses import AddressRules, Url, check_url, read_url
from stepwell.tools.web.transport import PRODUCT, Web, WebRequest

RobotsVerdict = Literal["allowed", "disallowed", "none", "unreachable", "n/a"]

_KEEP_S = 24 * 3600.0
_KEEP_UNREACHABLE_S = 300.0
_MOST_BYTES = 512_000  # RFC 9309 asks for at least 500 kibibytes
_MOST_ORIGINS = 2_000
_HOPS = 5


@dataclass(frozen=True)
class Rules:
    """What one file says to us: (allow, pattern) lines of the group that names us, or else of the group for all."""

    lines: tuple[tuple[bool, str], ...] = ()
    delay_s: float = 0.0

    def allow(self, target: str) -> bool:
        """The longest pattern decides; between equals, `allow` does."""
        path = _normal(target)
        if path == "/robots.txt":
            return True
        hits = [(len(pattern), allowed) for allowed, pattern in self.lines if _matches(pattern, path)]
        return max(hits)[1] if hits else True


def parse(text: str, product: str = PRODUCT) -> Rules:
    """Read a file. Lines that mean nothing are passed over, as the RFC asks."""
    ours, everybody, named = _Group(), _Group(), False
    current: list[_Group] = []
    in_rules = True
    for line in text.lstrip("\ufeff").splitlines():
        name, _, value = line.split("#", 1)[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == "user-agent":
            if in_rules:
                current, in_rules = [], False
            token = re.match(r"\*|[A-Za-z_-]*", value)
            agent = token.group().lower() if token else ""
            if agent == product.lower():
                current, named = [*current, ours], True
            elif agent == "*":
                current = [*current, everybody]
        elif name in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for group in current:
                group.add(name, value)
    chosen = ours if named else everybody
    return Rules(tuple(chosen.lines), chosen.delay_s)


@dataclass
class _Group:
    lines: list[tuple[bool, str]] = field(default_factory=list)
    delay_s: float = 0.0

    def add(self, name: str, value: str) -> None:
        if name == "crawl-delay":
            self.delay_s = float(value) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", value) else self.delay_s
        elif value.startswith(("/", "*")):
            self.lines.append((name == "allow", _normal(value)))


@dataclass(frozen=True)
class RobotsAnswer:
    """What an origin says about one address."""

    verdict: RobotsVerdict
    delay_s: float = 0.0
    """The pause it wishes for between requests."""
    why: str = ""
    """Why it could not be asked."""


@dataclass(frozen=True)
class _Kept:
    verdict: Literal["rules", "none", "unreachable"]
    rules: Rules
    until: float
    why: str = ""


class RobotsBook:
    """What the origins met so far allow."""

    def __init__(
        self,
        web: Web,
        clock: Clock,
        rules: AddressRules | None = None,
        check_hop: Callable[[str], None] | None = None,
    ) -> None:
        """`check_hop` sees every address that a robots.txt leads to before it is asked, as a page's redirects are seen."""
        self._web = web
        self._clock = clock
        self._rules = rules or AddressRules()
        self._check_hop = check_hop
        self._kept: dict[str, _Kept] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    async def look_up(self, url: Url) -> RobotsAnswer:
        """The verdict on an address. Its origin is asked at most once a day."""
        kept = await self._of(url)
        if kept.verdict != "rules":
            return RobotsAnswer(kept.verdict, why=kept.why)
        return RobotsAnswer("allowed" if kept.rules.allow(url.target) else "disallowed", kept.rules.delay_s)

    async def _of(self, url: Url) -> _Kept:
        async with self._asking.setdefault(url.origin, asyncio.Lock()):
            now = self._clock.now().timestamp()
            kept = self._kept.get(url.origin)
            if kept is None or kept.until <= now:
                kept = await self._ask(url, now)
                self._kept.pop(url.origin, None)
                self._kept[url.origin] = kept
        while len(self._kept) > _MOST_ORIGINS:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._asking.pop(oldest, None)
        return kept

    async def _ask(self, url: Url, now: float) -> _Kept:
        target = f"{url.origin}/robots.txt"
        for _ in range(_HOPS + 1):
            request = WebRequest(target, purpose="robots", timeout_s=10.0, max_bytes=_MOST_BYTES, cut=True)
            try:
                response = await self._web.send(request)
            except FetchFailedError as error:
                return _unreachable(now, str(error))
            location = response.header("location")
            if not (300 <= response.status < 400 and location):
                return _judge(response.status, response.content, now)
            try:
                hop = read_url(urljoin(target, location))
                check_url(hop, self._rules)
                if self._check_hop is not None:
                    self._check_hop(str(hop))
            except FetchRefusedError as error:
                return _unreachable(now, f"It leads to another address. {error}")
            target = str(hop)
        return _unreachable(now, f"It has more than {_HOPS} redirects.")


def _unreachable(now: float, why: str) -> _Kept:
    return _Kept("unreachable", Rules(), now + _KEEP_UNREACHABLE_S, why)


def _judge(status: int, content: bytes, now: float) -> _Kept:
    if 200 <= status < 300:
        return _Kept("rules", parse(content.decode("utf-8", "replace")), now + _KEEP_S)
    if 300 <= status < 500:
        return _Kept("none", Rules(), now + _KEEP_S)
    return _unreachable(now, f"It answers with status {status}.")


def _normal(target: str) -> str:
    """One spelling for each path: `%7e`, `%7E` and `~` are the same (RFC 9309, 2.2.2)."""
    return quote(unquote_to_bytes(target.replace("%2F", "%252F").replace("%2f", "%252F")), safe="/*$?=&%:@!'()+,;~-._")


def _matches(pattern: str, path: str) -> bool:
    """`*` is anything, `$` at the end is the end. Each piece is looked for once, so no pattern can be slow."""
    anchored = pattern.endswith("$")
    first, *rest = (pattern[:-1] if anchored else pattern).split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    for piece in rest[:-1] if anchored else rest:
        found = path.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    if not anchored:
        return True
    if not rest:
        return place == len(path)
    return path.endswith(rest[-1]) and len(path) - len(rest[-1]) >= place
