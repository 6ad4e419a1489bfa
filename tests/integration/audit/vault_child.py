"""A writer to be killed: it stores pages and entries, and prints each key once it has been told that it is stored."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from stepwell.research.audit.folder_vault import FolderVault
from stepwell.research.audit.trail import NewEntry


async def main(folder: Path, who: str, count: int) -> None:
    vault = FolderVault(folder)
    for n in range(count):
        page = await vault.put(f"{who} {n} ".encode() * 2000)
        await vault.append(NewEntry("response", f"{who}:{n}", {"body": page, "filler": "x" * (n * 37 % 3000)}))
        print(f"{who}:{n}", flush=True)


asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
