"""How the address of a local server may be written."""

from __future__ import annotations

import pytest

from stepwell.errors import ConfigurationError
from stepwell.models.addresses import server_url


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (None, "http://127.0.0.1:11434"),
        ("", "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("box", "http://box:11434"),
        ("box:8080", "http://box:8080"),
        ("box/", "http://box:11434"),
        ("http://box", "http://box"),
        ("http://0.0.0.0:8080/", "http://127.0.0.1:8080"),
        ("https://box/ollama/", "https://box/ollama"),
        ("https://user:word@box:8080", "https://user:word@box:8080"),
        ("[::]", "http://[::1]:11434"),
        ("[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_address_forms(written: str | None, meant: str):
    """D15: the forms of OLLAMA_HOST."""
    assert server_url(written, default_port=11434, variable="OLLAMA_HOST") == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (None, "http://127.0.0.1:1234/v1"),
        ("box:9", "http://box:9/v1"),
        ("http://box:9/", "http://box:9/v1"),
        ("http://box:9/v1/", "http://box:9/v1"),
        ("http://box:9/api", "http://box:9/api"),
    ],
)
def test_a_missing_path_is_the_default_one(written: str | None, meant: str):
    assert server_url(written, default_port=1234, default_path="/v1", variable="LM_STUDIO_BASE_URL") == meant


@pytest.mark.parametrize("written", ["box:port", "box:99999", "ftp://box", "two words", "http://[::1", "file:///etc/hosts"])
def test_no_address_is_refused_by_the_name_of_its_variable(written: str):
    with pytest.raises(ConfigurationError, match="OLLAMA_HOST is not an address") as caught:
        server_url(written, default_port=11434, variable="OLLAMA_HOST")
    assert written not in str(caught.value)
