"""Builds search engines from settings: which ones, in which order, and the web access they share.

Default order: the configured ones (SearXNG, Google, Tavily, Brave), then DuckDuckGo, then Wikipedia. A query for papers goes to OpenAlex,
PubMed and arXiv, or to those that `STEPWELL_PAPER_ENGINES` names; `STEPWELL_SEARCH_ENGINES` may name them too. A variable that names an
engine whose key is missing is an error: otherwise a user might rely on an engine that is never asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection

from stepwell.clock import Clock, SystemClock
from stepwell.errors import ConfigurationError, WebError
from stepwell.settings import Settings
from stepwell.tools.web.addresses import read_url
from stepwell.tools.web.public_web import PublicWeb
from stepwell.tools.web.search.cache import SearchCache
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tools.web.search.engines.arxiv import Arxiv
from stepwell.tools.web.search.engines.brave import Brave
from stepwell.tools.web.search.engines.duckduckgo import DuckDuckGo
from stepwell.tools.web.search.engines.google_cse import GoogleCse
from stepwell.tools.web.search.engines.openalex import OpenAlex
from stepwell.tools.web.search.engines.pubmed import PubMed
from stepwell.tools.web.search.engines.searxng import SearXng
from stepwell.tools.web.search.engines.tavily import Tavily
from stepwell.tools.web.search.engines.wikipedia import Wikipedia
from stepwell.tools.web.search.guard import EngineLimits, EngineState, GuardedEngine
from stepwell.tools.web.search.outcomes import SearchEngine
from stepwell.tools.web.transport import Web

USUAL_ORDER = ("searxng", "google_cse", "tavily", "brave", "duckduckgo", "wikipedia")
PAPER_ORDER = ("openalex", "pubmed", "arxiv")
_NEEDS = {
    "searxng": "STEPWELL_SEARXNG_URL",
    "google_cse": "GOOGLE_CSE_API_KEY and GOOGLE_CSE_CX",
    "tavily": "TAVILY_API_KEY",
    "brave": "BRAVE_API_KEY",
}
# DuckDuckGo's bot check appears after about a dozen quick requests; Brave's free plan allows one per second.
# arXiv asks for one request in three seconds over a single connection; PubMed allows three per second, and a search takes two.
_LIMITS = {
    "duckduckgo": EngineLimits(per_s=0.5, burst=2),
    "brave": EngineLimits(per_s=1.0, burst=1),
    "arxiv": EngineLimits(per_s=1 / 3, burst=1, one_at_a_time=True),
    "pubmed": EngineLimits(per_s=1.0, burst=1),
}


def public_web(settings: Settings) -> PublicWeb:
    """The real web, with the operator's SearXNG as the only place that may be inside the network."""
    return PublicWeb(inside=[settings.search.searxng_url] if settings.search.searxng_url else [])


def search_chain(
    settings: Settings,
    web: Web,
    *,
    clock: Clock | None = None,
    cached: bool = True,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    states: dict[str, EngineState] | None = None,
) -> SearchChain:
    """The engines that the settings ask for, each with its limits; if `cached`, results are stored under the data folder.

    Pass the same dictionary as `states` to several chains to share the limits of an engine among them.
    """
    clock = clock or SystemClock()
    available = _available(settings, web)
    cache = SearchCache(settings.data_folder / "cache" / "web", clock) if cached else None
    known = states if states is not None else {}

    def guard(name: str) -> GuardedEngine:
        state = known.setdefault(name, EngineState(_LIMITS.get(name)))
        return GuardedEngine(available[name], clock, cache=cache, sleep=sleep, state=state)

    names = _read_names("STEPWELL_SEARCH_ENGINES", settings.search.engines, available)
    papers = _read_names("STEPWELL_PAPER_ENGINES", settings.search.paper_engines, available)
    usual = [name for name in USUAL_ORDER if name in available]
    return SearchChain([guard(name) for name in names or usual], [guard(name) for name in papers or PAPER_ORDER])


def _read_names(variable: str, text: str | None, available: Collection[str]) -> list[str]:
    names = list(dict.fromkeys(part.strip().lower() for part in (text or "").split(",") if part.strip()))
    for name in names:
        if name not in (*USUAL_ORDER, *PAPER_ORDER):
            every = ", ".join((*USUAL_ORDER, *PAPER_ORDER))
            raise ConfigurationError(f"{variable} names '{name}', which is unknown. Known engines: {every}.")
    for name in names:
        if name not in available:
            raise ConfigurationError(f"{variable} names '{name}', which needs {_NEEDS[name]}. Set it, or leave the engine out.")
    return names


def _available(settings: Settings, web: Web) -> dict[str, SearchEngine]:
    keys = settings.search
    found: dict[str, SearchEngine] = {
        "duckduckgo": DuckDuckGo(web),
        "wikipedia": Wikipedia(web),
        "openalex": OpenAlex(web),
        "pubmed": PubMed(web),
        "arxiv": Arxiv(web),
    }
    if keys.searxng_url:
        try:
            read_url(keys.searxng_url)
        except WebError as error:
            raise ConfigurationError(f"STEPWELL_SEARXNG_URL is not a valid address. {error}") from error
        found["searxng"] = SearXng(web, keys.searxng_url)
    if keys.google_cse_key and keys.google_cse_cx:
        found["google_cse"] = GoogleCse(web, keys.google_cse_key, keys.google_cse_cx)
    if keys.tavily_key:
        found["tavily"] = Tavily(web, keys.tavily_key)
    if keys.brave_key:
        found["brave"] = Brave(web, keys.brave_key)
    return found
