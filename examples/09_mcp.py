"""Tools of an MCP server (`pip install 'stepwell[mcp]'`) beside a function. Started with `serve`, this file is the server."""

import sys
from datetime import date

from stepwell import create_deep_agent
from stepwell.tools.mcp import load_mcp_tools_sync


def harvest_day(fruit: str) -> str:
    """When a fruit of this orchard is ripe."""
    return {"apples": "2026-09-14", "plums": "2026-08-20", "quinces": "2026-10-11"}.get(fruit, "not grown here")


def serve():
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("orchard", log_level="ERROR")
    server.add_tool(harvest_day)
    server.run("stdio")


def days_between(first: date, second: date) -> int:
    """The number of days from the first date to the second."""
    return (second - first).days


def main(model=None):
    # Described as in other MCP clients: a command to start, or the url of a server that runs already.
    tools = load_mcp_tools_sync({"orchard": {"command": sys.executable, "args": [__file__, "serve"]}})
    agent = create_deep_agent(model, [*tools, days_between])
    result = agent.invoke({"messages": [("user", "How many days lie between the harvest of plums and that of quinces?")]})
    print("\n".join(message.pretty_repr() for message in result["messages"][1:]))


if __name__ == "__main__":
    from start import start

    start(serve if sys.argv[1:] == ["serve"] else main)
