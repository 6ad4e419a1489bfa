"""Threads for nodes that are plain functions: none waits for another, none ends the process, nobody waits for one."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator

import pytest

from stepwell.runs.graphs.node_threads import NodeThreads


@pytest.fixture
def never() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def test_functions_that_do_not_return_hold_nobody_up(never: threading.Event) -> None:
    threads = NodeThreads()
    asyncio.get_running_loop().set_default_executor(threads)
    stuck = [threads.submit(never.wait) for _ in range(60)]
    assert await asyncio.to_thread(lambda: "next") == "next"
    assert not any(one.done() for one in stuck)
    threads.shutdown(wait=True)  # comes back


def test_there_are_no_more_threads_than_allowed_and_nothing_is_forgotten(never: threading.Event) -> None:
    threads = NodeThreads(most=2)
    stuck = threads.submit(never.wait)
    here = [threads.submit(threading.get_ident) for _ in range(50)]
    assert len({one.result(timeout=60) for one in here}) == 1
    assert not stuck.done()


def test_a_thread_is_used_again_and_ends_when_it_has_nothing_to_do() -> None:
    others = set(threading.enumerate())
    threads = NodeThreads(idle_s=0.01)
    for number in range(20):
        assert threads.submit(lambda number=number: number).result(timeout=60) == number
    for thread in set(threading.enumerate()) - others:
        thread.join(timeout=60)
        assert not thread.is_alive()
    assert threads.submit(lambda: "again").result(timeout=60) == "again"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
async def test_a_function_that_wants_to_end_the_process_has_failed(error: BaseException) -> None:
    asyncio.get_running_loop().set_default_executor(NodeThreads())

    def leave() -> None:
        raise error

    with pytest.raises(RuntimeError, match=f"A step raised {type(error).__name__}.*cannot end the server"):
        await asyncio.to_thread(leave)


async def test_other_errors_pass_as_they_are_and_a_job_nobody_wants_is_not_done(never: threading.Event) -> None:
    threads = NodeThreads(most=1)
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 / 0).result(timeout=60)
    threads.submit(never.wait)
    unwanted = threads.submit(sys.exit)
    assert unwanted.cancel()
    never.set()
    assert threads.submit(lambda: "done").result(timeout=60) == "done"
