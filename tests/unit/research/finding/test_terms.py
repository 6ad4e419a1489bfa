"""The terms of a text, where two ways to write the same thing must be one."""

from __future__ import annotations

import pytest

from stepwell.research.finding.terms import terms_of


@pytest.mark.parametrize(
    "text",
    ["in January 2025", "Jan. 2025", "31 January 2025", "January 31st, 2025", "im Januar 2025", "2025-01", "2025-01-31"],
)
def test_a_month_is_the_same_term_however_it_is_written(text: str):
    assert terms_of(text)["2025-01"] == 1
    assert terms_of(text)["2025"] == 1


@pytest.mark.parametrize("text", ["In all, 2025 lamps burn", "A phone: 030 2025-0117", "the seasons 2024-25"])
def test_what_is_no_month_does_not_become_one(text: str):
    assert not any(len(term) == 7 and term.startswith("2025-") for term in terms_of(text)), terms_of(text)
