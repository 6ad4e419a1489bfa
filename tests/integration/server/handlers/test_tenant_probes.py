"""The probes of tenants again, on a server whose project has its own auth: what handlers filter is not found, on any route."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import Auth, get_client
from tests.integration.runs import background_graphs
from tests.integration.server.auth.test_identity_matrix import SECRET, probe
from tests.integration.server.auth.test_work_of_others import probe_work
from tests.integration.server.conftest import Server, serve
from tests.integration.server.graphs import GRAPHS

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.server.project import ServedProject
from stepwell.server.settings import ServerSettings

HEADERS = {name: {"authorization": f"Bearer {name}"} for name in ("anna", "amir", "bert")}
TEAMS = {"anna": "red", "amir": "red", "bert": "blue"}


def teams() -> Auth:
    """One handler for everything, as in LangGraph's own guide."""
    auth = Auth()

    @auth.authenticate
    async def authenticate(headers: dict[bytes, bytes]) -> Any:
        name = headers.get(b"authorization", b"").decode().removeprefix("Bearer ")
        if name not in TEAMS:
            raise Auth.exceptions.HTTPException(status_code=401, detail="Who are you?")
        return {"identity": name, "team": TEAMS[name]}

    @auth.on
    async def own(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Any:
        if ctx.resource == "store":
            return None
        value.setdefault("metadata", {}).update({"team": ctx.user["team"]})
        return {"team": ctx.user["team"]}

    return auth


def only_authenticate() -> Auth:
    auth = teams()
    auth._global_handlers.clear()
    return auth


def served(folder: Path, auth: Auth, graphs: Any = GRAPHS, **more: Any) -> Any:
    return serve(folder, ServerSettings(own_auth=True, max_streams=2), graphs=graphs, project=ServedProject(auth=auth), **more)


async def fill(server: Server) -> dict[str, str]:
    client = get_client(url=server.url, api_key=None, headers=HEADERS["anna"])
    try:
        thread = await client.threads.create(metadata={"note": SECRET})
        run = await client.runs.create(thread["thread_id"], "echo", input={"messages": [{"role": "user", "content": SECRET}]})
        await client.runs.join(thread["thread_id"], run["run_id"])
        own = await client.assistants.create("echo", name=SECRET, metadata={"note": SECRET})
    finally:
        await client.aclose()
    ids = {"thread_id": thread["thread_id"], "run_id": run["run_id"], "assistant_id": own["assistant_id"]}
    return {**ids, "threadId": ids["thread_id"]}


@pytest.mark.parametrize("auth", [teams, only_authenticate])
async def test_no_route_tells_one_team_of_another(tmp_path: Path, auth: Any) -> None:
    async with served(tmp_path, auth()) as server:
        await probe(server, HEADERS["anna"], HEADERS["bert"], await fill(server))


async def test_nor_does_any_on_postgres(tmp_path: Path, postgres_url: str) -> None:
    async with served(tmp_path, teams(), persistence=PostgresPersistence(postgres_url)) as server:
        await probe(server, HEADERS["anna"], HEADERS["bert"], await fill(server))


async def test_another_team_finds_nothing_of_a_run_at_work(tmp_path: Path) -> None:
    async with served(tmp_path, teams(), {"agent": background_graphs.parent()}) as server:
        await probe_work(server, HEADERS["anna"], HEADERS["bert"])


async def test_a_team_shares_a_run_at_work(tmp_path: Path) -> None:
    """Somebody else of the team may do with it what its user may."""
    async with served(tmp_path, teams(), {"agent": background_graphs.parent()}) as server:
        await probe_work(server, HEADERS["anna"], HEADERS["bert"])
        (thread,) = (await server.http.post("/threads/search", json={}, headers=HEADERS["amir"])).json()
        place = f"/threads/{thread['thread_id']}"
        tasks = (await server.http.get(f"{place}/background-tasks", headers=HEADERS["amir"])).json()["tasks"]
        assert [task["status"] for task in tasks] == ["cancelled"]
        for path in ("/history", "/state", "/messages", "/turns", "/steps", "/usage", "/subagents", "/runs", "/interrupts"):
            assert (await server.http.get(place + path, headers=HEADERS["amir"])).status_code == 200, path
            assert (await server.http.get(place + path, headers=HEADERS["bert"])).status_code == 404, path
        copied = await server.http.post(f"{place}/copy", headers=HEADERS["amir"])
        assert copied.json()["metadata"]["team"] == "red"
        assert (await server.http.get("/interrupts", headers=HEADERS["bert"])).json()["interrupts"] == []
