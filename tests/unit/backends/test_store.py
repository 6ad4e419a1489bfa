"""D11: files across threads, in any LangGraph store. What all backends share is checked by the conformance suite."""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.store.sqlite.aio import AsyncSqliteStore

from stepwell.backends.store import StoreBackend
from stepwell.backends.store_items import FIRST_PAGE
from stepwell.errors import BackendError, ConfigurationError

NAMESPACE = ("filesystem",)


class BrokenStore(BaseStore):
    """A database that is away, and whose driver tells too much."""

    def batch(self, ops: Any) -> list[Any]:
        raise OSError("connection to db.internal:5432 as admin:hunter2 refused")

    async def abatch(self, ops: Any) -> list[Any]:
        return self.batch(ops)


class CountingStore(InMemoryStore):
    """Counts searches."""

    searches = 0

    def batch(self, ops: Any) -> list[Any]:
        operations: list[Op] = list(ops)
        CountingStore.searches += sum(isinstance(operation, SearchOp) for operation in operations)
        return super().batch(operations)


class SearchedStore(InMemoryStore):
    """The same items, which the backend only gets by a search, because this is a class of its own."""


class GatedStore(InMemoryStore):
    """Lets async callers wait at a gate."""

    __slots__ = ("gate", "reached")

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.reached = asyncio.Event()

    async def abatch(self, ops: Any) -> list[Any]:
        self.reached.set()
        await self.gate.wait()
        return await super().abatch(ops)


class State(TypedDict):
    answer: Any


def in_graph(step: Any, **compile_options: Any) -> Any:
    """What a step answers inside a running graph."""
    builder = StateGraph(State, context_schema=dict)
    builder.add_node("step", lambda _: {"answer": step()})
    builder.add_edge(START, "step")
    builder.add_edge("step", END)
    return builder.compile(**compile_options).invoke({"answer": None}, context={"user": "alice"})["answer"]


def test_a_file_is_one_item_whose_key_is_its_path() -> None:
    store = InMemoryStore()
    StoreBackend(store).write("/docs/a.md", "one\n")
    item = store.get(NAMESPACE, "/docs/a.md")
    assert item is not None
    assert item.value["content"] == ["one", ""]
    assert set(item.value) == {"content", "created_at", "modified_at"}


def test_an_edit_keeps_the_time_of_creation() -> None:
    store = InMemoryStore()
    backend = StoreBackend(store)
    backend.write("/a.md", "one")
    before = store.get(NAMESPACE, "/a.md").value
    backend.edit("/a.md", "one", "two")
    after = store.get(NAMESPACE, "/a.md").value
    assert after["created_at"] == before["created_at"]
    assert after["modified_at"] > before["modified_at"]


def test_namespaces_do_not_see_one_another() -> None:
    store = InMemoryStore()
    shared, alice, folders = (StoreBackend(store, namespace=labels) for labels in (("fs",), ("fs", "alice"), ("fs~folders",)))
    shared.write("/docs/shared.md", "x")
    alice.write("/docs/private.md", "x")
    assert [row["path"] for row in shared.glob_info("**")] == ["/docs/shared.md"]
    assert [row["path"] for row in alice.glob_info("**")] == ["/docs/private.md"]
    assert list(folders.glob_info("**")) == []


def test_the_running_graphs_store_is_found() -> None:
    """D11: `StoreBackend()` needs no store of its own."""
    store = InMemoryStore()
    assert in_graph(lambda: StoreBackend().write("/a.md", "one").error, store=store) is None
    assert StoreBackend(store).read("/a.md").endswith("one")


def test_a_namespace_can_depend_on_the_run() -> None:
    store = InMemoryStore()
    backend = StoreBackend(namespace=lambda runtime: ("files", runtime.context["user"]))
    assert in_graph(lambda: backend.write("/a.md", "one").error, store=store) is None
    assert store.get(("files", "alice"), "/a.md") is not None


def test_a_namespace_function_works_outside_a_run() -> None:
    store = InMemoryStore()
    assert StoreBackend(store, namespace=lambda runtime: ("files", "all")).write("/a.md", "one").error is None
    assert store.get(("files", "all"), "/a.md") is not None
    by_user = StoreBackend(store, namespace=lambda runtime: ("files", runtime.context["user"]))
    with pytest.raises(BackendError, match=r"runtime=Runtime\(store=store, context="):
        by_user.read("/a.md")
    runtime: Any = Runtime(store=store, context={"user": "alice"})
    given = StoreBackend(namespace=lambda runtime: ("files", runtime.context["user"]), runtime=runtime)
    assert given.write("/a.md", "hers").error is None
    assert store.get(("files", "alice"), "/a.md") is not None


def test_a_tool_runtime_is_accepted_in_first_place() -> None:
    store = InMemoryStore()
    runtime: Any = ToolRuntime(state={}, context={}, config={}, stream_writer=lambda _: None, tool_call_id="1", store=store)
    assert StoreBackend(runtime).write("/a.md", "one").error is None
    assert StoreBackend(store).read("/a.md").endswith("one")


def test_without_a_store_the_way_out_is_named() -> None:
    with pytest.raises(BackendError, match="store="):
        StoreBackend().read("/a.md")
    with pytest.raises(BackendError, match="store="):
        in_graph(lambda: StoreBackend().read("/a.md"))


@pytest.mark.parametrize("namespace", [(), "files", ("a.b",), ("",), ("a", ""), ("langgraph", "x"), (1,), None])
def test_a_bad_namespace_is_refused_when_built(namespace: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"namespace|langgraph"):
        StoreBackend(InMemoryStore(), namespace=namespace)


def test_what_is_no_store_is_refused_when_built() -> None:
    with pytest.raises(ConfigurationError, match="dict"):
        StoreBackend({})


def test_prefixes_limit_what_is_open() -> None:
    """D11: optional allowed prefixes."""
    backend = StoreBackend(InMemoryStore(), allowed_prefixes=("/docs/",))
    assert backend.write("/docs/a.md", "one").error is None
    assert "'/docs/'" in str(backend.write("/a.md", "one").error)
    assert "'/docs/'" in str(backend.ls_info("/").error)
    assert "'/docs/'" in backend.grep_raw("one")


@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_failing_store_becomes_a_result_that_tells_no_secrets(colour: str) -> None:
    backend = StoreBackend(BrokenStore())

    def call(verb: str, *args: str) -> Any:
        if colour == "sync":
            return getattr(backend, verb)(*args)
        return asyncio.run(getattr(backend, f"a{verb}")(*args))

    texts = [
        call("ls_info", "/").error,
        call("glob_info", "*").error,
        call("grep_raw", "x"),
        call("read", "/a.md"),
        call("write", "/a.md", "x").error,
        call("edit", "/a.md", "x", "y").error,
    ]
    for text in texts:
        assert "could not be reached" in text
        assert "hunter2" not in text
        assert "db.internal" not in text
    # The lock was given back: a second try gets the same answer instead of waiting for ever.
    assert call("write", "/a.md", "x").error == texts[4]


def test_files_beyond_the_first_page_are_found() -> None:
    store = SearchedStore()
    count = FIRST_PAGE + 50
    value = {"content": ["x"], "created_at": "", "modified_at": ""}
    store.batch([PutOp(NAMESPACE, f"/f{number:05}.md", value) for number in range(count)])
    backend = StoreBackend(store)
    assert len(backend.ls_info("/")) == count
    assert [row["path"] for row in backend.grep_raw("x", glob=f"f{count - 1:05}.md")] == [f"/f{count - 1:05}.md"]
    assert [row["path"] for row in backend.glob_info("f00000.md")] == ["/f00000.md"]


def test_creating_a_file_does_not_read_the_others() -> None:
    backend = StoreBackend(CountingStore())
    CountingStore.searches = 0
    for number in range(20):
        assert backend.write(f"/docs/deep/f{number}.md", "x").error is None
        assert backend.edit(f"/docs/deep/f{number}.md", "x", "y").error is None
    assert CountingStore.searches == 0


def test_a_folder_that_others_emptied_can_become_a_file() -> None:
    store = InMemoryStore()
    backend = StoreBackend(store)
    backend.write("/docs/a.md", "x")
    store.delete(NAMESPACE, "/docs/a.md")
    assert backend.write("/docs", "now a file").error is None


def test_values_of_another_shape_are_left_alone() -> None:
    store = InMemoryStore()
    store.put(NAMESPACE, "/odd", {"text": "not a file"})
    backend = StoreBackend(store)
    assert list(backend.ls_info("/")) == []
    assert list(backend.grep_raw("file")) == []
    assert "not a text file" in backend.read("/odd")
    assert "not a text file" in str(backend.edit("/odd", "a", "b").error)


def test_a_store_in_memory_answers_as_it_does_when_it_is_searched() -> None:
    answers = []
    for store in (InMemoryStore(), SearchedStore()):
        backend = StoreBackend(store)
        for path in ("/a.py", "/docs/b.py", "/docs/deep/c.md"):
            backend.write(path, "the needle\n")
        store.put(NAMESPACE, "/docs/count", {"content": 3})
        store.put(NAMESPACE, "/other/thing", {"text": "needle"})
        store.put(NAMESPACE, "/plain.txt", {"content": "a needle"})
        store.put((*NAMESPACE, "below"), "/hidden.py", {"content": ["needle"]})
        listings = [backend.ls_info(path) for path in ("/", "/docs", "/other", "/a.py")]
        found = [backend.glob_info(pattern, "/") for pattern in ("**/*.py", "*", "**/thing")]
        rows = [[{**row, "modified_at": bool(row["modified_at"])} for row in rows] for rows in (*listings, *found)]
        answers.append((rows, [rows.error for rows in (*listings, *found)], backend.grep_raw("needle", "/")))
    assert answers[0] == answers[1]


def test_backends_made_anew_for_each_call_keep_all_edits() -> None:
    """D13: the locks belong to the store, not to the backend."""
    store = InMemoryStore()
    StoreBackend(store).write("/a.md", "".join(f"<{number}>" for number in range(100)))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: StoreBackend(store).edit("/a.md", f"<{number}>", f"[{number}]"), range(100)))
    assert StoreBackend(store).read("/a.md").endswith("".join(f"[{number}]" for number in range(100)))


def test_edits_of_both_colours_at_once_are_all_kept(tmp_path: Path) -> None:
    """D13: threads and tasks wait for one another."""
    connection = sqlite3.connect(tmp_path / "store.db", check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection)
    store.setup()
    backend = StoreBackend(store)
    backend.write("/a.md", "".join(f"<{number}>" for number in range(60)))

    async def both() -> None:
        tasks = [backend.aedit("/a.md", f"<{number}>", f"[{number}]") for number in range(30)]
        threads = [asyncio.to_thread(backend.edit, "/a.md", f"<{number}>", f"[{number}]") for number in range(30, 60)]
        await asyncio.gather(*tasks, *threads)

    asyncio.run(both())
    assert backend.read("/a.md").endswith("".join(f"[{number}]" for number in range(60)))
    connection.close()


def test_a_file_and_a_folder_of_one_name_cannot_both_come_into_being() -> None:
    """D13: writers of `/x` and `/x/y` exclude one another."""
    for _ in range(20):
        backend = StoreBackend(InMemoryStore())
        with ThreadPoolExecutor(2) as pool:
            errors = list(pool.map(lambda path, to=backend: to.write(path, "x").error, ["/x", "/x/y"]))
        assert errors.count(None) == 1


async def test_an_async_store_is_awaited_on_its_own_loop(tmp_path: Path) -> None:
    """A store that refuses sync calls from its loop serves async verbs there, and sync verbs from other threads."""
    async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        await store.setup()
        backend = StoreBackend(store)
        assert (await backend.awrite("/docs/a.md", "one")).error is None
        assert (await asyncio.to_thread(backend.edit, "/docs/a.md", "one", "two")).error is None
        assert (await backend.aread("/docs/a.md")).endswith("two")
        assert [row["path"] for row in await backend.als_info("/")] == ["/docs/"]


async def test_a_cancelled_edit_gives_its_place_back() -> None:
    store = GatedStore()
    backend = StoreBackend(store)
    backend.write("/a.md", "one")
    holder = asyncio.create_task(backend.aedit("/a.md", "one", "two"))
    waiter = asyncio.create_task(backend.aedit("/a.md", "one", "three"))
    await store.reached.wait()
    for task in (waiter, holder):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    store.gate.set()
    assert (await backend.aedit("/a.md", "one", "four")).error is None
