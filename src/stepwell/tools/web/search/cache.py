"""Search results on disk, so that the same query is not sent twice in a day.

One file per key, written under a temporary name and then renamed, so a reader sees a complete file or none. Only `Found` is stored: an
engine that found nothing or failed may have an answer a minute later. Unreadable files are deleted. The queries themselves are not on
the disk, only their hashes; the results are, in a folder that only this user can read.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from stepwell.clock import Clock
from stepwell.tools.web.search.outcomes import Found, SearchResult

_log = logging.getLogger(__name__)

DEFAULT_TTL_S = 24 * 3600.0
DEFAULT_MAX_BYTES = 64 * 1024 * 1024


class SearchCache:
    """Stores what engines found, under `folder`."""

    def __init__(self, folder: Path, clock: Clock, *, ttl_s: float = DEFAULT_TTL_S, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._folder = folder
        self._clock = clock
        self._ttl_s = ttl_s
        self._max_bytes = max_bytes

    async def get(self, engine: str, query: str, limit: int) -> Found | None:
        """An earlier result, if it is fresh enough."""
        return await asyncio.to_thread(self._get, engine, self._place(engine, query, limit))

    async def put(self, found: Found, query: str, limit: int) -> None:
        """Store it. A disk error is only logged: a search must not fail because of it."""
        try:
            await asyncio.to_thread(self._put, found, self._place(found.engine, query, limit))
        except OSError as error:
            _log.warning("a search result was not cached: %s", type(error).__name__)

    def _place(self, engine: str, query: str, limit: int) -> Path:
        key = json.dumps([engine, query, limit], ensure_ascii=False).encode()
        return self._folder / f"{hashlib.sha256(key).hexdigest()}.json"

    def _get(self, engine: str, place: Path) -> Found | None:
        try:
            data = json.loads(place.read_bytes())
            age_s = self._clock.now().timestamp() - float(data["at"])
            if data["engine"] != engine or not 0 <= age_s < self._ttl_s:
                return None
            return Found(engine, tuple(_result(row) for row in data["results"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            _log.warning("a cached search result cannot be read and is deleted")
            with suppress(OSError):
                place.unlink(missing_ok=True)
            return None

    def _put(self, found: Found, place: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        rows = [{"title": one.title, "url": one.url, "snippet": one.snippet} for one in found.results]
        data = {"engine": found.engine, "at": self._clock.now().timestamp(), "results": rows}
        handle, temporary = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(data, ensure_ascii=False).encode())
            Path(temporary).replace(place)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._make_room()

    def _make_room(self) -> None:
        """Delete the oldest files first, including leftovers of interrupted writes."""
        files = []
        for path in self._folder.iterdir():
            with suppress(FileNotFoundError):  # another process made room at the same time
                about = path.stat()
                files.append((about.st_mtime, about.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files, key=lambda file: (file[0], file[2].name)):
            if total <= self._max_bytes:
                return
            path.unlink(missing_ok=True)
            total -= size


def _result(row: Any) -> SearchResult:
    if not all(isinstance(row[key], str) for key in ("title", "url", "snippet")):
        raise TypeError("a result is made of texts")
    return SearchResult(row["title"], row["url"], row["snippet"])
