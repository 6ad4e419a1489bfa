"""Journals in a folder of this machine, for agents without a server. A journal survives a kill: every entry is on disk before its change.

```
<folder>/<thread>/journal.jsonl        one line per entry; {"drop": [numbers]} takes entries back
<folder>/<thread>/images/ab/cdef...    contents by their SHA-256
```
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any

from stepwell.private_files import make_private_folder
from stepwell.tools.rewind.journal import (
    MAX_KEPT_BYTES,
    Entry,
    JournalFullError,
    done,
    failed,
    forgotten,
    is_same_mark,
    needed_images,
    turn_of,
)


class FolderJournals:
    """The journals of many threads below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser().resolve()
        self._journals: dict[str, FolderJournal] = {}

    def of(self, thread_id: str) -> FolderJournal:
        if (known := self._journals.get(thread_id)) is not None:
            return known
        return self._journals.setdefault(thread_id, FolderJournal(self._place(thread_id)))

    def forget(self, thread_id: str) -> None:
        """Delete what is kept about a thread."""
        self._journals.pop(thread_id, None)
        rmtree(self._place(thread_id), ignore_errors=True)

    def _place(self, thread_id: str) -> Path:
        # A thread's id may be any text, so its hash is the name of the folder.
        return self._folder / sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class FolderJournal:
    """The journal of one thread."""

    def __init__(self, folder: Path, limit: int = MAX_KEPT_BYTES) -> None:
        self._folder = folder
        self._limit = limit
        self._lock = threading.Lock()
        self._known: list[Entry] | None = None
        self._next = 1

    def mark(self, turn: Entry) -> Future[None]:
        with self._lock:
            if not any(is_same_mark(each, turn) for each in self._read()):
                self._append([turn])
        return done(None)

    def begin(self, changes: Sequence[Entry], images: Mapping[str, bytes]) -> Future[list[int]]:
        with self._lock:
            known = self._read()
            for name, content in needed_images(turn_of(known), changes, images).items():
                self._keep(name, content)
            numbers = self._append(changes)
            first = forgotten(known, self._sizes(), self._limit) if images else 0
            if first > numbers[0]:
                self._forget(numbers)
                return failed(JournalFullError())
            if old := [each.number for each in known if each.number < first]:
                self._forget(old)
            return done(numbers)

    def drop(self, numbers: Sequence[int]) -> Future[None]:
        with self._lock:
            self._take_out(numbers)
        return done(None)

    def entries(self) -> Future[list[Entry]]:
        with self._lock:
            return done(list(self._read()))

    def image(self, content_hash: str) -> Future[bytes | None]:
        try:
            return done(self._image(content_hash).read_bytes())
        except FileNotFoundError:
            return done(None)

    def _take_out(self, numbers: Sequence[int]) -> None:
        known, gone = self._read(), set(numbers)
        self._write([{"drop": list(numbers)}])
        self._known = [each for each in known if each.number not in gone]

    def _forget(self, numbers: Sequence[int]) -> None:
        """Take entries out, with the contents that no other entry names."""
        self._take_out(numbers)
        named = {each.before for each in self._read()}
        for content_hash in self._sizes():
            if content_hash not in named:
                self._image(content_hash).unlink(missing_ok=True)

    def _sizes(self) -> dict[str, int]:
        return {
            path.parent.name + path.name: path.stat().st_size
            for path in self._folder.glob("images/*/*")
            if "." not in path.name
        }

    def _append(self, entries: Sequence[Entry]) -> list[int]:
        known = self._read()
        added = [replace(entry, number=self._next + at) for at, entry in enumerate(entries)]
        self._write([asdict(entry) for entry in added])
        self._next += len(added)
        known.extend(added)
        return [entry.number for entry in added]

    def _write(self, lines: Sequence[Mapping[str, object]]) -> None:
        make_private_folder(self._folder)
        with (self._folder / "journal.jsonl").open("ab", buffering=0) as file:
            file.write(b"".join(json.dumps(line, ensure_ascii=True).encode() + b"\n" for line in lines))

    def _read(self) -> list[Entry]:
        if self._known is None:
            found: dict[int, Entry] = {}
            for line in self._lines():
                if "drop" in line:
                    for number in line["drop"]:
                        found.pop(number, None)
                else:
                    found[line["number"]] = Entry(**line)
                    self._next = max(self._next, line["number"] + 1)
            self._known = [found[number] for number in sorted(found)]
        return self._known

    def _lines(self) -> list[dict[str, Any]]:
        path = self._folder / "journal.jsonl"
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return []
        whole, _, cut = data.rpartition(b"\n")
        if cut:  # a kill in the middle of a line: its change was not begun
            with path.open("r+b") as file:
                file.truncate(len(data) - len(cut))
        return [json.loads(line) for line in whole.split(b"\n") if line]

    def _image(self, content_hash: str) -> Path:
        return self._folder / "images" / content_hash[:2] / content_hash[2:]

    def _keep(self, content_hash: str, content: bytes) -> None:
        path = self._image(content_hash)
        if path.exists():
            return
        make_private_folder(path.parent)
        partial = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
        partial.write_bytes(content)
        partial.replace(path)
