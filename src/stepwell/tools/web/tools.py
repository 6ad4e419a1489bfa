"""The tools `web_search` and `fetch_page` for agents. They only read, and their results are fenced.

They are asynchronous: run the agent with `ainvoke` or `astream`. Errors of an engine or a server become a sentence for the model, not an
exception, so that the model can try something else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from stepwell.clock import Clock
from stepwell.errors import FetchRefusedError, ToolUseError, WebError
from stepwell.settings import Settings
from stepwell.tools.effects import with_effect
from stepwell.tools.web.fencing import fence
from stepwell.tools.web.fetch import FetchedPage, PageFetcher
from stepwell.tools.web.search.chain import SearchChain, Searched
from stepwell.tools.web.search.choice import public_web, search_chain
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, MOST_RESULTS, Blocked, Empty, Failed, Found, SearchOutcome
from stepwell.tools.web.transport import Web

MOST_CHARACTERS = 40_000

RecordPage = Callable[[FetchedPage], Awaitable[str]]
"""Stores a page as evidence and returns its source id, such as `s1`."""

_SEARCH = (
    "Search the web. Gives titles, addresses and short excerpts, not pages: read a page with fetch_page before you rely on it. "
    "Not for things that are in the files or the conversation."
)
_FETCH = "Fetch one public web page or PDF by its address and read its text. Not for files of this project."


def web_tools(
    settings: Settings, *, web: Web | None = None, record: RecordPage | None = None, clock: Clock | None = None
) -> list[BaseTool]:
    """Both tools, with the engines from the settings, on the public web."""
    web = web or public_web(settings)
    return [web_search_tool(search_chain(settings, web, clock=clock)), fetch_page_tool(PageFetcher(web, clock=clock), record)]


def web_search_tool(chain: SearchChain) -> BaseTool:
    """The tool `web_search` on some engines."""

    async def web_search(
        query: Annotated[str, Field(description="a few words")],
        max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = DEFAULT_RESULTS,
    ) -> str:
        return word_outcome(await chain.search(query, max_results))

    return _tool(web_search, _SEARCH)


def fetch_page_tool(fetcher: PageFetcher, record: RecordPage | None = None) -> BaseTool:
    """The tool `fetch_page`. With `record`, every page is stored as evidence and named by its source id."""

    async def fetch_page(url: Annotated[str, Field(description="the whole address, https://...")]) -> str:
        try:
            page = await fetcher.fetch_page(url)
        except WebError as error:
            raise ToolUseError(_word_refusal(error)) from error
        source_id = await record(page) if record else None
        return word_page(page, source_id)

    return _tool(fetch_page, _FETCH)


def word_outcome(searched: Searched) -> str:
    """A search outcome as text for a model."""
    outcome = searched.outcome
    if isinstance(outcome, Found):
        rows = [f"{n}. {one.title}\n   {one.url}\n   {one.snippet}" for n, one in enumerate(outcome.results, 1)]
        return f"{len(rows)} results from {outcome.engine}.\n" + fence("\n".join(rows))
    others = [_word_reason(other) for other in searched.tried]
    if isinstance(outcome, Empty):
        return f"No results: {'; '.join(others)}. Try other words."
    kind = "is blocked" if isinstance(outcome, Blocked) else "does not work"
    return (
        f"The search {kind} at the moment, so nothing is known about what there is: {'; '.join(others)}. "
        "This is not 'no results'. Go on with what you have, and say in your answer that the search was not possible."
    )


def word_page(page: FetchedPage, source_id: str | None = None) -> str:
    """A page as text for a model."""
    left_out = len(page.text) - MOST_CHARACTERS
    notes = [page.note] if page.note else []
    if left_out > 0:
        notes.append(f"The last {left_out:,} of {len(page.text):,} characters are left out.")
    head = f"Source {source_id}: " if source_id else ""
    about = f"{page.title} · {page.final_url} · {page.media_type}"
    return (
        " ".join([f"{head}the page was fetched on {page.fetched_at[:10]}.", *notes])
        + "\n"
        + fence(page.text[:MOST_CHARACTERS], about)
    )


def _word_reason(outcome: SearchOutcome) -> str:
    if isinstance(outcome, Blocked | Failed):
        kind = "blocks us" if isinstance(outcome, Blocked) else "failed"
        return f"{outcome.engine} {kind} ({outcome.why})"
    return f"{outcome.engine} found nothing"


def _word_refusal(error: WebError) -> str:
    advice = (
        "It will not be fetched; use another source."
        if isinstance(error, FetchRefusedError)
        else "Use another source, or try later."
    )
    return f"{error} {advice}"


def _tool(coroutine: Callable[..., Awaitable[str]], description: str) -> BaseTool:
    return with_effect("read")(StructuredTool.from_function(coroutine=coroutine, description=description))
