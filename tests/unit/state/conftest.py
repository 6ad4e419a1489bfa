"""Threads to look at: a saver of each kind, and an agent that writes a file in each turn."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    """A stock saver of each kind."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    with closing(sqlite3.connect(tmp_path / "threads.sqlite", check_same_thread=False)) as connection:
        yield SqliteSaver(connection)


@pytest.fixture
def thread() -> dict[str, Any]:
    """The config of the thread that tests use."""
    return {"configurable": {"thread_id": "t"}}
