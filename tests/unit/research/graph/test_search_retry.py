"""What a person is told when nobody could be reached."""

from __future__ import annotations

import pytest

from stepwell.research.evidence.gathering import Unreached
from stepwell.research.graph.nodes.search_retry import outage
from stepwell.research.graph.schemas import ResearchPlan, ResearchStep

SILENT = Unreached(cause="offline", tried="searxng: no connection", told="The search reached nobody.")


def plan(*pages: str) -> ResearchPlan:
    fetches = [ResearchStep(id=f"p{at}", tool="fetch_page", input=page, rationale="") for at, page in enumerate(pages)]
    return ResearchPlan(objective="x", steps=(*fetches, ResearchStep(id="s", tool="web_search", input="wells", rationale="")))


@pytest.mark.parametrize(
    ("pages", "named"),
    [
        ((), "No search engine could be reached. Check"),
        (("https://a.example/x",), "No search engine could be reached. The page at a.example could not be read either. Check"),
        (
            ("https://a.example/x", "https://b.example/"),
            "No search engine could be reached. The pages at a.example and b.example could not be read either. Check",
        ),
    ],
)
def test_pages_that_could_not_be_read_are_named_beside_the_engines(pages: tuple[str, ...], named: str):
    message, cause = outage({"s": SILENT}, plan(*pages))
    assert message.startswith(named)
    assert cause == "offline"
