"""Whatever turns change, and however often one goes back, forks and undoes, every backend has the files and messages of a plain model: the
list of what there was when each turn began."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from stepwell import RewindMiddleware, create_deep_agent, rewind
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.objects import ObjectBackend, memory_bucket
from stepwell.backends.state import StateBackend
from stepwell.backends.store import StoreBackend
from stepwell.testing import Asked, ScriptedModel, call, calls

CASES = settings(max_examples=max(8, (settings.default.max_examples if settings.default else 0) // 40), deadline=None)
THREAD: Any = {"configurable": {"thread_id": "t"}}

PATHS = st.sampled_from(["/a", "/b", "/m/a", "/m/d/a", "/n/a", "/d/a", "/d/b", "/d/d/a", "/d", "/m/d"])
TEXT = st.sampled_from(["one", "two", "one two", ""])
CHANGE = st.one_of(
    st.builds(lambda path, text: ("write_file", {"file_path": path, "content": text, "overwrite": True}), PATHS, TEXT),
    st.builds(lambda path, text: ("edit_file", {"file_path": path, "old_string": "one", "new_string": text}), PATHS, TEXT),
    st.builds(lambda path: ("delete", {"file_path": path}), PATHS),
    st.builds(lambda old, new: ("move", {"source": old, "destination": new}), PATHS, PATHS),
)
OPERATION = st.one_of(
    st.tuples(st.just("turn"), st.lists(CHANGE, max_size=3)),
    st.tuples(st.just("turn"), st.lists(CHANGE, min_size=1, max_size=3)),
    st.tuples(st.just("rewind"), st.integers(0, 20)),
    st.tuples(st.just("fork"), st.integers(0, 20), st.lists(CHANGE, max_size=2)),
)


def obey(asked: Asked) -> Any:
    """Makes the calls that the user's message lists, one after the other, in one step of the model."""
    last = asked.messages[-1]
    wanted = [] if last.type == "tool" else json.loads(last.text)
    return calls(*(call(name, **args) for name, args in wanted)) if wanted else "done"


@contextmanager
def on_disk(make: Callable[[Path], Any]) -> Iterator[Any]:
    folder = Path(tempfile.mkdtemp())
    try:
        yield make(folder)
    finally:
        shutil.rmtree(folder)


@contextmanager
def plain(backend: Any) -> Iterator[Any]:
    yield backend


def mixed(folder: Path) -> Any:
    mounts = {"/m/": FilesystemBackend(folder), "/n/": ObjectBackend(memory_bucket(), "/company/workspace/")}
    return CompositeBackend(StateBackend(), mounts)


def stored(folder: Path) -> Any:
    return CompositeBackend(FilesystemBackend(folder), {"/m/": StoreBackend(InMemoryStore()), "/n/": StateBackend()})


BACKENDS: dict[str, Callable[[], Any]] = {
    "state": lambda: plain(StateBackend()),
    "store": lambda: plain(StoreBackend(InMemoryStore())),
    "disk": lambda: on_disk(FilesystemBackend),
    "objects": lambda: plain(ObjectBackend(memory_bucket(), "/company/workspace/")),
    "state with disk and objects": lambda: on_disk(mixed),
    "disk with store and state": lambda: on_disk(stored),
}


class Thread:
    """An agent's thread, and what there was when each of its turns began."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.agent = create_deep_agent(
            ScriptedModel.answering(obey), backend=backend, middleware=[RewindMiddleware()], checkpointer=InMemorySaver()
        )
        self.began: list[tuple[str, Any, dict[str, str], list[str]]] = []

    def look(self) -> tuple[dict[str, str], list[str]]:
        values = self.agent.get_state(THREAD).values
        files = {path: "\n".join(data["content"]) for path, data in values.get("files", {}).items()}
        for prefix, child in getattr(self.backend, "children", lambda: [("", self.backend)])():
            if not getattr(child, "in_state", False):
                for row in child.glob_info("**/*", "/"):
                    files[prefix + row["path"]] = child.read_whole(row["path"]).decode()
        return files, [str(message.id) for message in values.get("messages", [])]

    def turn(self, changes: list[Any], config: Any = THREAD) -> None:
        name = f"m{len(self.began)}"
        files, messages = self.look()
        if config is not THREAD:
            state = self.agent.get_state(config).values
            files = {path: text for path, text in files.items() if not self.is_in_state(path)}
            files |= {path: "\n".join(data["content"]) for path, data in state.get("files", {}).items()}
            messages = [str(message.id) for message in state.get("messages", [])]
        self.began.append((name, self.agent.get_state(config).config, files, messages))
        self.agent.invoke({"messages": [HumanMessage(json.dumps(changes), id=name)]}, config)

    def is_in_state(self, path: str) -> bool:
        asked = getattr(self.backend, "in_state_at", None)
        return asked(path) if asked else getattr(self.backend, "in_state", False)

    def rewind(self, choice: int) -> None:
        name, _, files, messages = self.began[choice % len(self.began)]
        before = (*self.look(), self.agent.get_state(THREAD).config)
        report = rewind(self.agent, THREAD, name)
        assert report["can_rewind"], report
        assert self.look() == (files, messages)
        assert set(report["files_changed"]) == {path for path in {*before[0], *files} if before[0].get(path) != files.get(path)}
        self.began.append((str(report["rewind_id"]), before[2], before[0], before[1]))

    def fork(self, choice: int, changes: list[Any]) -> None:
        """Another version of an earlier turn: the conversation goes back, and files outside of it stay."""
        config = self.began[choice % len(self.began)][1]
        if config["configurable"].get("checkpoint_id"):
            self.turn(changes, config)


@pytest.mark.parametrize("kind", BACKENDS)
@CASES
@given(operations=st.lists(OPERATION, min_size=2, max_size=6))
def test_any_sequence_of_turns_rewinds_and_forks(kind: str, operations: list[Any]) -> None:
    with BACKENDS[kind]() as backend:
        thread = Thread(backend)
        thread.turn([])
        for operation in operations:
            getattr(thread, operation[0])(*operation[1:])
        thread.rewind(0)
        assert thread.look()[1] == []
