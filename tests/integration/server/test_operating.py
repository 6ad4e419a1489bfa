"""What the page shows of graphs, health and usage."""

from __future__ import annotations

import pytest
from tests.integration.server.conftest import Server

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_graphs_say_whether_they_can_be_run(shared_server: Server):
    told = (await shared_server.http.get("/api/graphs")).json()
    assert {"graph_id": "echo", "ready": True, "problem": None, "run_modes": [], "can_rewind": False} in told


async def test_only_models_of_the_catalogue_can_be_loaded(shared_server: Server):
    answer = await shared_server.http.post("/api/model/load", params={"model": "local:/etc/passwd"})
    assert answer.status_code == 404
    assert "smollm2-135m" in answer.json()["detail"]


async def test_the_operator_sees_what_goes_on(shared_server: Server):
    health = (await shared_server.http.get("/api/health")).json()
    assert health["ok"] is True
    assert health["problems"] == []
    assert {"driving runs", "cancelling runs"} <= {duty["name"] for duty in health["duties"]}
    assert health["database"]["bytes"] > 0
    assert health["runs"]["running"] == 0


@pytest.mark.parametrize("path", ["/api/usage", "/api/usage/all"])
async def test_usage_is_asked_for_by_day_since_a_day(shared_server: Server, path: str):
    answer = await shared_server.http.get(path, params={"group_by": "day", "since": "2026-01-01"})
    wrong = await shared_server.http.get(path, params={"since": "yesterday"})
    assert (answer.status_code, wrong.status_code) == (200, 422)
