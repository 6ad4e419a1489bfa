"""Looks for a text in files; in those of SQLite, also in the rows that are stored packed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from stepwell.database.checkpoints.packing import unpack, unpack_metadata


def files_holding(folder: Path, text: bytes) -> list[str]:
    """The names of the files below the folder that hold this text."""
    return [
        file.name
        for file in folder.rglob("*")
        if file.is_file() and (text in file.read_bytes() or text in _unpacked_rows(file))
    ]


def _unpacked_rows(file: Path) -> bytes:
    if file.suffix != ".db":
        return b""
    with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        checkpoints = connection.execute("SELECT type, checkpoint, metadata FROM checkpoints").fetchall()
        writes = connection.execute(
            "SELECT type, value FROM writes UNION ALL SELECT type, value FROM replaced_writes"
        ).fetchall()
    found = [unpack((form, data))[1] for form, data, *_ in (*checkpoints, *writes)]
    return b"\n".join([*found, *(repr(unpack_metadata(metadata)).encode() for *_, metadata in checkpoints)])
