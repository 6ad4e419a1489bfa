"""Asks the operator's MCP servers beside a search. An answer becomes a source like a page: its text is stored, and can be quoted.

The query is the step's own, so it has passed the policy's rules about outgoing text. The rules about domains apply to the server's name
and host, and each call counts against the ceiling of requests.
"""

from __future__ import annotations

import asyncio

from stepwell.clock import timestamp
from stepwell.errors import RequestCeilingError, WebError
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.tools.documents.visible import normalise, one_line
from stepwell.tools.mcp_web import MAX_BYTES, TIMEOUT_S, McpSource
from stepwell.tools.web.fetch import FetchedPage
from stepwell.tools.web.search.chain import PAPERS
from stepwell.tools.web.transport import Web, WebRequest


async def ask_sources(inquiry: Inquiry, web: Web, query: str) -> tuple[list[FetchedPage], list[str]]:
    """The answers as pages, and a sentence about each server that gave none. A search for papers is not for them."""
    pages, skipped = [], []
    for source in inquiry.equipment.mcp_sources if not query.lower().startswith(PAPERS) else ():
        try:
            page = await _ask(inquiry, web, source, query)
        except RequestCeilingError:
            skipped.append(f"The MCP server '{source.server}': the ceiling of requests is reached (rule limits.requests).")
        except WebError as error:
            skipped.append(f"The MCP server '{source.server}' gave no answer: {error}")
        else:
            pages += [page] if page.text else []
    return pages, skipped


async def _ask(inquiry: Inquiry, web: Web, source: McpSource, query: str) -> FetchedPage:
    address = source.address(query)
    asked = WebRequest(address, purpose=f"search:{source.name}", timeout_s=TIMEOUT_S, max_bytes=MAX_BYTES)
    answer = await web.send(asked)
    text = await asyncio.to_thread(normalise, answer.content.decode("utf-8", "replace"))
    return FetchedPage(
        url=address,
        final_url=address,
        status=answer.status,
        media_type="text/plain",
        content=answer.content,
        text=text,
        title=one_line(f"{source.server}: {query}", 200),
        robots="n/a",
        redirects=(),
        fetched_at=timestamp(inquiry.equipment.clock),
        note="" if answer.complete else "The end of a long answer was left out.",
        found_by=source.name,
    )
