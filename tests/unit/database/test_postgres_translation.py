"""SQL as it is written for both databases, in the form that psycopg takes."""

from __future__ import annotations

import pytest

from stepwell.database.postgres.connection import row_form, translate


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("SELECT ? AND :name", "SELECT %s AND %(name)s"),
        ("SELECT 'what? :name 5%' || ?", "SELECT 'what? :name 5%%' || %s"),
        ("SELECT 'it''s ?', \"a?b\"", "SELECT 'it''s ?', \"a?b\""),
        ("SELECT x::text WHERE y LIKE 'hold:%'", "SELECT x::text WHERE y LIKE 'hold:%%'"),
        ("SELECT 1 -- really?\n, ?", "SELECT 1 -- really?\n, %s"),
        ("SELECT 7 % 2", "SELECT 7 %% 2"),
    ],
)
def test_parameters_are_found_outside_of_quoted_text(written: str, sent: str):
    assert translate(written) == sent


def test_a_row_has_its_values_by_name_and_by_place():
    row = row_form(("thread_id", "fence"))(("t", 5))
    thread_id, fence = row
    assert (row["thread_id"], row[1], thread_id, fence) == ("t", 5, "t", 5)
    with pytest.raises(KeyError):
        row["nothing"]
