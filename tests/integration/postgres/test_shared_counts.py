"""Limits hold for all servers of one database together."""

from __future__ import annotations

import asyncio
import json
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.integration.served.process import Server, serve
from tests.integration.served.warm import run_warm
from tests.support.driven_runs import a_run, new_id

from stepwell.database.postgres.persistence import PostgresPersistence
from stepwell.database.queue.types import Admission, Admitted
from stepwell.errors import LimitReachedError
from stepwell.server.login.throttle import CredentialThrottle
from stepwell.workspace.files.shares import Shares

PATIENCE_S = 60


async def until(fact: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await fact():  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.02)


async def test_streams_of_all_servers_are_counted_together_and_given_back(postgres_url: str):
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        taken = [await one.counts.take("anna", 3), await other.counts.take("anna", 3), await other.counts.take("anna", 3)]
        assert all(taken)
        assert await one.counts.take("anna", 3) is None
        assert await other.counts.take("anna", 3) is None
        assert await other.counts.take("bert", 3) is not None
        taken[0]()

        async def there_is_room() -> bool:
            return await other.counts.take("anna", 3) is not None

        await until(there_is_room)


async def test_streams_that_are_opened_at_once_on_two_servers_do_not_pass_the_limit(postgres_url: str):
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        taken = await asyncio.gather(*(server.counts.take("anna", 7) for _ in range(10) for server in (one, other)))
        assert sum(give_back is not None for give_back in taken) == 7


async def test_what_happens_in_a_while_is_counted_together(postgres_url: str):
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        assert (await one.counts.count("wrong keys", 3600)).number == 1
        second = await other.counts.count("wrong keys", 3600, 4)
        assert second.number == 5
        assert 0 < second.left_s <= 3600
        assert (await one.counts.count("short", 0.01)).number == 1
        await asyncio.sleep(0.02)  # the while is over
        assert (await other.counts.count("short", 60)).number == 1


def post(url: str, key: str, body: object) -> tuple[int, dict]:
    headers = {"content-type": "application/json", "x-api-key": key}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, json.dumps(body).encode(), headers), timeout=PATIENCE_S
        ) as told:
            return told.status, json.load(told)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def open_stream(server: Server, thread: str, key: str):
    request = urllib.request.Request(f"{server.url}/threads/{thread}/stream", headers={"x-api-key": key})
    return urllib.request.urlopen(request, timeout=PATIENCE_S)


@pytest.mark.parametrize("limit", [{"max_active": 5}, {"max_of_tenant": 5, "tenant": "acme"}])
async def test_runs_that_are_asked_for_at_once_on_two_servers_do_not_pass_the_limit(postgres_url: str, limit: dict[str, Any]):
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        asked = [
            server.queue.admit(Admission(a_run(new_id()), create_thread=True, **limit))
            for _ in range(8)
            for server in (one, other)
        ]
        told = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(answer, Admitted) for answer in told) == 5
        assert sum(isinstance(answer, LimitReachedError) for answer in told) == 11


async def test_wrong_keys_are_counted_on_all_servers(postgres_url: str):
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        doors = [CredentialThrottle(server.clock, server.counts, limit=3) for server in (one, other)]
        for door in (*doors, doors[0]):
            door.check("192.0.2.7")
            await door.count("192.0.2.7")
        with pytest.raises(LimitReachedError):
            doors[0].check("192.0.2.7")
        doors[1].check("192.0.2.7")  # it has not heard of the others yet, and lets one more try
        with pytest.raises(LimitReachedError):
            await doors[1].count("192.0.2.7")
        with pytest.raises(LimitReachedError):
            doors[1].check("192.0.2.7")
        doors[1].check("192.0.2.8")


async def test_a_tenants_requests_are_counted_on_all_servers(postgres_url: str):
    async with PostgresPersistence(postgres_url) as one, PostgresPersistence(postgres_url) as other:
        shares = [Shares(server.clock, None, 200, lambda server=server: server.counts) for server in (one, other)]
        answered = 0
        for number in range(230):
            with suppress(LimitReachedError):
                await shares[number % 2].count_operation("acme")
                answered += 1
        assert answered == 200


def test_limits_hold_over_two_server_processes_and_one_that_falls_silent_gives_its_streams_back(
    postgres_url: str, tmp_path: Path
):
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    environment = {"DATABASE_URL": postgres_url, "STEPWELL_DATA_DIR": str(tmp_path), "HOME": str(tmp_path)}
    made = run_warm(["keys", "create", "--user", "anna"], tmp_path, environment)
    key = next(word for word in made.stdout.split() if word.startswith("sw_"))
    limits = {"STEPWELL_AUTH": "required", "STEPWELL_MAX_STREAMS": "2", "STEPWELL_MAX_ACTIVE_RUNS": "3"}
    only = ("--database-url", postgres_url, "--concurrency", "0")
    with ExitStack() as stack:
        one, other = (stack.enter_context(serve(folder, *only, **limits)) for folder in folders)
        thread = post(f"{one.url}/threads", key, {})[1]["thread_id"]
        streams = [stack.enter_context(open_stream(server, thread, key)) for server in (one, other)]
        for server in (one, other):
            with pytest.raises(urllib.error.HTTPError) as refused:
                open_stream(server, thread, key)
            assert refused.value.code == 429
            assert "2 streams open" in refused.value.read().decode()

        # Runs that wait: nobody drives them here.
        order = {"assistant_id": "echo", "input": {"messages": "hi"}, "multitask_strategy": "enqueue"}
        codes = [post(f"{server.url}/threads/{thread}/runs", key, order)[0] for server in (one, other, one, other, one)]
        assert codes == [200, 200, 200, 429, 429]

        # A server that is not heard of, killed or stopped, counts for nothing once its lease is over; when it wakes up, it counts again.
        one.signal(signal.SIGSTOP)
        wait_until(lambda: opens(other, thread, key))
        one.signal(signal.SIGCONT)
        wait_until(lambda: not opens(other, thread, key))
        streams[0].close()
        wait_until(lambda: opens(other, thread, key))


def opens(server: Server, thread: str, key: str) -> bool:
    """Whether there is room for one more stream; it is closed at once."""
    try:
        open_stream(server, thread, key).close()
    except urllib.error.HTTPError as refusal:
        if refusal.code != 429:
            raise
        return False
    return True


def wait_until(fact: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < give_up_at
        time.sleep(0.1)
