"""The two web tools of deep research, with policy, ceiling and evidence around them.

```
tool call ─> policy (rule id) ─> RecordedWeb (intent, ceiling, answer) ─> page ─> vault: bytes, text, source s1, s2 ...
```

The tools find the thread's vault through the run's config, so one graph serves every thread, and subagents share their parent's vault.
The ceiling of requests applies per question: requests count from the question's entry in the trail, whichever agent makes them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any

from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.types import interrupt
from pydantic import Field

from stepwell.errors import FetchRefusedError, RequestCeilingError, ToolUseError, WebError
from stepwell.research.audit.story import KINDS
from stepwell.research.audit.trail import Entry, EntryKind, NewEntry
from stepwell.research.audit.vault import VAULT, EvidenceVault, append_beside
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.mcp_sources import ask_sources
from stepwell.research.evidence.policy.private_material import PrivateMaterial
from stepwell.research.evidence.policy.rules import Violation
from stepwell.research.evidence.policy.shown_addresses import ShownAddresses, find_addresses, find_links, origin_of
from stepwell.research.evidence.sources import SourceBook
from stepwell.secrets.text import hide_secrets
from stepwell.tools.effects import with_effect
from stepwell.tools.web.fetch import PageFetcher, Turns
from stepwell.tools.web.search.outcomes import DEFAULT_RESULTS, MOST_RESULTS, Found
from stepwell.tools.web.transport import Web, WebRequest, WebResponse
from stepwell.tools.web.wording import word_outcome, word_page

SCOPE = "deep"
_MAX_OPEN = 256
_MAX_WAIT_S = 30.0
_SEARCH = (
    "Search the web. Gives titles, addresses and short excerpts, not pages: read a page with fetch_page before you rely on it. "
    "A search result is no source. A query that begins with 'papers:' searches scholarly papers."
)
_FETCH = "Fetch one public web page or PDF by its address and read its text. It gets a source id, such as s1: cite it as [s1]."

_WAY_OUT: ContextVar[Web] = ContextVar("deep_research_way_out")


class _CurrentWeb:
    """Sends over the connection of the running tool call, so that engines, which keep rates and pauses across calls, can be built once."""

    async def send(self, request: WebRequest) -> WebResponse:
        return await _WAY_OUT.get().send(request)


@dataclass(frozen=True)
class _OpenQuestion:
    """A question being researched. All its calls share one inquiry, because its recorder counts and writes them together."""

    given: object
    loop: asyncio.AbstractEventLoop
    inquiry: Inquiry
    book: SourceBook
    shown: ShownAddresses
    private: PrivateMaterial
    fetcher: PageFetcher
    """Shared by all agents of the question: they fetch robots.txt once, and queue per host."""


class DeepWeb:
    """The two tools, for whichever thread calls them."""

    def __init__(self, equipment: Equipment) -> None:
        self._equipment = equipment
        self._search = equipment.search(_CurrentWeb())
        self._open: OrderedDict[str, _OpenQuestion] = OrderedDict()

    def tools(self) -> list[BaseTool]:
        """The tools that the policy allows."""
        made = {"web_search": _tool(self.web_search, _SEARCH), "fetch_page": _tool(self.fetch_page, _FETCH)}
        return [tool for name, tool in made.items() if name in self._equipment.policy.tools]

    async def web_search(
        self,
        query: Annotated[str, Field(description="a few words")],
        runtime: ToolRuntime[Any, Any],
        max_results: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = DEFAULT_RESULTS,
    ) -> str:
        at_work = await self._opened(runtime.config)
        _forbid(await at_work.inquiry.check_text(_call(runtime), query))
        query, max_results = await self._check_private(runtime, query, max_results)

        async def search() -> str:
            own, silent = await ask_sources(at_work.inquiry, _WAY_OUT.get(), query)
            searched = await self._search.search(query, max_results)
            results = searched.outcome.results if isinstance(searched.outcome, Found) else ()
            if results or own:
                addresses = [*(result.url for result in results), *(url for page in own for url in find_addresses(page.text))]
                await self._show(runtime, addresses, "search")
            answers = [word_page(page, name) for page, name in zip(own, await at_work.book.keep_pages(own), strict=True)]
            return "\n\n".join([*answers, word_outcome(searched), *silent])

        return await self._within(runtime, search)

    async def fetch_page(
        self, url: Annotated[str, Field(description="the whole address, https://...")], runtime: ToolRuntime[Any, Any]
    ) -> str:
        at_work = await self._opened(runtime.config)
        _forbid(await at_work.inquiry.check_address(_call(runtime), url))
        await self._check_shown(runtime, url)

        async def fetch() -> str:
            try:
                page = await at_work.fetcher.fetch_page(url)
            except FetchRefusedError as error:
                await at_work.inquiry.note_refusal(_call(runtime), url, rule=error.reason, reason=str(error), url=url)
                raise
            await self._show(runtime, await asyncio.to_thread(find_links, page), "page")
            [source_id] = await at_work.book.keep_pages([page])
            return word_page(page, source_id)

        return await self._within(runtime, fetch)

    async def _within(self, runtime: ToolRuntime[Any, Any], work: Callable[[], Awaitable[str]]) -> str:
        """Run `work` over a connection that records under this call's id, so that a repeated call sends nothing again."""
        inquiry = (await self._opened(runtime.config)).inquiry
        with _way_out(inquiry.web(_call(runtime))):
            try:
                return await work()
            except RequestCeilingError as error:
                await inquiry.note("limit", "limit:requests", {"rule": "limits.requests", "ceiling": error.ceiling})
                raise ToolUseError(
                    f"{inquiry.requests_ceiling} Nothing more can be asked: write with what you have, and say in the report what was "
                    "left out."
                ) from error
            except WebError as error:
                raise ToolUseError(f"{error} Use another source.") from error

    async def _opened(self, config: RunnableConfig) -> _OpenQuestion:
        vault = self._equipment.vault_for(config)
        began = _question(await vault.entries())
        question = began.key if began else SCOPE
        thread, given = thread_of(config), (config.get("configurable") or {}).get(VAULT)
        known = self._open.get(thread)
        loop = asyncio.get_running_loop()
        if known is None or (known.inquiry.scope, known.loop) != (question, loop) or known.given is not given:
            inquiry = Inquiry(self._equipment, config, question, began, began)
            book, shown = SourceBook(inquiry.vault, self._equipment.clock), ShownAddresses(inquiry.vault)
            # An agent can use another source instead, so it need not wait at the end of a long queue.
            turns = Turns(self._equipment.clock, self._equipment.sleep, _MAX_WAIT_S)
            fetcher = inquiry.make_fetcher(_CurrentWeb(), turns)
            self._open[thread] = known = _OpenQuestion(
                given, loop, inquiry, book, shown, PrivateMaterial(inquiry.vault), fetcher
            )
            while len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)
        return known

    async def _check_private(self, runtime: ToolRuntime[Any, Any], query: str, max_results: int) -> tuple[str, int]:
        """The search as it may be made now that private material was read, if it was: the number of results says nothing then either."""
        at_work, rule = await self._opened(runtime.config), self._equipment.policy.after_private
        if rule == "any" or not await at_work.private.was_read():
            return query, max_results
        kept, broken = await at_work.private.check(query, rule)
        if broken is None:
            return kept, DEFAULT_RESULTS
        if rule == "ask" and is_yes(
            interrupt({"type": "address_approval", "url": query, "rule": broken.rule, "question": _may_search(query)})
        ):
            said = {"decision": "approve", "reason": f"the search {hide_secrets(query)}"}
            await tell(at_work.inquiry.vault, "approval", f"{at_work.inquiry.scope}:{_call(runtime)}:address", said)
            return query, DEFAULT_RESULTS
        await at_work.inquiry.note_refusal(_call(runtime), query, rule=broken.rule, reason=str(broken))
        raise ToolUseError(f"The policy forbids it ({broken}). It was not sent; search with those words, or go on without.")

    async def _check_shown(self, runtime: ToolRuntime[Any, Any], url: str) -> None:
        at_work, rule = await self._opened(runtime.config), self._equipment.policy.after_reading
        broken = await at_work.shown.check(url, rule)
        if broken is None:
            return
        if rule == "ask" and is_yes(  # asked once, without `answers.ask`, because every answer is valid: all but a yes is a no
            interrupt({"type": "address_approval", "url": url, "rule": broken.rule, "question": _may(url)})
        ):
            said = {"decision": "approve", "reason": f"the address {hide_secrets(url)}"}
            await tell(at_work.inquiry.vault, "approval", f"{at_work.inquiry.scope}:{_call(runtime)}:address", said)
            return
        reason = {"rule": broken.rule, "reason": str(broken)}
        await at_work.inquiry.note_refusal(_call(runtime), url, **reason, url=origin_of(url))
        raise ToolUseError(
            f"The policy forbids it ({broken}). It was not sent; fetch an address that a search result or a page has shown."
        )

    async def _show(self, runtime: ToolRuntime[Any, Any], addresses: list[str], by: str) -> None:
        at_work = await self._opened(runtime.config)
        await at_work.shown.add(f"{at_work.inquiry.scope}:{_call(runtime)}:shown", addresses, by=by)


def _call(runtime: ToolRuntime[Any, Any]) -> str:
    """The key under which a tool call's requests and refusals are stored."""
    return str(runtime.tool_call_id)


def _forbid(broken: Violation | None) -> None:
    if broken:
        raise ToolUseError(f"The policy forbids it ({broken}). It was not sent; do it without.")


def thread_of(config: RunnableConfig) -> str:
    return str((config.get("configurable") or {}).get("thread_id") or "")


async def record_question(vault: EvidenceVault, key: str, question: str, policy_text: str) -> None:
    """Store the question and its policy. Ceilings count from here."""
    data = {"query": hide_secrets(question), "mode": "deep", "policy_sha256": await vault.put(policy_text.encode())}
    # An edited message may keep its id, but it is another question.
    asked = await tell(vault, "question", f"{SCOPE}:{key}", data)
    if named := find_addresses(question):
        await ShownAddresses(vault).add(f"{asked.key}:shown", named, by="question")


async def tell(vault: EvidenceVault, kind: EntryKind, key: str, data: dict[str, Any]) -> Entry:
    """Append the next entry of a thread, once. An agent's thread is one branch: each entry follows the last one."""
    told = [entry for entry in await vault.entries() if entry.kind in KINDS]
    for entry in told:
        is_same = entry.kind == kind and {**entry.data, "after": ""} == {**data, "after": ""}
        if is_same and entry.key.rstrip("0123456789").removesuffix(":") == key.rstrip("0123456789").removesuffix(":"):
            return entry
    return await append_beside(vault, NewEntry(kind, key, {**data, "after": told[-1].key if told else ""}))


@contextmanager
def _way_out(web: Web) -> Iterator[None]:
    token = _WAY_OUT.set(web)
    try:
        yield
    finally:
        _WAY_OUT.reset(token)


def question_key(entries: Sequence[Entry]) -> str:
    """The key of the question that is being researched."""
    began = _question(entries)
    return began.key if began else SCOPE


def _question(entries: Sequence[Entry]) -> Entry | None:
    asked = (entry for entry in reversed(entries) if entry.kind == "question" and entry.key.startswith(f"{SCOPE}:"))
    return next(asked, None)


def is_yes(answer: object) -> bool:
    """Whether a user allowed an address; anything but a clear yes is a no."""
    decision = answer.get("decision") if isinstance(answer, dict) else answer
    return decision is True or (isinstance(decision, str) and decision.strip().lower() in ("approve", "yes", "y"))


def _may(url: str) -> str:
    return f"No search and no page has shown this address, and it carries a query to a new host. May it be fetched (yes or no)? {url}"


def _may_search(query: str) -> str:
    return (
        f"Your files were read, and this search holds words that are not in your question. May it be sent (yes or no)? {query}"
    )


def _tool(coroutine: Callable[..., Awaitable[str]], description: str) -> BaseTool:
    return with_effect("read")(StructuredTool.from_function(coroutine=coroutine, description=description))
