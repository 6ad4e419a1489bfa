"""A caller's key outlives the process that took it."""

from __future__ import annotations

import uuid

import httpx
from tests.integration.durability.processes import Server


def test_a_request_that_is_repeated_after_a_kill_starts_nothing(server: Server) -> None:
    thread_id, headers = str(uuid.uuid4()), {"Idempotency-Key": str(uuid.uuid4())}
    body = {"assistant_id": "holding", "input": {"messages": []}, "if_not_exists": "create"}
    path = f"{server.url}/threads/{thread_id}/runs"
    first = httpx.post(path, json=body, headers=headers, timeout=60).raise_for_status().json()
    server.kill()
    server.start()
    again = httpx.post(path, json=body, headers=headers, timeout=60).raise_for_status().json()
    assert again["run_id"] == first["run_id"]
    assert len(httpx.get(path, timeout=60).json()) == 1
