"""A small MCP server for the tests, run as a process: `python mcp_server.py stdio`, or `http PORT`.

It says nothing but the protocol on its standard output. `remember` and `recall` show whether a session lives on.
"""

from __future__ import annotations

import os
import sys
import time

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

server = FastMCP("stepwell-test", log_level="CRITICAL")
memory: list[str] = []


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def search(query: str) -> str:
    """What a small library knows."""
    if "nothing" in query:
        return ""
    known = f"The library on {query}:\u200b\nThe Harbour bridge was painted green in 1934. It needs 40 tonnes of paint."
    return known + " More." * (60_000 if "long" in query else 0)


@server.tool()
def fail(reason: str) -> str:
    """Fail, for a reason."""
    raise ValueError(reason)


@server.tool()
def slow(seconds: float) -> str:
    """Answer late."""
    time.sleep(seconds)
    return "late"


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def erase(name: str) -> str:
    """Erase something for good."""
    return f"erased {name}"


@server.tool(annotations=ToolAnnotations(destructiveHint=False, idempotentHint=False))
def append(line: str) -> str:
    """Add a line; twice adds two."""
    return f"appended {line}"


@server.tool()
def remember(text: str) -> str:
    """Keep a text as long as the process lives."""
    memory.append(text)
    return f"{len(memory)} kept"


@server.tool(name="memory.recall")
def recall() -> str:
    """Everything that was kept."""
    return ", ".join(memory) or "nothing"


@server.tool()
def echo(config: str, runtime: str, callbacks: str) -> str:
    """Repeat arguments whose names LangChain uses for its own."""
    return f"{config} {runtime} {callbacks}"


@server.tool()
def die() -> str:
    """End the process in the middle of a call."""
    os._exit(3)


if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.settings.port = int(sys.argv[2])
        server.run("streamable-http")
    else:
        server.run("stdio")
