"""Threads with a time to live, and threads that are deleted while they are busy, with LangGraph's own client."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError
from tests.integration.server.conftest import Server, serve

from stepwell.database.upkeep.expiry import ThreadRule


def minutes_until(moment: str) -> float:
    return (datetime.fromisoformat(moment) - datetime.now(UTC)) / timedelta(minutes=1)


async def test_a_thread_shows_when_it_expires(server: Server):
    threads = server.client.threads
    made = await threads.create(ttl=60)
    assert "ttl" not in await threads.get(made["thread_id"])
    shown = (await threads.get(made["thread_id"], include=["ttl"]))["ttl"]
    assert (shown["strategy"], shown["ttl_minutes"]) == ("delete", 60)
    assert minutes_until(shown["expires_at"]) == pytest.approx(60, abs=2)
    await threads.update(made["thread_id"], metadata={}, ttl={"ttl": 90.5, "strategy": "keep_latest"})
    shown = (await threads.get(made["thread_id"], include=["ttl"]))["ttl"]
    assert (shown["strategy"], shown["ttl_minutes"]) == ("keep_latest", 90.5)
    await threads.update(made["thread_id"], metadata={}, ttl={"ttl": None})
    assert "ttl" not in await threads.get(made["thread_id"], include=["ttl"])


@pytest.mark.parametrize("ttl", [0, -1, True, "60", 1e300, [60]])
async def test_a_wrong_time_to_live_is_refused_with_what_would_be_right(server: Server, ttl: object):
    refused = await server.http.post("/threads", json={"ttl": ttl})
    assert refused.status_code == 422
    assert "body.ttl: must be minutes, more than 0 and at most 52704000" in refused.json()["detail"]


@pytest.mark.parametrize("ttl", [0, {"ttl": 0}, {"ttl": 10, "strategy": "archive"}, {"ttl": 1e300}, {"ttl": True}])
async def test_a_wrong_time_to_live_is_refused(server: Server, ttl: object):
    assert (await server.http.post("/threads", json={"ttl": ttl})).status_code == 422
    thread_id = (await server.client.threads.create())["thread_id"]
    assert (await server.http.patch(f"/threads/{thread_id}", json={"ttl": ttl})).status_code == 422


async def test_an_unknown_inclusion_is_refused(server: Server):
    thread_id = (await server.client.threads.create())["thread_id"]
    with pytest.raises(UnprocessableEntityError):
        await server.client.threads.get(thread_id, include=["everything"])


async def test_the_rule_of_the_server_shows_in_threads_without_a_time_of_their_own(tmp_path: Path):
    async with serve(tmp_path, thread_rule=ThreadRule(120.0, "keep_latest")) as server:
        await server.services.persistence.maintenance.rule_since()
        by_rule = await server.client.threads.create()
        own = await server.client.threads.create(ttl=5)
        shown = (await server.client.threads.get(by_rule["thread_id"], include=["ttl"]))["ttl"]
        assert (shown["strategy"], shown["ttl_minutes"]) == ("keep_latest", 120)
        assert (await server.client.threads.get(own["thread_id"], include=["ttl"]))["ttl"]["ttl_minutes"] == 5


async def test_deleting_a_busy_thread_stops_its_runs_first(server: Server):
    thread_id = (await server.client.threads.create())["thread_id"]
    for _ in range(3):
        await server.client.runs.create(thread_id, "ticks", input={"count": 100_000, "seconds": 0.1})
    await server.client.threads.delete(thread_id)
    with pytest.raises(NotFoundError):
        await server.client.threads.get(thread_id)
    assert server.services.engine.driving == 0


async def test_a_thread_held_by_something_else_is_not_deleted(server: Server):
    thread_id = (await server.client.threads.create())["thread_id"]
    async with server.services.persistence.queue.hold(None, thread_id, "test"):
        assert (await server.http.delete(f"/threads/{thread_id}")).status_code == 409
    await server.client.threads.delete(thread_id)
