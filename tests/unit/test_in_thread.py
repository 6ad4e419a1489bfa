"""Functions of users in a thread, for async code."""

from __future__ import annotations

import asyncio
import threading

import pytest

from stepwell.in_thread import in_thread


async def test_the_result_comes_from_another_thread():
    thread, more = await in_thread(lambda more: (threading.get_ident(), more), more=1)
    assert (thread != threading.get_ident(), more) == (True, 1)


@pytest.mark.parametrize("said", ["", "nothing there"])
async def test_a_stop_iteration_is_raised_as_another_error(said):
    def search():
        raise StopIteration(*filter(None, [said]))

    with pytest.raises(RuntimeError, match=f"StopIteration.*{said}"):
        await asyncio.wait_for(in_thread(search), 60)
