"""Make the golden database of this release: threads as its users have them, for later releases to open and to resume.

    .venv/bin/python scripts/golden_checkpoint.py

writes tests/fixtures/golden/<version>.db. Run it once, when a release is made, and never again for that release: the file is the
proof that what this version stored can be read by every later one (tests/integration/durability/test_golden_checkpoint.py).
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.fixtures.golden.opening import HERE, open_golden  # noqa: E402 - the tests' folder is no installed package


async def fill(path: Path) -> None:
    """Threads that have ended, and threads that wait for an answer: in the main agent, in two subagents at once, in a subgraph."""
    async with open_golden(path) as golden:
        await golden.say("plain", "one")
        await golden.say("plain", "two")
        for name in ("wells", "steps", "water", "stone"):
            await golden.say("deep", name)
        await golden.say("approving", "note")
        await golden.say("delegating", "both")
        await golden.run("nested", input={"depth": 0})


def pack(path: Path, target: Path) -> None:
    """One small file without a log beside it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", (str(target),))


def main() -> int:
    target = HERE / f"{version('stepwell')}.db"
    if target.exists():
        print(
            f"{target.relative_to(ROOT)} is there already. It stays as its release made it; delete it only before that release."
        )
        return 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stepwell.db"
        asyncio.run(fill(path))
        pack(path, target)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
