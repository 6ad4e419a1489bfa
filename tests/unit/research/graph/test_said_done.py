"""What the steps of a plan are said to have done."""

from __future__ import annotations

import pytest

from stepwell.research.evidence.gathering import Gathered, Unreached
from stepwell.research.graph.nodes.tool_executor import say_done
from stepwell.research.graph.schemas import ResearchStep


def step(tool: str) -> ResearchStep:
    return ResearchStep(tool=tool, input="https://a.example/", rationale="")


DOCUMENTS = Gathered(step("search_documents"), "Matched.")
READ = Gathered(step("web_search"), "Found.")
UNREACHED = Gathered(step("web_search"), "Offline.", unreached=Unreached(cause="offline", tried="", told="It is offline."))
NOT_READ = Gathered(step("fetch_page"), "Could not be read.", skipped=("A page of 'a.example' could not be read.",))


@pytest.mark.parametrize(
    ("gathered", "new", "said"),
    [
        ([DOCUMENTS, DOCUMENTS], 0, "Searched 2 documents. Matched. Matched."),
        ([DOCUMENTS, READ], 1, "Searched 2 documents, read 1 source for 1 step. Matched. Found."),
        ([DOCUMENTS, UNREACHED], 0, "Searched 2 documents, 1 of 2 steps failed. Matched. Offline."),
        ([READ, READ], 3, "Read 3 sources for 2 steps. Found. Found."),
        ([READ, UNREACHED], 3, "Read 3 sources for 2 steps, 1 of 2 steps failed. Found. Offline."),
        ([READ, READ], 0, "Read nothing new for 2 steps. Found. Found."),
        ([READ, UNREACHED, UNREACHED], 0, "Error: nothing was read, 2 of 3 steps failed. Found. Offline. Offline."),
        ([NOT_READ], 0, "Error: nothing was read, 1 of 1 step failed. Could not be read."),
    ],
)
def test_documents_are_searched_and_nothing_read_after_a_failure_is_no_success(gathered: list[Gathered], new: int, said: str):
    assert say_done(gathered, new, 2) == said
