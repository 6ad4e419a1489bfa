"""D11: whatever is written, edited, deleted and moved, and in which order, every backend ends with the files that a plain dict has."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from stepwell.backends.changes import reduce_files
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.folder_device import FolderDevice
from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.backends.protocol import BackendProtocol
from stepwell.backends.state import StateBackend
from stepwell.backends.store import StoreBackend

CASES = settings(max_examples=max(60, (settings.default.max_examples if settings.default else 0) // 10), deadline=None)

PATHS = st.sampled_from(["/a", "/b", "/m/a", "/m/b", "/d", "/d/a", "/d/b", "/d/d", "/d/d/a", "/e/a", "/m/d/a", "/m/d"])
TEXT = st.sampled_from(["one", "two", "one two", ""])
STEP = st.one_of(
    st.tuples(st.just("write"), PATHS, TEXT, st.booleans()),
    st.tuples(st.just("edit"), PATHS, st.sampled_from(["one", "two"]), TEXT),
    st.tuples(st.just("delete"), PATHS),
    st.tuples(st.just("move"), PATHS, PATHS, st.booleans()),
)


class Model:
    """A tree of files as a dict, and the rules in a few lines."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def below(self, path: str) -> list[str]:
        return sorted(name for name in self.files if name.startswith(f"{path}/"))

    def blocked(self, path: str) -> bool:
        parts = path.split("/")
        return any("/".join(parts[:depth]) in self.files for depth in range(2, len(parts)))

    def write(self, path: str, text: str, overwrite: bool) -> bool:
        if (path in self.files and not overwrite) or self.below(path) or self.blocked(path):
            return False
        self.files[path] = text
        return True

    def edit(self, path: str, old: str, new: str) -> bool:
        if self.files.get(path, "").count(old) != 1 or old == new:
            return False
        self.files[path] = self.files[path].replace(old, new)
        return True

    def delete(self, path: str) -> int:
        doomed = [path] if path in self.files else self.below(path)
        for name in doomed:
            del self.files[name]
        return len(doomed)

    def move(self, source: str, destination: str, overwrite: bool) -> int:
        moving = [source] if source in self.files else self.below(source)
        is_taken = destination in self.files and not (overwrite and source in self.files)
        inside = destination == source or destination.startswith(f"{source}/")
        if not moving or inside or is_taken or self.below(destination) or self.blocked(destination):
            return 0
        texts = {destination + name[len(source) :]: self.files.pop(name) for name in moving}
        self.files.update(texts)
        return len(moving)


class Backends:
    """Every kind of backend, without files at first. A device is one too: what it is asked, it does on a backend of its own."""

    def __init__(self, folder: Path) -> None:
        self.folders = [folder / name for name in ("disk", "walk", "portable", "mounted")]
        for each in self.folders:
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir()
        disk, walk, portable, mounted = self.folders
        self.runtime = SimpleNamespace(state={"files": {}})
        self.device = StoreBackend(InMemoryStore())
        self.all: dict[str, BackendProtocol] = {
            "state": StateBackend(self.runtime),
            "store": StoreBackend(InMemoryStore()),
            "disk": FilesystemBackend(disk),
            "walk": FilesystemBackend(walk, containment="walk"),
            "portable": FilesystemBackend(portable, containment="portable"),
            "objects": ObjectBackend(memory_bucket(), "/w/"),
            "composite": CompositeBackend(StoreBackend(InMemoryStore()), {"/m/": FilesystemBackend(mounted)}),
        }

    def call(self, name: str, verb: str, *args: Any, **options: Any) -> Any:
        result = getattr(self.all[name], verb)(*args, **options)
        if name == "state" and result.files_update:
            self.runtime.state["files"] = reduce_files(self.runtime.state["files"], [result.files_update])
        for folder in self.folders:
            _prune(folder)
        return result

    def files(self, name: str) -> dict[str, str]:
        found = self.all[name].glob_info("**/*", "/")
        return {row["path"]: self.all[name].read_whole(row["path"]).decode() for row in found}  # type: ignore[attr-defined]

    def ask_device(self, operation: str, **args: Any) -> bool:
        call = {"id": "1", "name": operation, "args": args}
        (result,) = FolderDevice(self.device).answer({"tool_calls": [call]})["tool_results"]
        return "content" in result


def _prune(folder: Path) -> None:
    """A disk keeps empty folders, which the others do not have."""
    for here, _, _ in os.walk(folder, topdown=False):
        if here != str(folder) and not os.listdir(here):
            os.rmdir(here)


@pytest.mark.prove
@pytest.mark.timeout(3600)
@given(steps=st.lists(STEP, min_size=4, max_size=14))
@CASES
def test_every_backend_has_the_files_of_a_dict(steps: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    backends, model = Backends(tmp_path_factory.mktemp("trees")), Model()
    for verb, *args in steps:
        # A mount is never written over, deleted or moved; the others have no mounts.
        if any(path == "/m" for path in args if isinstance(path, str)):
            continue
        options = {"overwrite": args.pop()} if verb in ("write", "move") else {}
        done = getattr(model, verb)(*args, **options)
        for name in backends.all:
            result = backends.call(name, verb, *args, **options)
            assert (result.error is None) == bool(done), f"{name}: {verb}{args} {options}: {result}"
            if verb in ("delete", "move") and done:
                assert result.count == done
        assert _on_device(backends, verb, args, options) == bool(done)
    for name in backends.all:
        assert backends.files(name) == model.files, name
    backends.all["device"] = backends.device
    assert backends.files("device") == model.files


def _on_device(backends: Backends, verb: str, args: list[str], options: dict[str, bool]) -> bool:
    match verb:
        case "write":
            return backends.ask_device("write_file", path=args[0], title="x", content=args[1], **options)
        case "edit":
            return args[1] != args[2] and backends.ask_device("patch_file", file_id=args[0], search=args[1], replace=args[2])
        case "delete":
            return backends.ask_device("delete_file", file_id=args[0])
        case _:
            return backends.ask_device("move_file", file_id=args[0], path=args[1], **options)
