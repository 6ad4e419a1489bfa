"""Replaces the outside world in a replay: a web and a model that refuse, the recorded engines, and a vault that knows the trail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Never
from urllib.parse import parse_qs, urlsplit

from langchain_core.language_models import BaseChatModel

from stepwell.errors import EvidenceMissingError, NotRecordedError, RequestCeilingError
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import Entry, NewEntry
from stepwell.settings import SearchSettings, Secret
from stepwell.tools.mcp_web import McpSource
from stepwell.tools.web.search.chain import PAPERS
from stepwell.tools.web.transport import WebRequest, WebResponse

_SEARCH = "search:"
_MCP = "mcp://"


class NoWeb:
    """A `Web` that refuses every request."""

    async def send(self, request: WebRequest) -> WebResponse:
        raise NotRecordedError("A replay sends nothing.")


class NoModel(BaseChatModel):
    """Stands for a model that wrote in the recorded run. Its answers come from the recording; it is never called."""

    base_url: str = ""
    """Tells a policy whether the recorded model's server was on this machine."""

    @property
    def _llm_type(self) -> str:
        return "replayed"

    def _generate(self, *_: Any, **__: Any) -> Never:
        raise NotRecordedError("A replay asks no model.")


class ReplayVault(MemoryVault):
    """The vault of the replayed run, with access to the trail of the recorded one.

    A source gets the time at which it was fetched in the recorded run; a request that the recorded run did not make is refused before it
    is counted.
    """

    def __init__(self, recorded: Sequence[Entry], body: Callable[[str], bytes]) -> None:
        """`body` returns stored bytes of the recorded run, for sources that it copied from another bundle instead of fetching them."""
        super().__init__()
        self._body = body
        self._numbered = [entry for entry in recorded if entry.kind in ("question", "source", "quote")]
        self._requests = {entry.key for entry in recorded if entry.kind == "request"}
        # In older trails each step requested robots.txt for itself; now one request serves all steps.
        self._robots = {
            entry.data.get("url") for entry in recorded if entry.kind == "request" and entry.data.get("why") == "robots"
        }
        self._read = {_place(entry.data): entry.data for entry in recorded if entry.kind == "source"}
        self._limited = any(entry.kind == "limit" for entry in recorded)

    async def take_over_until(self, place: Entry) -> None:
        """Copies numbered entries that other branches had written before `place` and that the replay lacks, so that its numbers continue
        after them."""
        for entry in self._numbered:
            if entry.seq < place.seq and await self.find(entry.key) is None:
                await super().append(NewEntry(entry.kind, entry.key, entry.data))

    async def get(self, sha256: str) -> bytes:
        try:
            return await super().get(sha256)
        except EvidenceMissingError:
            return self._body(sha256)

    async def append(self, new: NewEntry) -> Entry:
        known = new.key in self._requests or (new.data.get("why") == "robots" and new.data.get("url") in self._robots)
        if new.kind == "request" and new.data.get("to") == "web" and not known:
            if self._limited:
                raise RequestCeilingError(len(self._requests))
            raise NotRecordedError(
                f"The recorded run did not ask for {str(new.data.get('url'))[:200]}. Use the version that made the bundle."
            )
        if new.kind == "source" and (then := self._read.get(_place(new.data))):
            new = NewEntry(new.kind, new.key, {**new.data, "fetched_at": then["fetched_at"]})
        return await super().append(new)


def recorded_search(entries: Sequence[Entry]) -> SearchSettings:
    """The engines that were asked. The order of their first requests is that of their chain, which asks an engine only after those before
    it. Steps for papers have a chain of their own."""
    papers = tuple(_paper_steps(entries))
    asked: dict[str, str] = {}
    for_papers: dict[str, str] = {}
    for entry in entries:
        why, url = str(entry.data.get("why") or ""), str(entry.data.get("url") or "")
        if entry.kind == "request" and why.startswith(_SEARCH) and not url.startswith(_MCP):
            is_for_papers = any(step in str(entry.data.get("step")).split(":") for step in papers)
            (for_papers if is_for_papers else asked).setdefault(why.removeprefix(_SEARCH), url)
    named = ",".join(asked) or None
    searxng = urlsplit(asked.get("searxng", ""))
    cx = parse_qs(urlsplit(asked.get("google_cse", "")).query).get("cx", ["replayed"])[0]
    return SearchSettings(
        engines=named,
        paper_engines=",".join(for_papers) or None,
        searxng_url=f"{searxng.scheme}://{searxng.netloc}{searxng.path.removesuffix('search').rstrip('/')}"
        if searxng.netloc
        else None,
        google_cse_key=Secret("replayed"),
        google_cse_cx=cx,
        tavily_key=Secret("replayed"),
        brave_key=Secret("replayed"),
    )


def recorded_sources(entries: Iterable[Entry]) -> tuple[McpSource, ...]:
    """The MCP servers that were asked, in order."""
    urls = (urlsplit(str(entry.data.get("url") or "")) for entry in entries if entry.kind == "request")
    return tuple(dict.fromkeys(McpSource(url.netloc, url.path.removeprefix("/")) for url in urls if url.scheme == "mcp"))


def _paper_steps(entries: Iterable[Entry]) -> Iterator[str]:
    """The ids of all steps of all plans that searched for papers."""
    for entry in entries:
        plan = entry.data.get("plan") if entry.kind == "plan" else entry.data.get("edited_plan")
        for step in (plan or {}).get("steps", ()) if entry.kind in ("plan", "approval") else ():
            if str(step.get("input", "")).lower().startswith(PAPERS):
                yield str(step["id"])


def _place(source: dict[str, Any]) -> tuple[object, object, object]:
    return source.get("url"), source.get("final_url"), source.get("bytes_sha256")
