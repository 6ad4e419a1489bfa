"""A user's usage and data, over HTTP."""

from __future__ import annotations

import orjson
from tests.integration.server.conftest import Server

HI = {"messages": [{"role": "user", "content": "hi"}]}


async def test_usage_is_answered_for_oneself_and_for_operators(server: Server) -> None:
    await server.client.runs.wait(None, "echo", input=HI)
    for address in ("/api/usage", "/api/usage?group_by=day", "/api/usage/all?group_by=owner"):
        response = await server.http.get(address)
        assert response.status_code == 200, response.text
        assert isinstance(response.json(), list)
    assert (await server.http.get("/api/usage?group_by=moon")).status_code == 422


async def test_an_export_holds_the_threads_of_the_caller(server: Server) -> None:
    thread = await server.client.threads.create(metadata={"mine": True})
    await server.client.runs.wait(thread["thread_id"], "echo", input=HI)
    response = await server.http.get("/api/export")
    lines = [orjson.loads(line) for line in response.content.splitlines()]
    assert thread["thread_id"] in response.text
    assert "You said: hi" in response.text
    assert len(lines) >= 2
