"""A program that is killed while it reads a page: `python orphan.py` prints the reader's process and reads on."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from stepwell.tools.documents.reader_pool import ReaderPool


async def main() -> None:
    readers = ReaderPool(size=1)
    await readers.read_page(b"a few words", "text/plain")
    print(*(await asyncio.to_thread(children)), flush=True)
    table = b"<table>" + b"<tr><td>1<td>2<td>3" * 200_000
    await readers.read_page(b"<html><body>" + table, "text/html", 1.5)


def children() -> list[str]:
    """The processes that this one has started. A thread may end between the listing and the look at it."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            found += (task / "children").read_text().split()
    return found


asyncio.run(main())
