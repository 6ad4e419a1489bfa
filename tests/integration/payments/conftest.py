"""A proxy in front of the mint that all tests about money share, which loses answers on request."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.integration.payments.mints import MintProcess
from tests.support.fault_proxy import FaultProxy


@pytest.fixture
async def proxy(mint_process: MintProcess) -> AsyncIterator[FaultProxy]:
    async with FaultProxy("127.0.0.1", mint_process.port) as proxy:
        yield proxy
