"""Our own agents use a model as soon as it is connected, each user's with that user's models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.integration.connections.world import ASKING, User, address_of, keys_used, last_said, model_server
from tests.integration.server.conftest import serve

from stepwell.demo.simple import make_graph as make_simple
from stepwell.research.deep.agent import make_graph as make_deep
from stepwell.settings import PROVIDER_VARIABLES
from stepwell.tutor.agent import make_graph as make_tutor
from stepwell.workspace.agent import make_graph as make_workspace

KEY = "sk-of-ada-0123456789"
GRAPHS: dict[str, Any] = {
    "simple_agent": make_simple,
    "workspace": make_workspace,
    "deep_research": make_deep,
    "deeptutor": make_tutor,
}


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STEPWELL_DATA_DIR", str(tmp_path))
    named = ("STEPWELL_MODEL", "STEPWELL_MODEL_PROVIDER", "OLLAMA_MODEL_NAME", "LM_STUDIO_MODEL_NAME", "STEPWELL_LOCAL_MODEL")
    for variable in (*named, *(name for keys, _ in PROVIDER_VARIABLES.values() for name in keys)):
        monkeypatch.delenv(variable, raising=False)


async def ready(user: User) -> dict[str, bool]:
    return {graph["graph_id"]: graph["ready"] for graph in (await user.send("GET", "/api/graphs")).json()}


async def test_agents_that_lacked_a_model_are_ready_for_the_user_who_connects_one(tmp_path: Path):
    async with serve(tmp_path, graphs=GRAPHS, own_graphs=True) as opening:
        keys = {
            name: (await opening.http.post("/api/keys", json={"user": name, "operator": True})).json()["key"]
            for name in ("ada", "ben")
        }
    with model_server() as server:
        async with serve(tmp_path, ASKING, graphs=GRAPHS, own_graphs=True) as running:
            ada, ben = (User(running, {"x-api-key": keys[name]}) for name in ("ada", "ben"))
            before = await ready(ada)
            await ada.connect(address_of(server), KEY)
            after, bens = await ready(ada), await ready(ben)
            said = await ada.run(await ada.thread(), "simple_agent")
            tutored = await ben.run(thread := await ben.thread(), "deeptutor")
            state = await ben.send("GET", f"/threads/{thread}/state")
    lacking = {"simple_agent": True, "workspace": False, "deep_research": False, "deeptutor": True}
    assert (before, bens) == (lacking, lacking)
    assert all(after.values())
    answer = next(message for message in said.json()["messages"] if message["type"] == "ai")
    assert answer["response_metadata"]["stepwell_model"]["label"] == "OpenAI-compatible server"
    assert last_said(tutored.json())["type"] == "ai"  # from the method, without a model
    assert state.status_code == 200
    assert set(keys_used(server)) == {KEY}
