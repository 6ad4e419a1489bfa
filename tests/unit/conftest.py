"""Unit tests open no socket. Unix sockets stay allowed: an event loop makes a pair of them for itself."""

from __future__ import annotations

import pytest
from pytest_socket import disable_socket


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup() -> None:
    # pytest-socket lifts the ban again when the test is torn down.
    disable_socket(allow_unix_socket=True)
