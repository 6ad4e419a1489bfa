"""The reasoning people see: appended, in order, the last twenty. Mission R2."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from stepwell.research.graph.schemas import MAX_REASONING_ENTRIES, ReasoningEntry
from stepwell.research.graph.state import append_reasoning

entries = st.builds(
    ReasoningEntry, node=st.just("thinker"), timestamp=st.just(datetime(2026, 1, 1, tzinfo=UTC)), summary=st.text(max_size=5)
)


@given(st.lists(st.lists(entries, max_size=4), max_size=30))
def test_the_last_twenty_in_their_order(batches: list[list[ReasoningEntry]]) -> None:
    kept: list[ReasoningEntry] | None = None
    for batch in batches:
        kept = append_reasoning(kept, batch)
    everything = [entry for batch in batches for entry in batch]
    assert (kept or []) == everything[-MAX_REASONING_ENTRIES:]
    assert MAX_REASONING_ENTRIES == 20


@given(st.lists(entries, max_size=25))
def test_nothing_comes_of_nothing(existing: list[ReasoningEntry]) -> None:
    before = list(existing)
    assert append_reasoning(existing, None) == existing[-20:]
    assert existing == before, "a channel's value is not changed in place"
