"""Messages to a run, side questions, rewinds, subagents and background tasks: another user finds none of them."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any

import httpx
from tests.integration.runs import background_graphs
from tests.integration.server.auth.test_auth_server import ASKING, add_key
from tests.integration.server.conftest import Server, serve


async def test_another_user_finds_nothing_of_a_run_at_work(tmp_path: Path) -> None:
    keys = [(await add_key(tmp_path, name)).text for name in ("anna", "bert")]
    async with serve(tmp_path, ASKING, graphs={"agent": background_graphs.parent()}) as server:
        await probe_work(server, *({"x-api-key": key} for key in keys))


async def probe_work(server: Server, anna_headers: dict[str, str], bert_headers: dict[str, str]) -> None:
    """Start a run at work as Anna, and try everything about it as Bert and as nobody."""
    background_graphs.RELEASED.clear()
    anna, bert = (httpx.AsyncClient(base_url=server.url, headers=each, timeout=60) for each in (anna_headers, bert_headers))
    async with anna, bert:
        thread_id = str(uuid.uuid4())
        given = {"messages": [{"role": "user", "content": "start wait never"}]}
        body = {"assistant_id": "agent", "if_not_exists": "create", "input": given}
        await anna.post(f"/threads/{thread_id}/runs/wait", json=body)
        task = await _running(anna, thread_id)
        place, own = f"/threads/{thread_id}", f"/threads/{task['thread_id']}"
        message = {"message": {"id": "m1", "content": "more"}}
        sent = await anna.post(f"{own}/runs/{task['run_id']}/messages", json=message)
        assert sent.status_code == 202, sent.text
        asked: list[tuple[str, str, Any]] = [
            ("POST", f"{own}/runs/{task['run_id']}/messages", message),
            ("GET", f"{own}/waiting-messages", None),
            ("DELETE", f"{own}/waiting-messages/m1", None),
            ("POST", f"{place}/side-question", {"question": "what?"}),
            ("POST", f"{place}/rewind", {"turn_id": "x", "dry_run": True}),
            ("GET", f"{place}/subagents", None),
            ("GET", f"{place}/subagents/x/messages", None),
            ("GET", f"{place}/background-tasks", None),
            ("GET", f"{place}/background-tasks/{task['task_id']}", None),
            ("POST", f"{place}/background-tasks/{task['task_id']}/cancel", None),
        ]
        for method, path, sending in asked:
            foreign = await bert.request(method, path, json=sending)
            assert foreign.status_code == 404, (method, path, foreign.text)
            nobody = await server.http.request(method, path, json=sending)
            assert nobody.status_code == 401, (method, path)
        waiting = (await anna.get(f"{own}/waiting-messages")).json()["messages"]
        assert [each["message_id"] for each in waiting] == ["m1"]
        assert (await _running(anna, thread_id))["task_id"] == task["task_id"], "nobody else has stopped it"
        assert (await anna.delete(f"{own}/waiting-messages/m1")).status_code == 204
        stopped = await anna.post(f"{place}/background-tasks/{task['task_id']}/cancel")
        assert stopped.json()["status"] == "cancelled"


async def _running(client: httpx.AsyncClient, thread_id: str) -> Any:
    async with asyncio.timeout(60):
        while True:
            (task,) = (await client.get(f"/threads/{thread_id}/background-tasks")).json()["tasks"]
            if task["status"] == "running":
                return task
            await asyncio.sleep(0.02)
