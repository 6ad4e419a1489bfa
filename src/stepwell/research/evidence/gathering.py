"""Carries out one step of a plan: search, choose pages, fetch them; or search the user's own documents. Each failure becomes a sentence
for the report."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from typing_extensions import TypedDict  # before Python 3.12, pydantic cannot build a JSON schema from typing's

from stepwell.errors import FetchRefusedError, RequestCeilingError, ToolUseError, WebError
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.mcp_sources import ask_sources
from stepwell.research.evidence.own_documents import describe_found, search_own
from stepwell.research.evidence.policy.rules import DOCUMENTS, Step
from stepwell.research.evidence.recorded.web import RecordedWeb
from stepwell.research.finding.results import rank_results
from stepwell.secrets.text import hide_secrets
from stepwell.tools.web.fetch import FetchedPage
from stepwell.tools.web.search.chain import Searched
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, Found

MOST_RESULTS = 10
Cause = Literal["offline", "blocked", "failed"]
"""Why no engine and no page could be reached."""


class Unreached(TypedDict):
    """A step whose requests reached nobody: why, what each engine or page said, and the sentence about it in `skipped`."""

    cause: Cause
    tried: str
    told: str


@dataclass(frozen=True)
class Gathered:
    """The results of a step. `pages` are in order of rank."""

    step: Step
    output: str
    pages: tuple[FetchedPage, ...] = ()
    engine: str | None = None
    skipped: tuple[str, ...] = ()
    unreached: Unreached | None = None
    """Set if nobody could be reached. An engine that searched and found nothing was reached."""


async def gather(inquiry: Inquiry, step: Step, known: frozenset[str]) -> Gathered:
    """Carry out a step. `known` are addresses that another step has already read."""
    if broken := await inquiry.check_step(step):
        reason = "; ".join(map(str, broken))
        return Gathered(step, f"Not done: {reason}", skipped=(f"Step '{step.input}' breaks the policy ({reason}).",))
    if step.tool == DOCUMENTS:
        return await _search_documents(inquiry, step)
    if ceiling := await inquiry.reached_ceiling():
        return _stop_at(step, ceiling)
    try:
        return await (_fetch_one(inquiry, step) if step.tool == "fetch_page" else _search(inquiry, step, known))
    except RequestCeilingError:
        return _stop_at(step, inquiry.requests_ceiling)


def _stop_at(step: Step, ceiling: str) -> Gathered:
    return Gathered(step, f"Not done: {ceiling}", skipped=(f"Step '{step.input}': {ceiling}",))


async def _search_documents(inquiry: Inquiry, step: Step) -> Gathered:
    """Sends nothing, so no ceiling applies. The excerpts themselves become sources when the report is written."""
    found = await search_own(step.input, inquiry.own, inquiry.equipment.embedder)
    told = {
        "step": step.id,
        "query": hide_secrets(step.input),
        "found": [each.id for each in found],
        "searched": len(inquiry.own),
    }
    await inquiry.note("document_search", f"document_search:{step.id}", told)
    return Gathered(step, describe_found(found, inquiry.own))


async def _fetch_one(inquiry: Inquiry, step: Step) -> Gathered:
    web = inquiry.web(step.id)
    pages, skipped = await _fetch(inquiry, step, web, [step.input])
    if not pages and (web.out_of_reach or inquiry.robots_web.is_silent(host_of(step.input))):
        missed = Unreached(cause="offline", tried=host_of(step.input), told=skipped[0])
        return Gathered(step, "Could not be reached.", skipped=tuple(skipped), unreached=missed)
    return Gathered(step, "Read." if pages else "Could not be read.", tuple(pages), None, tuple(skipped))


async def _search(inquiry: Inquiry, step: Step, known: frozenset[str]) -> Gathered:
    web = inquiry.web(step.id)
    own, silent = await ask_sources(inquiry, web, step.input)
    try:
        searched = await inquiry.equipment.search(web).search(step.input, MOST_RESULTS)
    except ToolUseError as error:
        return Gathered(step, f"Not searched: {error}", skipped=(f"Step '{step.input}': {error}",))
    except RequestCeilingError:
        if not own:
            raise
        told = f"Step '{step.input}': {inquiry.requests_ceiling}"
        return Gathered(step, _describe_own(own), tuple(own), skipped=(*silent, told))
    return _add_own(await _read_results(inquiry, step, known, web, searched), own, silent)


def _add_own(gathered: Gathered, own: Sequence[FetchedPage], silent: Sequence[str]) -> Gathered:
    """What a step gathered, with the answers of MCP servers first. With one of them, somebody was reached."""
    said = f"{_describe_own(own)} {gathered.output}" if own else gathered.output
    missed = None if own else gathered.unreached
    return replace(gathered, output=said, pages=(*own, *gathered.pages), skipped=(*silent, *gathered.skipped), unreached=missed)


def _describe_own(own: Sequence[FetchedPage]) -> str:
    return f"{', '.join(page.found_by for page in own)} answered."


async def _read_results(inquiry: Inquiry, step: Step, known: frozenset[str], web: RecordedWeb, searched: Searched) -> Gathered:
    match searched.outcome:
        case Found() as outcome:
            pass
        case Empty() as nothing:
            return Gathered(step, f"{nothing.engine} found nothing.", engine=nothing.engine)
        case Blocked():
            return _report_outage(step, searched, "blocked")
        case Failed():
            return _report_outage(step, searched, "offline" if web.out_of_reach else "failed")
    ranked = await rank_results(step.input, outcome.results, inquiry.equipment.embedder)
    allowed = [result.url for result in ranked if not await inquiry.check_address(step.id, result.url)]
    fresh = [url for url in dict.fromkeys(allowed) if url not in known][: inquiry.equipment.pages_per_step]
    pages, skipped = await _fetch(inquiry, step, web, fresh)
    found = "1 result" if len(outcome.results) == 1 else f"{len(outcome.results)} results"
    said = f"{outcome.engine} found {found}; {len(pages)} of {len(fresh)} pages read."
    return Gathered(step, said, tuple(pages), outcome.engine, tuple(skipped))


def _report_outage(step: Step, searched: Searched, cause: Cause) -> Gathered:
    tried = "; ".join(f"{one.engine}: {getattr(one, 'why', 'found nothing')}" for one in searched.tried)
    kind = {"blocked": "was blocked", "offline": "reached nobody", "failed": "failed"}[cause]
    told = f"The search for '{step.input}' {kind} ({tried})."
    return Gathered(
        step, f"The search {kind}: {tried}", skipped=(told,), unreached=Unreached(cause=cause, tried=tried, told=told)
    )


async def _fetch(inquiry: Inquiry, step: Step, web: RecordedWeb, urls: Sequence[str]) -> tuple[list[FetchedPage], list[str]]:
    """Fetches the pages concurrently and returns them in order. If the ceiling is reached in between, the pages that were already read
    are kept."""
    fetcher = inquiry.make_fetcher(web)
    answers = await asyncio.gather(*(fetcher.fetch_page(url) for url in urls), return_exceptions=True)
    pages, skipped = [], []
    for url, answer in zip(urls, answers, strict=True):
        if isinstance(answer, FetchedPage):
            pages.append(answer)
        elif isinstance(answer, RequestCeilingError):
            skipped.append(f"A page of '{host_of(url)}': the ceiling of requests is reached (rule limits.requests).")
        elif isinstance(answer, WebError):
            if isinstance(answer, FetchRefusedError):
                await inquiry.note_refusal(step.id, url, rule=answer.reason, reason=str(answer), url=url)
            skipped.append(f"A page of '{host_of(url)}' could not be read: {answer}")
        else:
            raise answer
    return pages, skipped


def host_of(url: str) -> str:
    """The host of an address, for people; the beginning of what is no address."""
    try:
        return urlsplit(url).hostname or url[:60]
    except ValueError:
        return url[:60]
