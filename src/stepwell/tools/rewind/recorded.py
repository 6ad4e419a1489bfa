"""A backend whose changes are written into a journal before they are made, with the files as they were.

```
write, edit, delete, move ── read what is there ──▶ journal.begin ──▶ the backend's verb ──┬─ path ──▶ the result
                                                                                             └─ error ─▶ journal.drop, the result
```
Files in the agent's state need none of this, because they go back with the checkpoint. A file that another program changes between our
look and our change is looked at again: the change carries the version that was seen.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

from stepwell.backends import messages, paths, text
from stepwell.backends.commands import command_backend
from stepwell.backends.composite import can_search, is_in_state, is_remote, keeps_versions, offers
from stepwell.backends.protocol import (
    BackendFactory,
    BackendProtocol,
    DeleteResult,
    EditResult,
    ErrorText,
    MoveResult,
    WriteResult,
)
from stepwell.backends.steps import Steps, arun_steps, run_steps
from stepwell.backends.transfers import has_whole_files
from stepwell.tools.files.tools import VerbCall, acall, backend_for
from stepwell.tools.rewind.journal import ABSENT, Entry, FileJournal, JournalFullError, JournalKeeper, hash_of, journal_in
from stepwell.tools.rewind.places import are_same_files, depth_in

T = TypeVar("T")
Result = TypeVar("Result", WriteResult, EditResult, DeleteResult, MoveResult)

MAX_FILES = 10_000
"""A folder with more files is deleted or moved without before-images, and a note says so."""
MAX_BYTES = 200_000_000
"""The same for more bytes, and for a file with more."""
_ATTEMPTS = 5


class JournalCall(NamedTuple):
    """A call of the journal."""

    method: str
    arguments: tuple[Any, ...]


Request = VerbCall | JournalCall


class NoImageError(Exception):
    """What a change replaces cannot be kept: a folder has too much in it, or the backend hands out no whole files."""


class RecordedBackend:
    """A backend, or a function that makes one, whose changes are journaled. What it does not define, the backend does."""

    def __init__(
        self,
        backend: BackendProtocol | BackendFactory,
        keeper: JournalKeeper,
        journal: FileJournal | None = None,
        *,
        depth: int | None = 0,
    ) -> None:
        """`depth` is how many agents may be around the one with this backend: 1 for a subagent. With more, or with None, these are not
        the files that a rewind of the thread restores, and changes are only noted."""
        self._backend = backend
        self._keeper = keeper
        self._journal = journal
        self._depth = depth

    def bind(self, runtime: Any) -> RecordedBackend:
        """The same over the backend for this call, in the journal of the call's thread."""
        config = getattr(runtime, "config", None) or {}
        depth = None if self._depth is None or depth_in(config) > self._depth else self._depth
        return RecordedBackend(backend_for(self._backend, runtime), self._keeper, journal_in(config, self._keeper), depth=depth)

    def has_files_of(self, backend: BackendProtocol | BackendFactory | RecordedBackend) -> bool:
        """Whether a change in that backend can be taken back in this one."""
        return are_same_files(self._backend, backend._backend if isinstance(backend, RecordedBackend) else backend)

    def remote_at(self, path: str) -> bool:
        return is_remote(self._backend, path)

    def in_state_at(self, path: str) -> bool:
        return is_in_state(self._backend, path)

    @property
    def can_search(self) -> bool:
        return can_search(self._backend)

    @property
    def command_backend(self) -> Any | None:
        return command_backend(self._backend)

    def offers(self, verb: str) -> bool:
        return offers(self._backend, verb)

    def __getattr__(self, name: str) -> Any:
        if name in _CHANGES:
            return self._recorded(name)
        if name.startswith("a") and name[1:] in _CHANGES:
            return self._arecorded(name[1:])
        return getattr(self._backend, name)

    def _recorded(self, verb: str) -> Any:
        call = getattr(self._backend, verb)
        if self._journal is None:
            return call
        return lambda *args, **options: run_steps(self._steps(verb, args, options), self._perform)

    def _arecorded(self, verb: str) -> Any:
        if not hasattr(self._backend, f"a{verb}") and not hasattr(self._backend, verb):
            raise AttributeError(verb)

        async def run(*args: Any, **options: Any) -> Any:
            if self._journal is None:
                return await acall(cast("BackendProtocol", self._backend), verb, *args, **options)
            return await arun_steps(self._steps(verb, args, options), self._aperform)

        return run

    def _perform(self, request: Request) -> Any:
        if isinstance(request, JournalCall):
            return getattr(self._journal, request.method)(*request.arguments).result()
        return getattr(self._backend, request.verb)(*request.arguments, **request.options)

    async def _aperform(self, request: Request) -> Any:
        if isinstance(request, JournalCall):
            return await asyncio.wrap_future(getattr(self._journal, request.method)(*request.arguments))
        return await acall(cast("BackendProtocol", self._backend), request.verb, *request.arguments, **request.options)

    def _steps(self, verb: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Steps[Request, Any]:
        touched = [self._resolve(raw) for raw in args[: 2 if verb == "move" else 1]]
        inside = [not isinstance(path, ErrorText) and self.in_state_at(path) for path in touched]
        if any(isinstance(path, ErrorText) for path in touched) or all(inside):
            return (yield VerbCall(verb, args, options))
        if any(keeps_versions(self._backend, str(path)) for path in touched):
            return (yield from self._on_device(verb, args, options))
        if self._depth is None:
            return (yield from self._elsewhere(verb, args, options))
        for attempt in range(_ATTEMPTS):
            try:
                entries, images, seen = yield from self._look(verb, [str(path) for path in touched], args, options)
                numbers = (yield JournalCall("begin", (entries, images))) if entries else []
            except (NoImageError, JournalFullError):
                return (yield from self._without_images(verb, args, options))
            pinned = {**options, **({} if attempt == _ATTEMPTS - 1 else seen)}
            result = yield VerbCall(verb, args, pinned)
            if result.error is None:
                return result
            if numbers:
                yield JournalCall("drop", (numbers,))
            if pinned == options or result.error != messages.conflict(str(touched[0])):
                return result
        raise AssertionError("the last attempt returns")

    def _resolve(self, raw: object) -> str | ErrorText:
        """The one path under which the backend shows a file: on disk, one file may have two names."""
        typed = paths.resolve_entry(raw)
        own = getattr(self._backend, "canonical_path", None)
        return typed if isinstance(typed, ErrorText) or own is None else own(raw)

    def _on_device(self, verb: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Steps[Request, Any]:
        """A change on somebody's device, which keeps the versions of its files itself. We only write down that there was one."""
        result = yield VerbCall(verb, args, options)
        if result.error is None:
            yield JournalCall("begin", ([Entry("note", DEVICE, detail=f"{verb} {args[0]}")], {}))
        return result

    def _elsewhere(self, verb: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Steps[Request, Any]:
        """A change in files that a rewind does not reach: it would look for the path in the main agent's."""
        detail = f"{verb} {args[0]}, in a subagent's own files"
        numbers = yield JournalCall("begin", ([Entry("note", ELSEWHERE, detail=detail)], {}))
        result = yield VerbCall(verb, args, options)
        if result.error is not None:
            yield JournalCall("drop", (numbers,))
        return result

    def _without_images(self, verb: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Steps[Request, Any]:
        result = yield VerbCall(verb, args, options)
        if result.error is None:
            yield JournalCall("begin", ([Entry("note", NO_IMAGE, detail=f"{verb} {args[0]}")], {}))
        return result

    def _look(
        self, verb: str, touched: Sequence[str], args: tuple[Any, ...], options: Mapping[str, Any]
    ) -> Steps[Request, tuple[list[Entry], dict[str, bytes], dict[str, Any]]]:
        """The entries for a change, the contents they name, and the version that the change must meet."""
        path = touched[0]
        before = yield from self._read(path)
        if before is None and verb in ("delete", "move"):
            return (yield from self._look_below(verb, *touched))
        if verb in ("write", "write_whole"):
            if verb == "write" and before is not None and not options.get("overwrite"):
                return [], {}, {}  # it will be refused
            changes = [(path, before, _encoded(args[1]))]
        elif verb == "edit":
            changes = [(path, before, _edited(path, before, args, options))]
        elif verb == "delete":
            changes = [(path, before, None)]
        else:
            changes = [(path, before, None), (touched[1], (yield from self._read(touched[1])), before)]
        outside = [change for change in changes if change[1] != change[2] and not self.in_state_at(change[0])]
        version = _version(before)
        may_pin = version and not options.get("expected_version") and _takes_version(getattr(self._backend, verb, None))
        entries = yield from self._with_modes(_entries(outside))
        return entries, _images(outside), {"expected_version": version} if may_pin else {}

    def _look_below(
        self, verb: str, path: str, destination: str | None = None
    ) -> Steps[Request, tuple[list[Entry], dict[str, bytes], dict[str, Any]]]:
        """The entries for a folder that is deleted or moved."""
        changes: list[tuple[str, bytes | None, bytes | None]] = []
        size = 0
        folders = [path]
        while folders:
            rows = yield VerbCall("ls_info", (folders.pop(),))
            for row in rows:
                name = row["path"]
                if name.endswith("/"):
                    folders.append(name.rstrip("/"))
                    continue
                content = yield from self._read(name)
                size += len(content or b"")
                if len(changes) > MAX_FILES or size > MAX_BYTES:
                    raise NoImageError
                changes.append((name, content, None))
                if destination is not None:
                    changes.append((destination + name[len(path) :], None, content))
        outside = [change for change in changes if not self.in_state_at(change[0])]
        links = (yield VerbCall("links_below", (path,))) if hasattr(self._backend, "links_below") else []
        notes = [Entry("note", NO_IMAGE, detail=f"{verb} {link}, a link") for link in links]
        return [*(yield from self._with_modes(_entries(outside))), *notes], _images(outside), {}

    def _with_modes(self, entries: Sequence[Entry]) -> Steps[Request, list[Entry]]:
        """The entries with the permission bits of files that go; files that are replaced keep theirs."""
        noted = []
        for entry in entries:
            goes = entry.after == ABSENT and hasattr(self._backend, "mode_of")
            mode: int | None = (yield VerbCall("mode_of", (entry.name,))) if goes else None
            noted.append(entry if mode is None else replace(entry, detail=f"{mode:o}"))
        return noted

    def _read(self, path: str) -> Steps[Request, bytes | None]:
        """A file as it is stored; None if there is none."""
        if not has_whole_files(self._backend):
            raise NoImageError
        (found,) = yield VerbCall("download_files", ([path],))
        if found.content is None and found.error not in NOTHING_THERE:
            raise NoImageError
        content: bytes | None = found.content
        if content is not None and len(content) > MAX_BYTES:
            raise NoImageError
        return content


DEVICE = "device"
"""The name of a note about a change on somebody's device."""
ELSEWHERE = "elsewhere"
"""The name of a note about a change in files that are not the main agent's."""
NO_IMAGE = "no_image"
"""The name of a note about a change whose files could not be kept."""

NOTHING_THERE = frozenset({"file_not_found", "is_directory", "invalid_path"})
"""The errors of `download_files` that mean that a path has no file."""
_CHANGES = frozenset({"write", "write_whole", "edit", "delete", "move"})

Change = tuple[str, bytes | None, bytes | None]


def _entries(changes: Sequence[Change]) -> list[Entry]:
    return [Entry("change", path, before=hash_of(before), after=hash_of(after)) for path, before, after in changes]


def _images(changes: Sequence[Change]) -> dict[str, bytes]:
    """The contents before the changes, by hash. Those after it are in the files, and are kept when they are changed in turn."""
    return dict(_hashed(changes))


def _hashed(changes: Sequence[Change]) -> Iterator[tuple[str, bytes]]:
    for _, before, _ in changes:
        if before is not None:
            yield hash_of(before), before


def _encoded(content: object) -> bytes | None:
    if isinstance(content, bytes):
        return content
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else None


def _edited(path: str, before: bytes | None, args: tuple[Any, ...], options: Mapping[str, Any]) -> bytes | None:
    """The content after an edit; the one before it, if the edit will fail."""
    try:
        current = (before or b"").decode()
    except UnicodeDecodeError:
        return before
    old, new, *rest = (*args[1:3], *args[3:4])
    replace_all = bool(rest[0]) if rest else bool(options.get("replace_all"))
    outcome = text.replace_exact(path, current, str(old), str(new), replace_all)
    return before if isinstance(outcome, ErrorText) else outcome[0].encode("utf-8", "surrogatepass")


def _takes_version(verb: Any) -> bool:
    """Whether a backend's verb can be held to a version. Those of other people often cannot."""
    try:
        known = inspect.signature(verb).parameters
    except (TypeError, ValueError):
        return False
    return "expected_version" in known


def _version(before: bytes | None) -> str | None:
    """The version that our own backends give to this text."""
    try:
        return None if before is None else text.version_of(before.decode())
    except UnicodeDecodeError:
        return None
