"""A folder of 10,000 files is deleted and moved in a time that grows with their number, on every backend."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore
from tests.support.growth import TIMES, assert_linear

from stepwell.backends import FilesystemBackend, StateBackend, StoreBackend
from stepwell.backends.changes import reduce_files
from stepwell.backends.objects import ObjectBackend, memory_bucket

SIZE = 10_000 // TIMES
FOLDERS = 2
"""How often a deletion can be measured."""


def _paths(size: int) -> list[str]:
    return [f"/docs/{copy}/{number // 100}/{number}.md" for copy in range(FOLDERS) for number in range(size)]


def _on_disk(folder: Path, size: int) -> Any:
    for path in _paths(size):
        place = folder / path[1:]
        if not place.parent.exists():
            place.parent.mkdir(parents=True)
        place.write_text("x")
    return FilesystemBackend(folder)


def _in_state(size: int) -> Any:
    files = reduce_files({}, [dict.fromkeys(_paths(size), "x")])
    return StateBackend(SimpleNamespace(state={"files": files}))


def _in_store(size: int) -> Any:
    store = InMemoryStore()
    for path in _paths(size):
        store.put(("filesystem",), path, {"content": ["x"], "created_at": "", "modified_at": ""})
    return StoreBackend(store)


def _in_bucket(size: int) -> Any:
    bucket = memory_bucket()
    for path in _paths(size):
        bucket._api.put(bucket._writer, f"w{path}", b"x")
    return ObjectBackend(bucket, "/w/")


@pytest.mark.parametrize("kind", ["state", "store", "disk", "objects"])
def test_the_time_grows_with_the_files(kind: str, tmp_path: Path):
    def make(size: int) -> Any:
        if kind == "disk":
            backend = _on_disk(tmp_path / str(size), size)
        else:
            backend = {"state": _in_state, "store": _in_store, "objects": _in_bucket}[kind](size)
        return backend, [f"/docs/{copy}" for copy in range(FOLDERS)], size

    def delete(given: Any) -> None:
        backend, left, size = given
        if kind == "state":
            assert backend.move(left[-1], "/moved").count == size
        elif kind != "objects":  # each copy is a request of its own
            assert backend.move(left[-1], "/moved").count == size
            assert backend.move("/moved", left[-1]).count == size
        assert backend.delete(left.pop()).count == size

    assert_linear(delete, make, SIZE)
