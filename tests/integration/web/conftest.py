"""One offline world for each test: its counts are the test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.trap_pages import trap_pages

from stepwell.demo.web import OfflineWorld


@pytest.fixture
def world() -> Iterator[OfflineWorld]:
    with OfflineWorld(extra=trap_pages, idle_timeout_s=10.0) as made:
        yield made
