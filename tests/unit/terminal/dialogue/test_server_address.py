"""Which addresses of a server the command line takes, before it asks anybody."""

from __future__ import annotations

import pytest

from stepwell.errors import ConfigurationError
from stepwell.terminal.dialogue.remote_session import check_address


@pytest.mark.parametrize("url", ["http://127.0.0.1:8123/", "https://agents.example", "http://[::1]:8123"])
def test_an_address_is_taken_without_its_last_slash(url: str) -> None:
    assert check_address(url) == url.rstrip("/")


@pytest.mark.parametrize("url", ["127.0.0.1:8123", "ftp://agents.example", "http://", "http://agents.example:port"])
def test_what_cannot_be_a_server_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is not the address of a server. Write it like http://127\.0\.0\.1:8123"):
        check_address(url)
