"""D11, D12, D13: every backend passes the shared suite."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from langgraph.types import Command
from tests.support.state_files import StateFiles

from stepwell.backends.browser import BrowserBackend
from stepwell.backends.composite import CompositeBackend
from stepwell.backends.filesystem import FilesystemBackend
from stepwell.backends.folder_device import FolderDevice
from stepwell.backends.objects import Bucket, ObjectBackend, memory_bucket, open_bucket
from stepwell.backends.protocol import BackendProtocol
from stepwell.backends.state import StateBackend
from stepwell.backends.store import StoreBackend
from stepwell.settings import Settings
from stepwell.testing.backends.conformance import BackendConformance
from stepwell.testing.objects import FakeObjectStore


class TestStoreInMemory(BackendConformance):
    def make_backend(self) -> BackendProtocol:
        return StoreBackend(InMemoryStore())


class TestStoreInSqlite(BackendConformance):
    """A store without an async side of its own."""

    @pytest.fixture
    def backend(self) -> Iterator[BackendProtocol]:
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        store = SqliteStore(connection)
        store.setup()
        yield StoreBackend(store)
        connection.close()


class TestFilesystem(BackendConformance):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        self.never_shown = (str(tmp_path),)
        return FilesystemBackend(tmp_path)


class TestObjectsInMemory(BackendConformance):
    """W4: the code of the workspace, without a store far away."""

    never_shown = ("company", "workspace")

    def make_backend(self) -> BackendProtocol:
        return ObjectBackend(memory_bucket(), "/company/workspace/")


@pytest.fixture(scope="module")
def google_bucket() -> Iterator[Bucket]:
    with FakeObjectStore("files") as store:
        store.contents.put("files", "company/neighbour.md", b"one two x")
        yield open_bucket(Settings.load({"GCS_BUCKET_NAME": "files", "GOOGLE_CLOUD_CREDENTIALS_JSON": store.credentials_json}))


class TestObjectsInGoogleCloudStorage(BackendConformance):
    """W4: over HTTP, in a bucket that other tenants use too. A root of its own makes each backend empty."""

    never_shown = ("company", "neighbour")

    @pytest.fixture
    def backend(self, google_bucket: Bucket) -> BackendProtocol:
        return ObjectBackend(google_bucket, f"/company/{uuid4()}/")


class InState(BackendConformance):
    """Verbs run inside a graph, whose state holds the files."""

    creates_are_exclusive = False

    def setup_method(self) -> None:
        self.state = StateFiles()

    def run(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        return self.state.run(backend, verb, *args, **kwargs)

    async def arun(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        return await self.state.arun(backend, verb, *args, **kwargs)


class TestState(InState):
    def make_backend(self) -> BackendProtocol:
        return StateBackend()


class OnDevice(BackendConformance):
    """T5: each verb runs in a graph, pauses once, and goes on with what the device answers."""

    # One question cannot tell a folder in which nothing matches from one that is not there.
    test_grep_in_a_missing_place_is_an_error = None
    test_glob_in_a_missing_folder_is_an_error = None

    def setup_method(self) -> None:
        self.device = FolderDevice(StoreBackend(InMemoryStore()))

    def make_backend(self) -> BackendProtocol:
        return BrowserBackend(project_id="p")

    def run(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        job = Job(lambda: getattr(backend, verb)(*args, **kwargs))
        asked = pausing_graph(False).invoke({}, job.config).get("__interrupt__", ())
        if asked:
            pausing_graph(False).invoke(Command(resume={asked[0].id: self.answer(asked)}), job.config)
        return job.said

    async def arun(self, backend: BackendProtocol, verb: str, *args: Any, **kwargs: Any) -> Any:
        job = Job(lambda: getattr(backend, f"a{verb}")(*args, **kwargs))
        asked = (await pausing_graph(True).ainvoke({}, job.config)).get("__interrupt__", ())
        if asked:
            await pausing_graph(True).ainvoke(Command(resume={asked[0].id: self.answer(asked)}), job.config)
        return job.said

    def answer(self, asked: Any) -> Any:
        assert len(asked) == 1
        assert asked[0].value["project_id"] == "p"
        return self.device.answer(asked[0].value)


class Job:
    """A verb that a graph's only step calls, on a thread of its own, and what came of it."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        self.said: Any = None
        self.config: Any = {"configurable": {"thread_id": str(uuid4()), "job": self}}


@cache
def pausing_graph(waits: bool) -> Any:
    def step(_: dict[str, Any], config: RunnableConfig) -> None:
        config["configurable"]["job"].said = config["configurable"]["job"].call()

    async def astep(_: dict[str, Any], config: RunnableConfig) -> None:
        config["configurable"]["job"].said = await config["configurable"]["job"].call()

    builder = StateGraph(dict)
    builder.add_node("step", RunnableLambda(step, astep) if waits else step)
    builder.add_edge(START, "step")
    return builder.compile(checkpointer=InMemorySaver())


class TestBrowserMount(OnDevice):
    base = "/project"

    def make_backend(self) -> BackendProtocol:
        return CompositeBackend(StoreBackend(InMemoryStore()), {"/project/": super().make_backend()})


class TestCompositeDefault(BackendConformance):
    """Beside a mount, in a folder that exists as long as it has files."""

    base = "/work"
    test_the_empty_root_lists_nothing = None
    test_spellings_of_one_path_are_one_file = None  # the folder's own spelling is covered by the others

    def make_backend(self) -> BackendProtocol:
        return CompositeBackend(StoreBackend(InMemoryStore()), {"/mounted/": StoreBackend(InMemoryStore())})


class TestCompositeMount(BackendConformance):
    """Behind a mount: the suite sees the mount's paths everywhere, also in errors."""

    base = "/mounted"

    def make_backend(self) -> BackendProtocol:
        return CompositeBackend(StoreBackend(InMemoryStore()), {"/mounted/": StoreBackend(InMemoryStore())})


class TestCompositeMountOfState(InState):
    """A state backend behind a mount, with another one as the default."""

    base = "/mounted"

    def make_backend(self) -> BackendProtocol:
        return CompositeBackend(StateBackend(), {"/mounted/": StateBackend()})


class TestCompositeMountOfDisk(BackendConformance):
    base = "/a/b"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        self.never_shown = (str(tmp_path),)
        return CompositeBackend(StoreBackend(InMemoryStore()), {"/a/b/": FilesystemBackend(tmp_path), "/a/": StateBackend()})


class TestCompositeInComposite(BackendConformance):
    base = "/outer/inner"

    def make_backend(self) -> BackendProtocol:
        inner = CompositeBackend(StoreBackend(InMemoryStore()), {"/inner/": StoreBackend(InMemoryStore())})
        return CompositeBackend(StoreBackend(InMemoryStore()), {"/outer/": inner})
