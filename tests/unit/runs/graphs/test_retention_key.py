"""`checkpointer.ttl` of a langgraph.json."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.database.upkeep.expiry import ThreadRule
from stepwell.errors import ConfigurationError
from stepwell.runs.graphs.project.retention import read_retention


def read(ttl: Any) -> ThreadRule | None:
    return read_retention({"checkpointer": {"ttl": ttl}}, "langgraph.json")


def test_everything_that_is_written_counts():
    written = {"strategy": "keep_latest", "default_ttl": 90.5, "sweep_interval_minutes": 5, "sweep_limit": 7}
    assert read(written) == ThreadRule(90.5, "keep_latest", 300.0, 7)


def test_what_is_left_out_has_a_default():
    assert read({"default_ttl": 60}) == ThreadRule(60.0, "delete", 3600.0, 10_000)


@pytest.mark.parametrize(
    "content", [{}, {"checkpointer": None}, {"checkpointer": {"serde": {}}}, {"checkpointer": {"ttl": {"strategy": "delete"}}}]
)
def test_without_a_time_there_is_no_rule(content: dict[str, Any]):
    assert read_retention(content, "langgraph.json") is None


@pytest.mark.parametrize(
    ("ttl", "key"),
    [
        (60, "checkpointer.ttl"),
        ({"strategy": "archive", "default_ttl": 1}, "checkpointer.ttl.strategy"),
        ({"default_ttl": 0}, "checkpointer.ttl.default_ttl"),
        ({"default_ttl": "60"}, "checkpointer.ttl.default_ttl"),
        ({"default_ttl": True}, "checkpointer.ttl.default_ttl"),
        ({"default_ttl": float("inf")}, "checkpointer.ttl.default_ttl"),
        ({"default_ttl": 1, "sweep_interval_minutes": -1}, "checkpointer.ttl.sweep_interval_minutes"),
        ({"default_ttl": 1, "sweep_limit": 0}, "checkpointer.ttl.sweep_limit"),
        ({"default_ttl": 1, "sweep_limit": 1.5}, "checkpointer.ttl.sweep_limit"),
    ],
)
def test_a_wrong_entry_is_named(ttl: object, key: str):
    with pytest.raises(ConfigurationError, match=f"'{key}' in 'langgraph.json'"):
        read(ttl)
