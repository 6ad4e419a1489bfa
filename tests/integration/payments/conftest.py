"""One real mint for all tests about money, with a proxy in front that loses answers on request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.integration.payments.mints import MintProcess, run_mint

from stepwell.testing.fault_proxy import FaultProxy


@pytest.fixture(scope="session")
def mint_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MintProcess]:
    with run_mint(tmp_path_factory.mktemp("mint")) as process:
        yield process


@pytest.fixture
async def proxy(mint_process: MintProcess) -> AsyncIterator[FaultProxy]:
    async with FaultProxy("127.0.0.1", mint_process.port) as proxy:
        yield proxy
