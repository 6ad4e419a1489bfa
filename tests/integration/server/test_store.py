"""The store over HTTP, where a request says more than the SDK's usual calls."""

from __future__ import annotations

import asyncio

import pytest
from tests.integration.server.conftest import Server

pytestmark = pytest.mark.asyncio(loop_scope="module")
SOON = 0.01
"""Minutes."""


@pytest.mark.parametrize("way", ["get", "search"])
async def test_reading_does_not_keep_an_item_alive_when_it_is_told_not_to(shared_server: Server, way: str) -> None:
    store, space = shared_server.client.store, ["fading", way]
    await store.put_item(space, "k", {"v": 1}, ttl=SOON)
    async with asyncio.timeout(60):
        while True:
            if way == "get":
                found = await store.get_item(space, "k", refresh_ttl=False)
            else:
                found = (await store.search_items(space, refresh_ttl=False))["items"]
            if not found:
                break
            await asyncio.sleep(0.02)
