"""The two-tenant differential: what one tenant is told does not depend on whether another exists. And the agent in one request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from tests.integration.server.workspace.conftest import Space, at, bucket_of, open_space, say

from stepwell.server.settings import ServerSettings
from stepwell.testing.objects import FakeObjectStore

FILES, UPLOADS = "/api/workspace/files", "/api/workspace/uploads"
_KEPT_HEADERS = ("content-type", "etag", "content-range", "content-length", "content-disposition", "x-pagination-next")
# What differs from one time to the next: ids, times, versions, and how long something took.
_CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)"
    r"|\b[0-9a-f]{32}\b|\b[0-9a-f]{10}-[0-9a-f]+\b|\b[0-9a-f]{12}\b|\b(?:reply|call)_\d+\b|\b\d+\.\d+\b|lc_run--[\w-]+"
)


def _steps(user: str, words: str) -> list[tuple[str, Callable[[Space, dict[str, str]], Any]]]:
    """A tenant's whole script: every tool of the agent, every route about files, and what else tells of threads, runs and assistants."""

    def request(method: str, path: str, **options: Any) -> tuple[str, Callable[[Space, dict[str, str]], Any]]:
        async def ask(space: Space, known: dict[str, str]) -> httpx.Response:
            filled = {name: value.format(**known) if isinstance(value, str) else value for name, value in options.items()}
            response = await space.ask(user, method, path.format(**known), **filled)
            _remember(known, response)
            return response

        return f"{method} {path}", ask

    def tool(name: str, **arguments: Any) -> tuple[str, Callable[[Space, dict[str, str]], Any]]:
        return request("POST", "/api/agent", json={**say(name, **arguments)})

    return [
        request("PUT", f"{FILES}/notes/a.md", content=f"{words} one"),
        request("PUT", f"{FILES}/b.bin", content=words * 100),
        request("GET", FILES, params={"limit": 1}),
        request("GET", f"{FILES}/notes/a.md"),
        request("GET", f"{FILES}/notes/a.md", headers={"range": "bytes=0-3"}),
        request("GET", f"{FILES}/not-there.md"),
        request("PUT", f"{FILES}/b.bin", content="x", headers={"if-none-match": "*"}),
        request("POST", UPLOADS, json={"path": "/big.bin"}),
        request("PUT", UPLOADS + "/{upload_id}/1", content=words),
        request("POST", UPLOADS + "/{upload_id}/complete"),
        tool("ls", path="/"),
        tool("read_file", file_path="/notes/a.md"),
        tool("read_file", file_path="/only-theirs.md"),
        tool("write_file", file_path="/c.md", content=words),
        tool("write_file", file_path="/c.md", content="again"),
        tool("edit_file", file_path="/c.md", old_string=words, new_string="edited"),
        tool("ls", path="/notes/"),
        request("POST", "/threads", json={}),
        request("POST", "/threads/{thread_id}/runs/wait", json={"assistant_id": "workspace", "input": say("ls", path="/")}),
        request("GET", "/threads/{thread_id}/state"),
        request("GET", "/threads/{thread_id}/history"),
        request("GET", "/threads/{thread_id}/messages"),
        request("GET", "/threads/{thread_id}/runs"),
        request("POST", "/threads/{thread_id}/copy"),
        request("POST", "/threads/search", json={}),
        request("POST", "/threads/count", json={}),
        request("POST", "/assistants/search", json={}),
        request("POST", "/store/items/search", json={"namespace_prefix": []}),
        request("GET", "/interrupts"),
        request("GET", "/api/me"),
        request("DELETE", f"{FILES}/b.bin"),
        request("DELETE", f"{FILES}/only-theirs.md"),
        request("GET", FILES),
    ]


def _remember(known: dict[str, str], response: httpx.Response) -> None:
    if response.headers.get("content-type", "").startswith("application/json") and isinstance(response.json(), dict):
        known.update({name: response.json()[name] for name in ("upload_id", "thread_id") if name in response.json()})


def _told(response: httpx.Response) -> tuple[int, dict[str, str], str]:
    """Status, headers and body; what changes from one time to the next stands as its kind."""
    headers = {name: _CHANGING.sub("<*>", value) for name, value in response.headers.items() if name in _KEPT_HEADERS}
    if "json" in headers.get("content-type", ""):
        headers.pop("content-length", None)  # ids and numbers have different lengths
    events = [line for line in response.text.splitlines() if not line.startswith((":", "id:"))]
    return response.status_code, headers, _CHANGING.sub("<*>", "\n".join(events))


async def _play(folder: Path, *, with_other: bool) -> list[tuple[str, tuple[int, dict[str, str], str]]]:
    """The script of tenant t1; between its steps, t10 does the same with files of its own, and with more of them."""
    users = {"one": ["/t1/main/"], "other": ["/t10/main/", "/t10/main/"]}
    told = []
    with FakeObjectStore("files") as store:
        async with open_space(folder, bucket_of(store), users) as space:
            mine: dict[str, str] = {}
            theirs: dict[str, str] = {}
            if with_other:
                await space.ask("other", "PUT", f"{FILES}/only-theirs.md", content="secret words")
            for (name, ask), (_, ask_theirs) in zip(_steps("one", "mine"), _steps("other", "secret words"), strict=True):
                if with_other:
                    await ask_theirs(space, theirs)
                told.append((name, _told(await ask(space, mine))))
    return told


async def test_a_tenant_is_told_the_same_whether_another_exists_or_not(tmp_path: Path):
    """W9: byte by byte, over every tool of the agent and every route about files; ids and times aside."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    alone, beside = await _play(tmp_path / "a", with_other=False), await _play(tmp_path / "b", with_other=True)
    for one, other in zip(alone, beside, strict=True):
        assert one == other
    assert "secret words" not in json.dumps(beside)
    assert [status for name, (status, _, _) in alone if name.endswith("not-there.md")] == [404]


async def test_the_script_covers_every_route_about_files(space: Space):
    page = (await space.server.http.get("/openapi.json")).json()
    routes = {
        f"{method.upper()} {path}"
        for path, item in page["paths"].items()
        for method, operation in item.items()
        if "Workspace" in operation.get("tags", ())
    }
    forms = [re.sub(r"\{\w+\}", r"[^?]+", route) for route in routes]
    played = [name for name, _ in _steps("one", "x")]
    assert len(routes) == 8
    assert all(any(re.fullmatch(form, name) for name in played) for form in forms)


async def test_the_agent_in_one_request(space: Space):
    """W8: messages and a root in, events out; and the same thread goes on."""
    body = {**say("write_file", file_path="/plan.md", content="tea at four"), "config": at("/acme/main/")}
    response = await space.ask("bob", "POST", "/api/agent", json=body)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    events = re.findall(r"^event: (.+)$", response.text, re.MULTILINE)
    assert events[0] == "metadata"
    assert any(name.startswith("updates") for name in events)
    assert "/plan.md" in response.text
    thread = response.headers["content-location"].split("/")[2]
    again = await space.ask("bob", "POST", "/api/agent", json={**say("read_file", file_path="/plan.md"), "thread_id": thread})
    assert "tea at four" in again.text


async def test_a_root_that_is_missing_bad_or_another_s_is_refused_before_anything_runs(space: Space):
    """W8, W9"""
    for user, root, status in (
        ("bob", None, 422),
        ("bob", "/t10/", 403),
        ("bob", "/nowhere/", 403),
        ("nil", None, 403),
        ("bob", "..", 422),
    ):
        body = {**say("ls", path="/"), **({"config": at(root)} if root else {})}
        refused = await space.ask(user, "POST", "/api/agent", json=body)
        assert refused.status_code == status, (user, root, refused.text)
    other, nowhere = [(await space.ask("bob", "GET", FILES, params={"root": root})).text for root in ("/t10/", "/nowhere/")]
    assert other == nowhere
    assert (await space.ask("bob", "POST", "/threads/search", json={})).json() == []
    assert (await space.ask("bob", "POST", "/api/agent", json={})).status_code == 422


async def test_an_open_server_refuses_a_missing_or_bad_root_too(tmp_path: Path, store: FakeObjectStore):
    """W2, W8: a bucket has no root that could be meant, so the request is wrong, and nothing is started."""
    async with open_space(tmp_path, bucket_of(store), {}, settings=ServerSettings()) as space:
        for config in ({}, {"config": at("..")}):
            refused = await space.ask(None, "POST", "/api/agent", json={**say("ls", path="/"), **config})
            assert (refused.status_code, "workspace root" in refused.json()["detail"]) == (422, True)
        assert (await space.ask(None, "POST", "/threads/search", json={})).json() == []
        begun = await space.ask(None, "POST", "/api/agent", json={**say("ls", path="/"), "config": at("/acme/main/")})
        thread = begun.headers["content-location"].split("/")[2]
        again = await space.ask(None, "POST", "/api/agent", json={**say("ls", path="/"), "thread_id": thread})
        assert again.status_code == 200, "the thread knows its root"


async def test_approvals_are_answered_in_the_same_form(tmp_path: Path, store: FakeObjectStore):
    """W8: the agent waits, and goes on with the answer."""
    async with open_space(tmp_path, bucket_of(store), {"ann": ["/acme/main/"]}, approvals=True) as space:
        body = say("write_file", file_path="/plan.md", content="tea at four")
        thread = (await space.ask("ann", "POST", "/api/agent", json=body)).headers["content-location"].split("/")[2]
        ((asked,),) = (await space.ask("ann", "GET", f"/threads/{thread}")).json()["interrupts"].values()
        answer = {"resume": {asked["id"]: {"decisions": [{"type": "approve"}]}}}
        assert store.contents.names("files") == []
        await space.ask("ann", "POST", "/api/agent", json={"thread_id": thread, "command": answer})
        assert store.contents.names("files") == ["acme/main/plan.md"]
