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

from stepwell.database.database import SqlDatabase
from stepwell.payments.ledger.database import DatabaseLedger
from stepwell.payments.wallet.wallet import Wallet
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.trail import GENESIS, NewEntry, seal, to_line
from stepwell.sql import Connection
from stepwell.testing import MemoryMint

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.fixtures.golden.opening import HERE, OWNER, THREADS, open_golden  # noqa: E402 - the tests' folder is no installed package


async def fill(path: Path) -> None:
    """Threads that have ended, and threads that wait for an answer: in the main agent, in two subagents at once, in a subgraph. And what
    products keep: evidence, money."""
    async with open_golden(path) as golden:
        await golden.say("plain", "one")
        await golden.say("plain", "two")
        for name in ("wells", "steps", "water", "stone"):
            await golden.say("deep", name)
        await golden.say("approving", "note")
        await golden.say("delegating", "both")
        await golden.run("nested", input={"depth": 0})
        await golden.persistence.database.write(keep_evidence)
        await pay(golden.persistence.database)


def keep_evidence(connection: Connection) -> None:
    """What a research has fetched and noted, on a thread of its owner."""
    page, thread_id = b"A stepwell holds water.", THREADS["plain"]
    entry = seal(NewEntry("source", "golden", {"sha256": sha256(page)}), seq=1, at="2026-01-01T00:00:00Z", previous=GENESIS)
    connection.execute("INSERT INTO evidence (thread_id, sha256, content) VALUES (?, ?, ?)", (thread_id, sha256(page), page))
    connection.execute(
        "INSERT INTO trail (thread_id, seq, key, line) VALUES (?, ?, ?, ?)", (thread_id, 1, entry.key, to_line(entry))
    )


async def pay(database: SqlDatabase) -> None:
    """100 sats for a thread, of which a call has taken 10."""
    ledger, mint = DatabaseLedger(database), MemoryMint()
    wallet = Wallet(ledger, [mint], bytes(32), pause_s=0)
    session_id = (await wallet.fund(OWNER, mint.issue_token(100))).session_id
    await ledger.attach(session_id, THREADS["plain"])
    await wallet.settle(await wallet.reserve(OWNER, session_id, "golden-call", 10), 10)
    await wallet.confirm(session_id)


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
