"""A server that asks who sends a request, with the workspace's agent on a fake object store, and keys with roots.

The model does what the person says: a message is a call of a file tool as JSON, and its result is the answer.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.integration.server.conftest import Server, serve

from stepwell.backends.objects import Patience, open_bucket
from stepwell.backends.objects.grants import make_grants
from stepwell.clock import Clock, SystemClock
from stepwell.database.keys_and_sessions import AccessRecords
from stepwell.database.sqlite.database import Database
from stepwell.server.login.api_keys import make_key
from stepwell.server.settings import ServerSettings
from stepwell.settings import Settings
from stepwell.testing import ScriptedModel, call
from stepwell.testing.objects import FakeObjectStore
from stepwell.testing.scripted.asked import Asked
from stepwell.workspace.agent import WRITE_OPERATIONS_APPROVAL, build_agent
from stepwell.workspace.files.place import Workspace
from stepwell.workspace.files.shares import Shares
from stepwell.workspace.files.uploads import Uploads
from stepwell.workspace.places import InBucket, InFolder, Place

ASKING = ServerSettings(always_ask=True)
QUICK = Patience(first_pause_s=0.002, longest_pause_s=0.05)


def _obey(asked: Asked) -> Any:
    last = asked.messages[-1]
    if last.type == "tool":
        return str(last.content)
    if "task" in asked.tool_names:
        return call("task", description=str(last.content), subagent_type="gcs-filesystem")
    wanted = json.loads(str(last.content))
    return call(wanted.pop("tool"), **wanted)


def say(tool: str, **arguments: Any) -> dict[str, Any]:
    """The input of a run in which the agent calls one file tool."""
    return {"messages": [{"role": "user", "content": json.dumps({"tool": tool, **arguments})}]}


def at(root: str) -> dict[str, Any]:
    return {"configurable": {"gcs_root_path": root}}


@dataclass(frozen=True)
class Space:
    server: Server
    keys: Mapping[str, str]

    def client(self, user: str) -> LangGraphClient:
        return get_client(url=self.server.url, api_key=self.keys[user])

    async def ask(self, user: str | None, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {**({"x-api-key": self.keys[user]} if user else {}), **options.pop("headers", {})}
        return await self.server.http.request(method, path, headers=headers, **options)

    async def said(self, user: str, order: dict[str, Any], **options: Any) -> str:
        """What the agent answers in a run of its own."""
        async with self.client(user) as client:
            final = await client.runs.wait(None, "workspace", input=order, raise_error=False, **options)
        return str(final["messages"][-1]["content"]) if "messages" in final else str(final)


Opened = Sequence[str] | tuple[Sequence[str], Sequence[str]]


@pytest.fixture
def store() -> Iterator[FakeObjectStore]:
    with FakeObjectStore("files") as store:
        yield store


def bucket_of(store: FakeObjectStore) -> InBucket:
    settings = Settings.load({"GCS_BUCKET_NAME": "files", "GOOGLE_CLOUD_CREDENTIALS_JSON": store.credentials_json})
    bucket = open_bucket(settings, QUICK)
    assert bucket is not None
    return InBucket(bucket)


@asynccontextmanager
async def open_space(
    folder: Path,
    place: Place,
    users: Mapping[str, Opened],
    *,
    settings: ServerSettings = ASKING,
    approvals: bool = False,
    clock: Clock | None = None,
) -> AsyncIterator[Space]:
    """`users` have roots to work in, or a pair: those, and roots to read only."""
    keys = {name: await _add_key(folder, name, opened) for name, opened in users.items()}
    graph = build_agent(ScriptedModel.answering(_obey), place, approvals=WRITE_OPERATIONS_APPROVAL if approvals else {})
    clock = clock or SystemClock()
    workspace = Workspace(
        "workspace",
        place.whole_files(),
        Uploads(folder / "uploads", clock, settings.max_file_bytes),
        Shares(clock, settings.tenant_max_bytes, settings.tenant_max_operations),
        place.default_root,
    )
    async with serve(folder, settings, {"workspace": graph}, clock, workspace=workspace) as server:
        yield Space(server, keys)


async def _add_key(folder: Path, user: str, opened: Opened) -> str:
    roots, read_roots = opened if isinstance(opened, tuple) else (opened, ())
    clock = SystemClock()
    grants = make_grants(roots, read_roots)
    key = make_key(user, operator=False, expires_in=None, now=clock.now(), random_bytes=secrets.token_bytes, grants=grants)
    database = Database(folder / "server.db")
    try:
        await AccessRecords(database, clock).add_key(key.record)
    finally:
        database.close()
    return key.text


@pytest.fixture
async def space(tmp_path: Path, store: FakeObjectStore) -> AsyncIterator[Space]:
    """`ann` and `bob` work for acme, `rob` may only read there, `tom` is t1, `ten` is t10, and `nil` has nothing."""
    users: dict[str, Opened] = {
        "ann": ["/acme/main/"],
        "bob": ["/acme/main/", "/acme/plans/"],
        "rob": ([], ["/acme/main/"]),
        "tom": ["/t1/"],
        "ten": ["/t10/"],
        "nil": [],
    }
    async with open_space(tmp_path, bucket_of(store), users) as opened:
        yield opened


@pytest.fixture
async def folder_space(tmp_path: Path) -> AsyncIterator[Space]:
    """On a folder of this machine, and nobody is asked who they are."""
    async with open_space(tmp_path, InFolder(tmp_path / "workspace"), {}, settings=ServerSettings()) as opened:
        yield opened
