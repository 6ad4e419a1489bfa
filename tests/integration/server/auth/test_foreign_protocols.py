"""MCP and OpenAI's clients with keys: another user finds nothing, changes nothing, and nobody gets nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
from tests.integration.server.auth.test_auth_server import ASKING, add_key
from tests.integration.server.conftest import serve

HELLO = {"messages": [{"role": "user", "content": "hello"}]}


def rpc(method: str, message_id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}


async def test_another_user_finds_nothing_over_mcp(tmp_path: Path) -> None:
    keys = [(await add_key(tmp_path, name)).text for name in ("anna", "bert")]
    async with serve(tmp_path, ASKING) as server:
        anna, bert = (
            httpx.AsyncClient(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) for key in keys
        )
        async with anna, bert:
            await anna.post("/assistants", json={"graph_id": "echo", "name": "Annas own"})
            began = await anna.post("/mcp", json=rpc("initialize", capabilities={"elicitation": {}}))
            session = {"Mcp-Session-Id": began.headers["mcp-session-id"]}
            call = rpc("tools/call", 5, name="asks", arguments=HELLO)
            async with anna.stream("POST", "/mcp", json=call, headers=session) as stream:
                place, question = await first_event(stream)
                thread_id = question["id"].split(":")[0]
                reply = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"answer": "mine"}}}
                cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
                for message in (reply, cancel):
                    assert (await bert.post("/mcp", json=message, headers=session)).status_code == 202
                    assert (await server.http.post("/mcp", json=message, headers=session)).status_code == 401
                rest = await bert.get("/mcp", headers={**session, "Last-Event-ID": place})
                assert "was deleted" in rest.text, "as a conversation that there is not"
                assert thread_id not in rest.text
                foreign = rpc("tools/call", name="asks", arguments={"thread_id": thread_id})
                told = (await bert.post("/mcp", json=foreign, headers={"Accept": "application/json"})).json()
                assert told["result"]["isError"]
                names = [tool["name"] for tool in (await bert.post("/mcp", json=rpc("tools/list"))).json()["result"]["tools"]]
                assert "Annas_own" not in names
                assert (await anna.get(f"/threads/{thread_id}")).json()["status"] == "interrupted", "it still waits"
                mine = {**reply, "result": {"action": "accept", "content": {"answer": "blue"}}}
                assert (await anna.post("/mcp", json=mine, headers=session)).status_code == 202
                _, result = await first_event(stream)
            assert result["result"]["structuredContent"]["log"] == ["heard", "told blue", "answered"]


async def test_another_user_finds_nothing_with_openais_client(tmp_path: Path) -> None:
    keys = [(await add_key(tmp_path, name)).text for name in ("anna", "bert")]
    async with serve(tmp_path, ASKING) as server:
        anna, bert = (
            httpx.AsyncClient(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=60) for key in keys
        )
        async with anna, bert:
            body = {"model": "asks", **HELLO}
            asked = (await anna.post("/v1/chat/completions", json=body)).json()
            thread_id = asked["metadata"]["thread_id"]
            question = asked["choices"][0]["message"]["content"]
            assert thread_id in question
            answered = {
                **body,
                "messages": [*HELLO["messages"], {"role": "assistant", "content": question}, *HELLO["messages"]],
            }
            other = (await bert.post("/v1/chat/completions", json=answered)).json()
            assert other["metadata"]["thread_id"] != thread_id, "a conversation of its own, which asks again"
            named = await bert.post("/v1/chat/completions", json=body, headers={"X-Thread-Id": thread_id})
            assert (named.status_code, named.json()["error"]["type"]) == (404, "invalid_request_error")
            assert (await anna.get(f"/threads/{thread_id}")).json()["status"] == "interrupted"
            told = (await anna.post("/v1/chat/completions", json=answered)).json()
            assert told["choices"][0]["message"]["content"] == "You said: hello"
            for nobody in (
                await server.http.post("/v1/chat/completions", json=body),
                await server.http.get("/v1/models"),
                await server.http.get("/v1/models/echo"),
            ):
                error = nobody.json()["error"]
                assert (nobody.status_code, error["type"], error["code"]) == (401, "authentication_error", "invalid_api_key")


async def first_event(stream: httpx.Response) -> tuple[str, dict[str, Any]]:
    """The next event that says something, and its id. Reads no further, so that the stream stays open."""
    name = ""
    lines = stream.extensions.setdefault("lines", stream.aiter_lines())
    async for line in lines:
        if line.startswith("id: "):
            name = line.removeprefix("id: ")
        elif line.startswith("data: ") and (data := line.removeprefix("data: ")):
            return name, json.loads(data)
    raise AssertionError("the stream has ended")
