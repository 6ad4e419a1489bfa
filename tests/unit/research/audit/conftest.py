"""A run's evidence, as small as it can be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.unit.research.audit.trails import Still, fill

from stepwell.research.audit.memory_vault import MemoryVault

Filling = Callable[..., Awaitable[MemoryVault]]


@pytest.fixture
def filled() -> Filling:
    """Makes a vault with the evidence of a run."""

    async def make(pages: int = 3, size: int = 0) -> MemoryVault:
        vault = MemoryVault(Still())
        await fill(vault, pages, size)
        return vault

    return make
