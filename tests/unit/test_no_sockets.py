"""The ban on sockets in unit tests is in force; without this test it could be lost unseen."""

from __future__ import annotations

import asyncio
import socket

import pytest
from pytest_socket import SocketBlockedError


# pytest-socket also warns when it refuses, and here the refusal is the point.
@pytest.mark.filterwarnings("ignore:A test tried to use socket:UserWarning")
def test_a_unit_test_cannot_open_a_socket():
    with pytest.raises(SocketBlockedError):
        socket.socket(socket.AF_INET, socket.SOCK_STREAM)


async def test_an_event_loop_still_runs():
    assert await asyncio.to_thread(lambda: 1) == 1
