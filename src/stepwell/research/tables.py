"""The tables of research, for the database: a thread's evidence and its trail."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from stepwell.database.database import SqlDatabase
from stepwell.database.tables import Kept, ProductTables
from stepwell.errors import EvidenceDamagedError, EvidenceMissingError
from stepwell.research.database_vault import SqlVault

_SHA256 = re.compile(r"[0-9a-f]{64}")


async def export_evidence(database: SqlDatabase, thread_id: str) -> AsyncIterator[Mapping[str, Any]]:
    """A `trail` line for each entry, and an `evidence` line for everything the entries refer to, its bytes in base64."""
    vault = SqlVault(database, thread_id)
    entries = await vault.entries()
    for entry in entries:
        yield {"kind": "trail", "thread_id": thread_id, "entry": asdict(entry)}
    for name in sorted({name for entry in entries for name in _hashes(entry.data)}):
        line = {"kind": "evidence", "thread_id": thread_id, "sha256": name}
        try:
            content = await vault.get(name)
        except EvidenceMissingError:
            continue  # the entry has the hash of something that was never stored
        except EvidenceDamagedError as error:
            yield line | {"content": None, "missing_because": str(error)}
        else:
            yield line | {"content": b64encode(content).decode()}


def _hashes(data: Any) -> Iterator[str]:
    if isinstance(data, str) and _SHA256.fullmatch(data):
        yield data
    elif isinstance(data, Mapping | list | tuple):
        for inner in data.values() if isinstance(data, Mapping) else data:
            yield from _hashes(inner)


TABLES = ProductTables(
    "research",
    "stepwell.research.schema",
    of_thread=(Kept("evidence", size="length(content)"), Kept("trail", size="length(line)")),
    spared="EXISTS (SELECT 1 FROM trail WHERE trail.thread_id = threads.thread_id)",
    copied=("trail", "evidence"),  # answers on a copied thread rely on its earlier research, plans and audits
    export=export_evidence,
)
