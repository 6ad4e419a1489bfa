"""`glob` and `grep` over the objects below a folder, with limited memory and cost.

Names come in pages. `grep` first decides by name and size which objects can contain a match. Then it fetches these in the order of their
paths, a window at a time and as many at once as the bucket allows, until it has enough matches. A note says what was left out.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC

from stepwell.backends import messages, paths, tree
from stepwell.backends.objects.bucket import Bucket, Row
from stepwell.backends.objects.names import folder_key, path_of
from stepwell.backends.patterns import TextPattern
from stepwell.backends.protocol import ErrorText, FileInfo, GrepMatch, Listing, Matches

MAX_SCANNED = 200_000
"""Maximum number of names per search."""
MAX_SEARCHED_BYTES = 100_000_000
"""Maximum number of bytes that one grep fetches."""
WINDOW = 64
"""How many files a grep holds in memory at a time."""

Passes = Callable[[str], bool]

_SHOWN_FOLDERS = 5


@dataclass(frozen=True)
class Search:
    """Searches below one root."""

    bucket: Bucket
    root: str
    max_file_bytes: int

    async def glob(self, folder: str, matches: Passes) -> Listing:
        """The files below a folder whose path relative to it matches."""
        rows: list[FileInfo] = []
        unlisted: list[str] = []
        scanned = 0
        async for path, row in self._files_below(folder, unlisted):
            scanned += 1
            if matches(paths.relative(path, folder)):
                rows.append(file_row(path, row))
        if not scanned and not unlisted and folder != paths.ROOT:
            return Listing(error=messages.no_folder(folder))
        rows.sort(key=lambda row: row["path"])
        cut = tree.found_note() if len(rows) > tree.MAX_FOUND else None
        return Listing(rows[: tree.MAX_FOUND], note=cut or _scan_note(scanned) or self._unlisted_note(unlisted))

    async def grep(self, folder: str, lone: Row | None, wanted: TextPattern, passes: Passes | None) -> Matches | ErrorText:
        """The matching lines in those files below a folder that match a glob; `lone` is the file at the folder's own path, if any."""
        if lone is not None:
            candidates = [(folder, lone)] if passes is None or passes(folder.rpartition("/")[2]) else []
            return await self._look_into(candidates, wanted, None)
        unlisted: list[str] = []
        below = [item async for item in self._files_below(folder, unlisted)]
        if not below and not unlisted and folder != paths.ROOT:
            return messages.no_folder(folder)
        candidates = [item for item in below if passes is None or passes(paths.relative(item[0], folder))]
        candidates.sort(key=lambda item: item[0])
        return await self._look_into(candidates, wanted, _scan_note(len(below)) or self._unlisted_note(unlisted))

    async def _files_below(self, folder: str, unlisted: list[str]) -> AsyncIterator[tuple[str, Row]]:
        """Paths and rows of everything below a folder, up to the limit; adds folders that cannot be listed to `unlisted`."""
        scanned = 0
        async for page in self.bucket.list_below(folder_key(self.root, folder), unlisted=unlisted):
            for row in page:
                if path := path_of(self.root, row.key):
                    yield path, row
            scanned += len(page)
            if scanned >= MAX_SCANNED:
                return

    def _unlisted_note(self, unlisted: list[str]) -> str | None:
        """A note that names the folders that were left out, because another program has stored an invalid name in them."""
        if not unlisted:
            return None
        shown = ", ".join(paths.show(paths.ROOT + key.removeprefix(self.root[1:])) for key in unlisted[:_SHOWN_FOLDERS])
        more = f" and {len(unlisted) - _SHOWN_FOLDERS:,} more" if len(unlisted) > _SHOWN_FOLDERS else ""
        return f"Left out: {shown}{more}, where another program has stored a name that is no path."

    async def _look_into(self, candidates: list[tuple[str, Row]], wanted: TextPattern, note: str | None) -> Matches:
        found: list[GrepMatch] = []
        budget = MAX_SEARCHED_BYTES
        for start in range(0, len(candidates), WINDOW):
            window = [item for item in candidates[start : start + WINDOW] if item[1].size <= self.max_file_bytes]
            budget -= sum(row.size for _, row in window)
            if budget < 0:
                note = f"Only the first {start:,} files were searched. Narrow the folder or the glob."
                break
            fetched = await asyncio.gather(*(self.bucket.fetch(row.key, self.max_file_bytes) for _, row in window))
            for (path, _), held in zip(window, fetched, strict=True):
                content = decode(path, held.data) if held and held.data is not None else ""
                if not isinstance(content, ErrorText) and wanted.may_occur_in(content):
                    tree.collect(found, path, _lines(content), wanted)
            if len(found) > tree.MAX_MATCHES:
                return Matches(found[: tree.MAX_MATCHES], note=tree.matches_note())
        return Matches(found, note=note)


def decode(path: str, data: bytes) -> str | ErrorText:
    """A file's text; if it is not text, an error that describes the file."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return messages.not_text(path, f"{mimetypes.guess_type(path)[0] or 'binary'}, {len(data):,} bytes")


def file_row(path: str, row: Row) -> FileInfo:
    """A file's row in a listing."""
    modified_at = row.modified.astimezone(UTC).isoformat()
    info: FileInfo = {"path": path, "is_dir": False, "size": row.size, "modified_at": modified_at}
    if row.mark:
        info["version"] = row.mark
    return info


def _lines(content: str) -> list[str]:
    """Lines as a reader counts them: the empty string after a final newline is not a line."""
    lines = content.split("\n")
    return lines if lines[-1] else lines[:-1]


def _scan_note(scanned: int) -> str | None:
    if scanned < MAX_SCANNED:
        return None
    return f"Only the first {MAX_SCANNED:,} files were looked at. Start in a subfolder."
