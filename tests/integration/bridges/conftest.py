"""One server process for the clients of other protocols, over the graphs beside this file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.served.process import Server, serve

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("bridges"), graphs=HERE / "langgraph.json") as server:
        yield server
