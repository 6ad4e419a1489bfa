"""A lock for threads and tasks alike."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from stepwell.backends.locks import LockTable, SharedLock


def test_threads_and_tasks_exclude_one_another() -> None:
    lock = SharedLock()
    inside = 0
    worst = 0

    def enter() -> None:
        nonlocal inside, worst
        inside += 1
        worst = max(worst, inside)

    def in_thread() -> None:
        nonlocal inside
        lock.acquire()
        enter()
        inside -= 1
        lock.release()

    async def in_task() -> None:
        nonlocal inside
        await lock.aacquire()
        enter()
        await asyncio.sleep(0)
        inside -= 1
        lock.release()

    async def crowd() -> None:
        with ThreadPoolExecutor(4) as pool:
            threads = [asyncio.get_running_loop().run_in_executor(pool, in_thread) for _ in range(100)]
            await asyncio.gather(*threads, *(in_task() for _ in range(100)))

    asyncio.run(crowd())
    assert worst == 1


async def test_waiters_are_served_in_order() -> None:
    lock = SharedLock()
    lock.acquire()
    order: list[int] = []

    async def wait(number: int) -> None:
        await lock.aacquire()
        order.append(number)
        lock.release()

    tasks = [asyncio.create_task(wait(number)) for number in range(5)]
    await asyncio.sleep(0)
    lock.release()
    await asyncio.gather(*tasks)
    assert order == [0, 1, 2, 3, 4]


async def test_a_cancelled_waiter_is_passed_over() -> None:
    lock = SharedLock()
    lock.acquire()
    gone, stays = asyncio.create_task(lock.aacquire()), asyncio.create_task(lock.aacquire())
    await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    lock.release()
    await asyncio.wait_for(stays, 60)


async def test_a_waiter_cancelled_after_its_turn_came_passes_the_lock_on() -> None:
    lock = SharedLock()
    lock.acquire()
    served, after = asyncio.create_task(lock.aacquire()), asyncio.create_task(lock.aacquire())
    await asyncio.sleep(0)
    lock.release()  # the turn is given, but the task has not run yet
    served.cancel()
    with pytest.raises(asyncio.CancelledError):
        await served
    await asyncio.wait_for(after, 60)


def test_a_thread_waits_for_a_release_elsewhere() -> None:
    lock = SharedLock()
    lock.acquire()
    entered = threading.Event()
    thread = threading.Thread(target=lambda: (lock.acquire(), entered.set()))
    thread.start()
    assert not entered.is_set()
    lock.release()
    assert entered.wait(60)
    thread.join()


async def test_waiting_comes_to_an_end() -> None:
    lock = SharedLock()
    lock.acquire()
    with pytest.raises(TimeoutError):
        lock.acquire(timeout_s=0.01)
    with pytest.raises(TimeoutError):
        await lock.aacquire(timeout_s=0.01)
    lock.release()
    lock.acquire(timeout_s=0.01)  # those who gave up are passed over


def test_a_key_always_leads_to_the_same_lock() -> None:
    table = LockTable(4)
    assert table.at("a") is table.at("a")
    assert len({id(table.at(number)) for number in range(100)}) == 4
