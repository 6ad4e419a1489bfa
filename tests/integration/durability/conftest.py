"""A server process over a folder of its own, and the world that its graphs act upon."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.durability.oracle import Oracle
from tests.integration.durability.processes import ForkServer, Server


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    opened = ForkServer(tmp_path_factory.mktemp("forks") / "fork-server.log")
    yield opened
    opened.close()


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[Oracle]:
    with Oracle(tmp_path / "oracle") as opened:
        yield opened


@pytest.fixture
def stopped_server(forks: ForkServer, tmp_path: Path, oracle: Oracle) -> Iterator[Server]:
    """Not started yet; `start`, `kill` and `start` again."""
    server = Server(forks, tmp_path / "data", ORACLE_URL=oracle.url)
    yield server
    server.close()


@pytest.fixture
def server(stopped_server: Server) -> Server:
    stopped_server.start()
    return stopped_server
