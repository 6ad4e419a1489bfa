"""Limits on what a connection may cost: counted per user and day, kept by every call of a run, also of subagents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.integration.served.process import serve
from tests.support.providers import Call, FakeProvider, Reply
from tests.support.providers.openai import OPENAI
from tests.support.providers.server import KEY

PER_CALL_USD = (1_200 * 2.0 + 34 * 8.0) / 1_000_000
"""gpt-4.1 at the tokens that the fake reports."""


class Product:
    def __init__(self, client: httpx.Client, provider: FakeProvider) -> None:
        self.client, self.provider = client, provider

    def connect(self, model: str = "gpt-4.1", **limits: float) -> str:
        body = {"provider": "openai", "label": "Ours", "key": KEY, "base_url": f"{self.provider.url}/v1", "models": [model]}
        stored = self.client.post("/api/connections", json=body)
        assert stored.status_code == 201, stored.text
        connection = str(stored.json()["id"])
        changed = self.client.patch(f"/api/connections/{connection}", json={"limits": limits})
        assert changed.status_code == 200, changed.text
        chosen = {"scope": "mine", "default": {"connection": connection, "model": model}}
        assert self.client.put("/api/connections/choice", json=chosen).is_success
        return connection

    def ask(self) -> dict[str, Any]:
        order = {"assistant_id": "simple_agent", "input": {"messages": [{"role": "user", "content": "Hello?"}]}}
        thread = self.client.post("/threads", json={}).json()["thread_id"]
        self.client.post(f"/threads/{thread}/runs/wait", json=order)
        return dict(self.client.get(f"/threads/{thread}").raise_for_status().json())

    def spent(self, connection: str) -> dict[str, Any]:
        listed = self.client.get("/api/connections").raise_for_status().json()["connections"]
        return dict(next(each for each in listed if each["id"] == connection)["spent"])


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Product]:
    with (
        FakeProvider(OPENAI) as provider,
        serve(tmp_path, graphs=None, NO_PROXY="127.0.0.1") as server,
        httpx.Client(base_url=server.url, timeout=120) as client,
    ):
        yield Product(client, provider)


def test_calls_are_counted_and_a_limit_is_kept(product: Product) -> None:
    connection = product.connect(per_user_day_usd=2.5 * PER_CALL_USD)
    for _ in range(3):  # the third begins below the limit
        assert product.ask()["status"] == "idle"
    spent = product.spent(connection)
    assert spent["calls_month"] == 3
    assert spent["today_usd"] == pytest.approx(3 * PER_CALL_USD, abs=3e-6)
    product.provider.plan()
    refused = product.ask()
    assert refused["status"] == "error"
    assert (
        "Your limit on 'Ours' is reached: $0.01 of $0.01 today, with the calls under way. Nothing was sent."
        in refused["error"]["message"]
    )
    assert product.provider.requests == []
    [row] = product.client.get("/api/connections/spend").raise_for_status().json()
    assert (row["label"], row["calls"], row["input_tokens"]) == ("Ours", 3, 3_600)


def test_a_subagent_cannot_pass_the_limit(product: Product) -> None:
    product.connect(month_usd=1.5 * PER_CALL_USD)
    delegate = Call("task", {"description": "Say hello.", "subagent_type": "general-purpose"})
    product.provider.plan(Reply(calls=[delegate]), Reply("Hello from the subagent."), Reply("Never asked."))
    thread = product.ask()
    assert len(product.provider.requests) == 2, "the call after the limit was not sent"
    assert thread["status"] == "error"
    assert "The limit for everyone on 'Ours' is reached" in thread["error"]["message"]


def test_a_model_without_a_price_cannot_be_limited(product: Product) -> None:
    product.connect(model="a-model-of-nobody", per_user_month_usd=1.0)
    thread = product.ask()
    assert "the price of a-model-of-nobody is not known, so the limit could not be kept" in thread["error"]["message"]
    assert product.provider.requests == []
