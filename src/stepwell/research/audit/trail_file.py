"""A trail as a file of lines. Callers of every method hold the folder's lock (`folder_vault.hold_lock`).

A line is written, then synced, then acknowledged. A writer that dies in between may leave a last line without its line end. That line was
never acknowledged, so the next writer cuts it off. A *complete* line that is not an entry, or does not continue the chain, cannot come
from a crash: we report it and never repair it.
"""

from __future__ import annotations

import os
from pathlib import Path

from stepwell.errors import EvidenceDamagedError, EvidenceError
from stepwell.private_files import open_private, sync_folder
from stepwell.research.audit.trail import GENESIS, Entry, NewEntry, from_line, match_stored, seal, to_line


class TrailFile:
    """The trail in memory. Before it answers, it reads what other writers have added to the file since last time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[bytes] = []
        self._places: dict[str, int] = {}
        self._head = GENESIS
        self._read_to = 0

    def append(self, new: NewEntry, at: str) -> Entry:
        self.refresh()
        if new.key in self._places:
            return match_stored(self._at(new.key), new)
        entry = seal(new, seq=len(self._lines) + 1, at=at, previous=self._head)
        line = to_line(entry)
        self._write(line)
        self._take(line, entry)
        return entry

    def entries(self, after: int = 0) -> list[Entry]:
        self.refresh()
        return [from_line(line) for line in self._lines[after:]]

    def find(self, key: str) -> Entry | None:
        self.refresh()
        return self._at(key) if key in self._places else None

    def refresh(self) -> None:
        """Read new lines of the file; cut off an unfinished one."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                if size < self._read_to:
                    raise EvidenceDamagedError("The trail has become shorter: entries were removed. Restore it from a copy.")
                file.seek(self._read_to)
                added = file.read()
        except FileNotFoundError:
            if self._read_to:
                raise EvidenceDamagedError("The trail is gone. Restore it from a copy.") from None
            return
        end = added.rfind(b"\n") + 1
        for line in added[:end].splitlines(keepends=True):
            self._take(line, self._checked(line))
        if added[end:]:
            self._cut()

    def _checked(self, line: bytes) -> Entry:
        place = f"Line {len(self._lines) + 1} of the trail"
        try:
            entry = from_line(line)
        except EvidenceDamagedError as error:
            raise EvidenceDamagedError(f"{place} is damaged: {error}. Restore the trail from a copy.") from error
        again = seal(NewEntry(entry.kind, entry.key, entry.data), seq=entry.seq, at=entry.at, previous=self._head)
        if again != entry or entry.seq != len(self._lines) + 1 or entry.key in self._places:
            raise EvidenceDamagedError(f"{place} does not continue the chain: it was changed. Restore the trail from a copy.")
        return entry

    def _take(self, line: bytes, entry: Entry) -> None:
        self._places[entry.key] = len(self._lines)
        self._lines.append(line)
        self._head = entry.hash
        self._read_to += len(line)

    def _at(self, key: str) -> Entry:
        return from_line(self._lines[self._places[key]])

    def _write(self, line: bytes) -> None:
        is_new = not self._path.exists()
        try:
            if is_new:
                open_private(self._path).close()
            with self._path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            if is_new:
                sync_folder(self._path.parent)
        except OSError as error:
            self._cut()
            raise EvidenceError(
                f"An entry of the trail could not be written ({error.strerror}). Nothing of it was kept."
            ) from error

    def _cut(self) -> None:
        """Cut the file back to the end of its last whole entry."""
        if self._path.exists():
            with self._path.open("r+b") as file:
                file.truncate(self._read_to)
                os.fsync(file.fileno())
