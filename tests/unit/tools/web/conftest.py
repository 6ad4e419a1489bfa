"""A clock that tests turn by hand; sleeping on it moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest


class HandClock:
    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.moment

    def pass_s(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_s(seconds)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()
