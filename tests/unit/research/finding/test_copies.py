"""Older copies of documents: recognised by their words, told apart by date and version."""

from __future__ import annotations

from datetime import date

import pytest

from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.evidence.selecting import select_quotes
from stepwell.research.finding.copies import Copy, dates_in, edition_of, older_copies

OLD = (
    "The harbour budget has three parts. The pier costs 40 million crowns to repair. Dredging of the basin is paid by the port."
)
NEW = (
    "The harbour budget has three parts. The pier costs 55 million crowns to repair. Dredging of the basin is paid by the port."
)
OTHER = "The lighthouse keeper counts ships every morning and writes their names into a large blue book by the window."


@pytest.mark.parametrize(
    ("titles", "found"),
    [
        ({"s1": "budget-2024.docx", "s2": "budget-2025.docx"}, [Copy("s1", "s2")]),
        ({"s1": "budget-2025.docx", "s2": "budget-2024.docx"}, [Copy("s2", "s1")]),
        ({"s1": "budget_v2.docx", "s2": "budget_v10.docx"}, [Copy("s1", "s2")]),
        ({"s1": "budget draft.docx", "s2": "budget.docx"}, [Copy("s1", "s2")]),
        ({"s1": "Budget of 3 May 2024", "s2": "Budget of May 12, 2024"}, [Copy("s1", "s2")]),
        ({"s1": "budget.docx", "s2": "budget (2).docx"}, []),
    ],
)
def test_the_older_of_two_copies_is_told_by_its_name(titles: dict[str, str], found: list[Copy]):
    assert older_copies(titles, {"s1": OLD, "s2": NEW}) == found


def test_what_is_about_something_else_is_no_copy():
    assert older_copies({"s1": "a 2024", "s2": "b 2025"}, {"s1": OLD, "s2": OTHER}) == []


def test_a_date_at_the_beginning_counts_and_one_further_below_does_not():
    assert edition_of("budget.docx", f"As of 3 May 2024. {OLD}").dated == date(2024, 5, 3)
    assert edition_of("budget.docx", f"{OLD * 10} Since 1 May 1999.").dated == date.min


def test_dates_are_read_in_several_forms():
    said = "2024-05-03, 20231201, 3 May 2024, May 3, 2024, 4. März 2022, and 99 March 2021"
    assert {date(2024, 5, 3), date(2023, 12, 1), date(2022, 3, 4)} <= set(dates_in(said))


async def test_what_both_copies_say_is_quoted_from_the_newer_one():
    texts = {"s1": OLD + " Sailors like the old pier best of all places.", "s2": NEW}
    quotes = await select_quotes("What does the pier cost to repair?", texts, LexicalEmbedder(), older={"s1": "s2"})
    assert [quote.text for quote in quotes if "costs" in quote.text] == ["The pier costs 55 million crowns to repair."]
