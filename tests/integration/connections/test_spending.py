"""What calls cost, also those that are cancelled or tested, and that a limit holds for calls that begin at once."""

from __future__ import annotations

import asyncio
import base64
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.integration.connections.world import User, address_of, answer, chosen, model_server, one_user
from tests.support.loopback import Asked, Reply

from stepwell.database.postgres.persistence import PostgresPersistence

KEY = "sk-test-0123456789-wXyZ"
PRICED = "gpt-4o"
USD_A_CALL = 0.35
CHEAPEST = 0.04
"""The estimate for a short question: an answer of 4,000 tokens."""


def expensive(asked: Asked) -> Reply:
    reply = answer(asked)
    if asked.method == "POST" and not asked.body.get("stream"):
        reply.body["usage"] = {"prompt_tokens": 100_000, "completion_tokens": 10_000, "total_tokens": 110_000}
    return reply


async def connect(user: User, address: str, model: str = PRICED, **limits: float) -> dict[str, Any]:
    made = await user.connect(address, KEY, provider="openai", models=[model])
    changed = await user.send("PATCH", f"/api/connections/{made['id']}", json={"limits": limits})
    assert changed.status_code == 200, changed.text
    return dict(changed.json())


async def spent(user: User) -> tuple[float, int]:
    rows = (await user.send("GET", "/api/connections/spend")).json()
    return sum(row["usd"] or 0.0 for row in rows), sum(row["calls"] for row in rows)


def calls(server: Any) -> int:
    return sum(asked.method == "POST" for asked in server.asked)


async def test_a_call_counts_what_it_reports(tmp_path: Path):
    with model_server(expensive) as server:
        async with one_user(tmp_path) as user:
            await connect(user, address_of(server))
            await user.run(await user.thread())
            counted = await spent(user)
    assert counted == (USD_A_CALL, 1)


@pytest.mark.parametrize("where", ["sqlite", "postgres"])
async def test_calls_that_begin_at_once_count_for_each_other(tmp_path: Path, where: str, request: pytest.FixtureRequest):
    options: dict[str, Any] = {}
    if where == "postgres":
        key = base64.b64encode(os.urandom(32)).decode()
        options = {
            "persistence": PostgresPersistence(request.getfixturevalue("postgres_url")),
            "environment": {"STEPWELL_SECRETS_KEY": key},
        }
    three = threading.Barrier(3)

    def answer_together(asked: Asked) -> Reply:
        three.wait(timeout=20)
        return expensive(asked)

    with model_server(answer_together) as server:
        async with one_user(tmp_path, **options) as user:
            made = await connect(user, address_of(server), per_user_day_usd=3 * CHEAPEST)
            threads = [await user.thread() for _ in range(10)]
            answers = await asyncio.gather(*(user.run(thread) for thread in threads))
            counted = await spent(user)
            await user.send("PATCH", f"/api/connections/{made['id']}", json={"limits": {"per_user_day_usd": 2.0}})
            again = await asyncio.gather(*(user.run(thread) for thread in threads))
    refused = [each for each in answers if "is reached" in each.text]
    assert len(refused) == 7
    assert "Nothing was sent" in refused[0].text
    assert counted == (pytest.approx(3 * USD_A_CALL), 3)
    # What earlier calls have cost is now known: 1.05, 1.40, 1.75 and no more.
    assert sum("is reached" in each.text for each in again) == 7
    assert calls(server) == 6


@pytest.mark.parametrize("mode", ["values", "messages-tuple"])
async def test_a_cancelled_call_counts_what_was_sent(tmp_path: Path, mode: str):
    came = threading.Event()

    def hang(asked: Asked) -> Reply:
        came.set()
        return Reply(never=True)

    with model_server(hang) as server:
        async with one_user(tmp_path) as user:
            await connect(user, address_of(server))
            thread = await user.thread()
            body = {"assistant_id": "talk", "input": {"messages": [{"role": "user", "content": "hi " * 20_000}]}}
            run = (await user.send("POST", f"/threads/{thread}/runs", json={**body, "stream_mode": [mode]})).json()["run_id"]
            await asyncio.to_thread(came.wait, 10)
            under_way = await spent(user)
            await user.send("POST", f"/threads/{thread}/runs/{run}/cancel?wait=true", json={})
            cancelled = await spent(user)
        server.closing.set()
    assert under_way == (pytest.approx(0.0375 + CHEAPEST, rel=0.01), 1)
    assert cancelled == (pytest.approx(0.0375, rel=0.01), 1)


async def test_a_refused_call_costs_nothing(tmp_path: Path):
    with model_server(lambda asked: Reply(401, {"error": {"message": "no"}})) as server:
        async with one_user(tmp_path) as user:
            await connect(user, address_of(server))
            await user.run(await user.thread())
            counted = await spent(user)
    assert counted == (0.0, 1)


async def test_a_test_is_counted_and_limited(tmp_path: Path):
    with model_server(expensive) as server:
        async with one_user(tmp_path) as user:
            made = await connect(user, address_of(server))
            first = await user.send("POST", "/api/connections/test", json=chosen(made, PRICED))
            counted = await spent(user)
            await user.send("PATCH", f"/api/connections/{made['id']}", json={"limits": {"month_usd": 0}})
            asked = calls(server)
            second = (await user.send("POST", "/api/connections/test", json=chosen(made, PRICED))).json()
    assert first.json()["ok"], first.text
    assert counted[0] > 0
    assert counted[1] == 1
    assert not second["ok"]
    assert "is reached" in second["problem"]["sentence"]
    assert calls(server) == asked
