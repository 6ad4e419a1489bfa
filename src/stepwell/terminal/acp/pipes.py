"""Standard input and output for the protocol alone.

Everything else in this process, and in the programs it starts, gets an empty input and standard error for its output: one `print` of a tool
would otherwise break the connection.
"""

from __future__ import annotations

import asyncio
import os
import sys

from stepwell.errors import ConfigurationError

_MAX_LINE_BYTES = 50 * 1024 * 1024
"""A prompt with pictures is one line."""


async def take_over() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The two streams of the protocol. `ConfigurationError` if a terminal or a file is where an editor should be."""
    if sys.stdin.isatty():
        raise ConfigurationError(
            "`stepwell acp` talks to an editor over its standard input and output, and this is a terminal. Name it in the settings of your "
            "editor as a command to start; to talk here, use `stepwell chat`."
        )
    sys.stdout.flush()
    reading, writing = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_MAX_LINE_BYTES)
    try:
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", buffering=0))
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop=loop), os.fdopen(writing, "wb", buffering=0)
        )
    except ValueError as error:
        raise ConfigurationError(
            "`stepwell acp` needs pipes as its standard input and output, as an editor gives it. Name it in the settings of your editor."
        ) from error
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)
