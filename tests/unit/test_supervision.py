"""What has to go on for ever goes on after any failure, and says that it is failing."""

from __future__ import annotations

import asyncio
import logging

import pytest

from stepwell.clock import SystemClock
from stepwell.database.webhooks import Webhook, WebhookState
from stepwell.errors import StorageUnavailableError
from stepwell.runs.upkeep.housekeeping import Housekeeping
from stepwell.runs.webhooks.rules import WebhookRules
from stepwell.runs.webhooks.sender import WebhookSender
from stepwell.supervision import LONGEST_S, Duty, Supervisor, stop


async def until(supervisor: Supervisor, *failing: str) -> None:
    async with asyncio.timeout(60):
        while {duty.name for duty in supervisor.failing(vital=False)} != set(failing):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.001)


async def test_a_loop_that_raises_is_entered_again_and_says_so_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    supervisor = Supervisor(shortest_s=0.001)
    mended = asyncio.Event()

    async def loop(duty: Duty) -> None:
        if not mended.is_set():
            raise ValueError("a row that cannot be read")
        duty.succeeded()
        await asyncio.Event().wait()

    task = supervisor.start("driving", loop, vital=True)
    await until(supervisor, "driving")
    (duty,) = supervisor.failing(vital=True)
    assert duty.failing == "ValueError: a row that cannot be read"
    mended.set()
    await until(supervisor)
    assert duty.failures >= 1
    assert not task.done()
    assert "a row that cannot be read" in caplog.text
    await stop([task])


async def test_a_loop_that_returns_has_ended() -> None:
    async def loop(duty: Duty) -> None:
        duty.succeeded()

    await asyncio.wait_for(Supervisor().start("once", loop), 60)


def test_pauses_grow_up_to_a_bound_and_begin_anew_after_a_success() -> None:
    duty = Duty("driving")
    pauses = [duty.failed(ValueError("x")) for _ in range(2000)]
    assert pauses[:4] == [1, 2, 4, 8]
    assert max(pauses) == pauses[-1] == LONGEST_S
    duty.succeeded()
    assert duty.failed(ValueError("x")) == 1


def test_a_database_that_cannot_be_written_is_tried_every_second_and_needs_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    duty = Duty("driving")
    assert [duty.failed(StorageUnavailableError("full")) for _ in range(5)] == [1] * 5
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert not any(record.exc_info for record in caplog.records)


class Outbox:
    """One that fails at first, as it does with a message that cannot be read."""

    def __init__(self) -> None:
        self.broken = True
        self.asked = 0

    async def claim(self, now: float, hold_s: float, most: int) -> list[Webhook]:
        self.asked += 1
        if self.broken:
            raise TypeError("string argument without an encoding")
        return []

    async def settle(self, run_id: str, state: WebhookState, due_at: float | None = None) -> None:
        raise AssertionError("there is nothing to settle")


async def test_webhooks_go_on_after_an_unexpected_error() -> None:
    supervisor, outbox = Supervisor(shortest_s=0.001), Outbox()
    async with WebhookSender(outbox, SystemClock(), WebhookRules(), poll_s=0.001, supervisor=supervisor):
        await until(supervisor, "webhooks")
        outbox.broken = False
        await until(supervisor)
    assert outbox.asked > 1


async def test_housekeeping_goes_on_after_an_unexpected_error() -> None:
    supervisor, tries = Supervisor(shortest_s=0.001), 0

    class Broken:
        def leads(self) -> bool:
            return True

        async def sweep(self) -> int:
            nonlocal tries
            tries += 1
            if tries < 3:
                raise KeyError("a row that cannot be read")
            return 0

    async with Housekeeping(Broken(), supervisor=supervisor):  # type: ignore[arg-type]  # only these are asked for
        await until(supervisor, "sweeping")
        await until(supervisor)
    assert tries == 3


async def test_only_who_leads_keeps_house() -> None:
    swept, asked = asyncio.Event(), 0

    class Second:
        def leads(self) -> bool:
            nonlocal asked
            asked += 1
            return asked > 2

        async def sweep(self) -> int:
            swept.set()
            return 0

    async with Housekeeping(Second(), sweep_s=0.001):  # type: ignore[arg-type]  # only these are asked for
        await asyncio.wait_for(swept.wait(), 60)
    assert asked > 2
