"""Pages and search outcomes as text for a model. What comes from the web is fenced.

A search that is blocked or fails is never worded as "no results".
"""

from __future__ import annotations

from stepwell.tools.web.fencing import fence
from stepwell.tools.web.fetch import FetchedPage
from stepwell.tools.web.search.chain import Searched
from stepwell.tools.web.search.outcomes import Blocked, Empty, Failed, Found, SearchOutcome

MOST_CHARACTERS = 40_000


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
