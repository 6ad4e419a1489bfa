"""Marks leave no thread out that a search by values must find: checked against the comparison of the values themselves."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.database.documents.book import DocumentBook
from stepwell.database.marks import MAX_MARKS, marks_of, may_hold
from stepwell.database.records.searching import holds, leaves_of
from stepwell.database.types import Document

keys = st.sampled_from(["a", "b", "ü", "", "a b", "%", '"'])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.sampled_from([0, 1, -1, 2**53, 2**53 + 1])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 1.0, float(2**53), 0.1])
    | st.text(max_size=4)
    | st.sampled_from(["1", "true", "null", "[", "{"])
)
documents = st.dictionaries(
    keys,
    st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)),
    max_size=4,
)


def may_match(marks: str | None, wanted: dict[str, Any]) -> bool:
    clause = may_hold(leaves_of(wanted))
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE thread_values (marks TEXT)")
        connection.execute("INSERT INTO thread_values VALUES (?)", (marks,))
        return connection.execute(f"SELECT COUNT(*) FROM thread_values WHERE {clause.sql}", clause.bound).fetchone()[0] == 1


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values, and a filter that often fits: some of their own keys, perhaps with other values."""
    values = draw(documents.filter(bool))
    chosen = draw(st.lists(st.sampled_from(sorted(values)), min_size=1, unique=True))
    other = draw(documents)
    return values, {key: other.get(key, values[key]) for key in chosen}


@given(pairs())
def test_values_that_match_a_filter_have_its_marks(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    values, wanted = pair
    text = orjson.dumps(values)
    if holds(orjson.loads(text), leaves_of(wanted)):
        assert may_match(marks_of(text), wanted)


@given(documents)
def test_values_stored_as_changes_have_the_same_marks(values: dict[str, Any]) -> None:
    values = {**values, "lines": ["a line"] * 200}
    book = DocumentBook()
    book.write_values({"lines": ["a line"] * 150, "a": 1})
    written = book.write_values(values)
    assert isinstance(written, Document)
    assert sorted((written.marks or "").split()) == sorted((marks_of(orjson.dumps(values)) or "").split())


@pytest.mark.parametrize(
    ("values", "wanted"),
    [({"a": 1}, {"a": 2}), ({"a": 1}, {"a": "1"}), ({"a": 1}, {"a": True}), ({"a": []}, {"a": {}}), ({"b": 1}, {"a": 1}), (7, {"a": 1})],
    ids=repr,
)  # fmt: skip
def test_marks_tell_different_values_apart(values: Any, wanted: dict[str, Any]) -> None:
    assert not may_match(marks_of(orjson.dumps(values)), wanted)


def test_values_with_very_many_keys_and_unreadable_ones_count_as_possible() -> None:
    many = {f"key {number}": number for number in range(MAX_MARKS + 1)}
    assert may_match(marks_of(orjson.dumps(many)), {"a": 1})
    assert may_match(marks_of(b"{"), {"a": 1})
