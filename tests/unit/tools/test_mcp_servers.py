"""The description of an MCP server is checked before anything is started."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from stepwell.errors import ConfigurationError, MissingExtraError
from stepwell.tools.mcp import load_mcp_tools_sync
from stepwell.tools.mcp_servers import connection_of


@pytest.mark.parametrize(
    ("server", "transport"),
    [
        ({"command": "run"}, "stdio"),
        ({"command": "run", "args": ["a"], "env": {"A": "b"}, "type": "stdio"}, "stdio"),
        ({"url": "http://127.0.0.1:1/mcp"}, "streamable_http"),
        ({"url": "http://127.0.0.1:1/mcp", "type": "http", "headers": {"X": "y"}}, "streamable_http"),
        ({"url": "https://127.0.0.1:1/mcp", "transport": "sse"}, "sse"),
    ],
)
def test_the_transport_follows_from_the_description(server: dict[str, object], transport: str):
    connection = connection_of("s", server)
    assert connection["transport"] == transport
    assert {key: connection[key] for key in server if key not in ("type", "transport")} == {
        key: value for key, value in server.items() if key not in ("type", "transport")
    }


@pytest.mark.parametrize(
    ("server", "fact"),
    [
        ("run", "its description is a str"),
        ({}, "either a 'command' to start or a 'url'"),
        ({"command": "run", "url": "http://127.0.0.1"}, "either a 'command' to start or a 'url'"),
        ({"transport": "pigeon", "url": "http://127.0.0.1"}, "the transport 'pigeon' is unknown"),
        ({"transport": "http", "command": "run"}, "the transport 'http' needs a 'url'"),
        ({"transport": "stdio", "url": "http://127.0.0.1"}, "the transport 'stdio' needs a 'command'"),
        ({"command": "run", "arg": []}, "'arg' is not a setting of the transport 'stdio'"),
        ({"command": "run", "args": "a secret"}, "the value of 'args' does not fit"),
        ({"command": "run", "env": {"A": 1}}, "the value of 'env' does not fit"),
        ({"command": " "}, "the value of 'command' does not fit"),
        ({"url": "file:///a secret"}, "the value of 'url' does not fit"),
    ],
)
def test_a_wrong_description_names_the_server_and_shows_no_value(server: object, fact: str):
    with pytest.raises(ConfigurationError, match=f"The MCP server 'mine' is not described correctly: .*{fact}") as caught:
        load_mcp_tools_sync({"mine": server})
    assert "secret" not in str(caught.value)


def test_no_server_means_no_tools():
    assert load_mcp_tools_sync({}) == []


def test_the_missing_extra_is_named(monkeypatch):
    find = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "langchain_mcp_adapters" else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'stepwell\[mcp\]'"):
        load_mcp_tools_sync({"s": {"command": "run"}})
