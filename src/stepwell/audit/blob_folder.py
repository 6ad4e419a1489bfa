"""Bytes as files named by their hash: `ab/abcdef...`. Writers hold the folder's lock (`folder_lock.alone`); readers need none.

A file appears under its name only when all of it is on the disk (write aside, sync, rename, sync the folder), so whatever has a name
is whole. What a writer that died has left aside is overwritten by the next.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from stepwell.audit.canonical import sha256 as hash_of
from stepwell.audit.disk_sync import sync_folder
from stepwell.errors import EvidenceDamagedError, EvidenceError, EvidenceMissingError

_NAME = re.compile(r"[0-9a-f]{64}")
_ASIDE = "unfinished"


class BlobFolder:
    """Keeps bytes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return self._at(name).exists()

    def put(self, name: str, content: bytes) -> None:
        target = self._at(name)
        if target.exists():
            return
        aside = self._folder / _ASIDE
        try:
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                sync_folder(self._folder)
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, target)
            sync_folder(target.parent)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise EvidenceError(f"A page could not be stored ({error.strerror}). Nothing of it was kept.") from error

    def get(self, name: str) -> bytes:
        try:
            content = self._at(name).read_bytes()
        except FileNotFoundError:
            raise EvidenceMissingError(f"Nothing is stored under sha256 {name}.") from None
        if hash_of(content) != name:
            raise EvidenceDamagedError(f"What is stored under sha256 {name} has another hash: it was changed.")
        return content

    def _at(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise EvidenceMissingError("A name of stored bytes is a sha256 of 64 lower-case hexadecimal digits.")
        return self._folder / name[:2] / name
