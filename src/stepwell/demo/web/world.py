"""`OfflineWorld`: a small web on loopback, and a `Web` that sends the requests for every host name there.

```
with OfflineWorld() as world:
    fetcher = PageFetcher(world.web)              production code, unchanged
    world.engine("duckduckgo", "blocked")         from now on
    world.count("bridges.example")                how many requests came there
```

The `Web` is the real `PublicWeb` with two parts replaced: names resolve to invented public addresses (a few deliberately to private
ones), and a connection to any address goes to loopback without TLS. All its checks run as in production.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import httpcore

from stepwell.demo.web.facts import Fact, WorldPage, world_pages
from stepwell.demo.web.rendering import html, render
from stepwell.demo.web.search_pages import ENGINE_HOSTS, PAPER_PAGES, SEARXNG_URL, Mode, engine_reply
from stepwell.demo.web.serving import Received, ServedResponse, WorldServer
from stepwell.tools.web.addresses import AddressRules
from stepwell.tools.web.public_web import PublicWeb

__all__ = ["OfflineWorld", "Received"]

PUBLIC = "93.184.216.34"
"""What every name of the world resolves to, unless it is in `INSIDE`. Nothing is ever sent there."""

INSIDE: Mapping[str, tuple[str, ...]] = {
    "inside.example": ("10.0.0.7",),
    "mixed.example": (PUBLIC, "192.168.1.1"),
    "metadata.example": ("169.254.169.254",),
    "mapped.example": ("::ffff:127.0.0.1",),
    "nat64.example": ("64:ff9b::a00:1",),
    "cgnat.example": ("100.64.0.1",),
    "zero.example": ("0.0.0.0",),  # noqa: S104  a name server's answer; nothing listens there
    "nowhere.example": (),
}


ExtraPages = Callable[[Received], ServedResponse | None]
"""Answers requests for further pages; returns None for requests that it leaves to the world."""


class WorldReplies:
    """The response of each URL of the world: pages and search engines. Opens no socket; `modes` says how engines answer."""

    def __init__(self, seed: int = 7, *, extra: ExtraPages | None = None) -> None:
        self.pages: Sequence[WorldPage] = world_pages(seed)
        self.modes: dict[str, Mode] = {}
        self._by_place = {_place(page.url): page for page in self.pages}
        papers = {"arxiv.org": 0, "pubmed.ncbi.nlm.nih.gov": 1}  # the number of the first paper
        for host, path in PAPER_PAGES.items():
            self._by_place |= {(host, path.format(n)): page for n, page in enumerate(self.pages, papers[host])}
        self._by_subject = {page.subject: page for page in reversed(self.pages)}
        self._extra = extra

    def reply_to(self, request: Received) -> ServedResponse:
        place = (request.host, unquote(urlsplit(request.path).path))
        if self._extra and (own := self._extra(request)):
            return own
        if place[1] == "/robots.txt":
            return ServedResponse(404, body=b"no such file")
        engine = ENGINE_HOSTS.get(request.host)
        if engine and not place[1].startswith("/wiki/"):
            return engine_reply(engine, self.modes.get(engine, "normal"), request, self.pages)
        page = self._by_place.get(place) or self._by_subject.get(place[1].removeprefix("/wiki/").replace("_", " "))
        if page is not None:
            content_type, body = render(page)
            return ServedResponse(content_type=content_type, body=body)
        return self._other(place)

    def _other(self, place: tuple[str, str]) -> ServedResponse:
        topics = {page.topic for page in self.pages}
        if place[1] == "/" and place[0].removesuffix(".example") in topics:
            names = [page.title for page in self.pages if page.url.startswith(f"https://{place[0]}/")]
            return ServedResponse(
                body=html(f"All {place[0].removesuffix('.example')}", [f"There is a page on {name}." for name in names])
            )
        return ServedResponse(404, body=html("Not found", ["There is no such page."]))


class OfflineWorld:
    """See the module docstring. `extra` answers first."""

    def __init__(self, seed: int = 7, *, extra: ExtraPages | None = None, idle_timeout_s: float = 5.0) -> None:
        self._replies = WorldReplies(seed, extra=extra)
        self.pages = self._replies.pages
        self.resolved: list[str] = []
        """The names that were resolved, in order."""
        self.connected: list[tuple[str, int]] = []
        """The addresses and ports of all connections, as the production code chose them."""
        self._server = WorldServer(self._replies.reply_to)
        rules = AddressRules(resolve=self._resolve)
        # No certificate is checked here, and loading the machine's root certificates takes a while.
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.web = PublicWeb(rules, inside=[SEARXNG_URL], tls=tls, network=_Loopback(self), idle_timeout_s=idle_timeout_s)

    @property
    def facts(self) -> list[Fact]:
        """Every fact on every page."""
        return [fact for page in self.pages for fact in page.facts]

    @property
    def requests(self) -> list[Received]:
        """Every request, including robots.txt and searches."""
        return list(self._server.received)

    @property
    def port(self) -> int:
        return self._server.port

    def count(self, host: str | None = None) -> int:
        """The number of requests, to all hosts or to one."""
        return sum(1 for request in self.requests if host in (None, request.host))

    def engine(self, name: str, mode: Mode) -> None:
        """Set how an engine answers from now on (`search_pages` lists the modes)."""
        if name not in ENGINE_HOSTS.values():
            raise ValueError(f"No engine '{name}' here. There are: {', '.join(ENGINE_HOSTS.values())}.")
        self._replies.modes[name] = mode

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.stop()

    async def _resolve(self, host: str, port: int) -> Sequence[str]:
        self.resolved.append(host)
        if host == "rebinding.example":
            # The first lookup, for the check, gets a public address; a second one would get this machine's.
            return (PUBLIC,) if self.resolved.count(host) % 2 else ("127.0.0.1",)
        return INSIDE.get(host, (PUBLIC,))


def _place(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.path


class _Loopback(httpcore.AsyncNetworkBackend):
    """Sends every connection to the world's port, without TLS."""

    def __init__(self, world: OfflineWorld) -> None:
        self._world = world
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(self, host: str, port: int, *_: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        self._world.connected.append((host, port))
        return _Plain(await self._inner.connect_tcp("127.0.0.1", self._world.port, **options))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Plain(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109  the signature is httpcore's
        return await self._inner.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109  the signature is httpcore's
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        return self

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
