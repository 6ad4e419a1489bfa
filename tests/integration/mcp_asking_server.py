"""An MCP server whose tools ask the user, run as a process: `python mcp_asking_server.py stdio`, or `http PORT`.

What its tools do they write into the file `log`, a line each, so that a test can count it over all processes.
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from pathlib import Path

from mcp.server.fastmcp import Context, FastMCP
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp.types import ElicitRequestURLParams, ToolAnnotations
from pydantic import BaseModel, Field

server = FastMCP("stepwell-asking", log_level="CRITICAL")


class Booking(BaseModel):
    seats: int = Field(ge=1, le=9, description="how many people travel")
    seat: str = Field("window", json_schema_extra={"enum": ["window", "aisle"]})
    name: str = ""


class Confirmation(BaseModel):
    sure: bool


def note(log: str, line: str) -> None:
    with Path(log).open("a") as file:
        file.write(f"{line}\n")


def written(log: str) -> str:
    return Path(log).read_text()


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
async def book(city: str, log: str, ctx: Context) -> str:
    """Book a flight: asks, then acts."""
    answer = await ctx.elicit(f"How do you want to fly to {city}?", Booking)
    if answer.action != "accept":
        return f"not booked: {answer.action}"
    note(log, f"booked {city}")
    return f"booked {answer.data.seats} at the {answer.data.seat} to {city} for {answer.data.name or 'nobody'}"


@server.tool()
async def book_twice(log: str, ctx: Context) -> str:
    """Asks two questions, the second about the first."""
    first = await ctx.elicit("How many there?", Booking)
    second = await ctx.elicit(f"Sure about {first.data.seats}?", Confirmation)
    note(log, "booked")
    return f"{first.data.seats} {second.data.sure}"


@server.tool()
async def act_then_ask(log: str, ctx: Context) -> str:
    """Acts before it asks."""
    note(log, "acted")
    answer = await ctx.elicit("Was that right?", Confirmation)
    return f"{answer.action}"


@server.tool()
async def never_the_same(ctx: Context) -> str:
    """Asks in other words each time."""
    answer = await ctx.elicit(f"Confirm {uuid.uuid4()}?", Confirmation)
    return f"{answer.action}"


@server.tool()
async def changing(log: str, ctx: Context) -> str:
    """Asks about the number of lines in the log."""
    count = len(written(log).splitlines())
    answer = await ctx.elicit(f"Delete {count} files?", Confirmation)
    return f"{count} {answer.action}"


@server.tool()
async def open_page(ctx: Context) -> str:
    """Asks the user to open a page."""
    answer = await ctx.elicit_url("Sign in, please.", f"https://bank.example/login?state={uuid.uuid4()}", str(uuid.uuid4()))
    return f"page: {answer.action}"


@server.tool()
async def open_file(ctx: Context) -> str:
    """Asks the user to open something that is no page."""
    answer = await ctx.elicit_url("Look.", "file:///etc/passwd", "1")
    return f"file: {answer.action}"


@server.tool()
async def needs_page(log: str) -> str:
    """Refuses until the user has opened a page, which leaves a line in the log."""
    if "signed in" not in written(log):
        page = ElicitRequestURLParams(mode="url", message="Sign in.", url="https://bank.example/login", elicitationId="1")
        raise UrlElicitationRequiredError([page])
    return "balance: 3"


@server.tool()
async def ask_and_wait(seconds: float, ctx: Context) -> str:
    """Asks, then takes its time."""
    await ctx.elicit("Wait?", Confirmation)
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
async def ask_and_die(log: str, ctx: Context) -> str:
    """Ends its process after the answer, the first time."""
    answer = await ctx.elicit("Die?", Confirmation)
    if not written(log):
        note(log, "died")
        os._exit(3)
    return f"alive: {answer.action}"


@server.tool()
async def quiet(seconds: float = 0.0) -> str:
    """Asks nothing."""
    await asyncio.sleep(seconds)
    return "quiet"


if __name__ == "__main__":
    if sys.argv[1] == "http":
        server.settings.port = int(sys.argv[2])
        server.run("streamable-http")
    else:
        server.run("stdio")
