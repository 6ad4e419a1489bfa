"""One server process for all tests of clients, over the graphs beside this file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.integration.clients.processes import serving
from tests.integration.clients.providers import answering

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(HERE / "langgraph.json", tmp_path_factory.mktemp("served")) as served:
        yield served.url


@pytest.fixture(scope="session")
def providers() -> Iterator[str]:
    """The address of canned answers in providers' own formats."""
    with answering() as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[LangGraphClient]:
    opened = get_client(url=url, api_key=None)
    yield opened
    await opened.aclose()


@pytest.fixture
async def http(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=60) as opened:
        yield opened
