"""Files in a LangGraph store, which outlive the thread; every thread with the same namespace shares them.

Each file is one item: its key is the path, its value a `FileData`. In a separate namespace there are small items that name the folders
(`folders_of`), because a store cannot tell cheaply whether anything is below a path, and a file must not take a folder's place.

Verbs are written as steps, because a store itself has a sync and an async form: async code calls `abatch` and sync code `batch`, without
a thread in between. (`AsyncSqliteStore` and similar stores refuse sync calls on their own loop; `SqliteStore` has no async form, so its
`batch` runs in a worker thread.)

**What is safe and what is not.** Within a process, changes below one top-level name wait for one another, so no concurrent edit is lost.
A store has no compare-and-swap, so if two *processes* edit one file within the same few milliseconds, one of the edits can be lost;
`expected_version` narrows that gap but cannot close it. If processes share files, use a backend that can prevent this.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

from langgraph.store.base import BaseStore

from stepwell.backends import messages, paths, text, tree
from stepwell.backends.locks import LockTable, SharedLock
from stepwell.backends.protocol import (
    DeleteResult,
    EditResult,
    ErrorText,
    FileData,
    FileInfo,
    GrepMatch,
    Listing,
    MoveResult,
    WriteResult,
)
from stepwell.backends.steps import SteppedBackend, Steps, run_steps
from stepwell.backends.store_items import (
    InMemory,
    Namespace,
    Operations,
    StoreUnreachableError,
    abatch,
    batch,
    check_namespace,
    delete_file,
    file_in,
    find_namespace,
    find_store,
    get,
    put_file,
    put_folder,
    scan,
)
from stepwell.clock import Clock, SystemClock, timestamp
from stepwell.errors import ConfigurationError

T = TypeVar("T")
Request = Operations | InMemory | SharedLock

_BUSY = "others keep changing what lies there"


class _LockTables:
    """One lock table per store, kept as long as the store lives."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._tables: WeakKeyDictionary[BaseStore, LockTable] = WeakKeyDictionary()

    def of(self, store: BaseStore) -> LockTable:
        with self._guard:
            return self._tables.setdefault(store, LockTable())


# For the whole process, because a new backend is made for each tool call, and all backends over one store must share the same locks.
_LOCKS = _LockTables()


class StoreBackend(SteppedBackend):
    """Stores files in a LangGraph store.

    `StoreBackend()` uses the running graph's store, `StoreBackend(store)` a given one, `StoreBackend(runtime)` a runtime's.
    `namespace` says whose files they are: a tuple of labels, or a function that takes the runtime and returns one. `index` is passed to
    the store with each file, and says which fields the store should embed (False for none).
    """

    def __init__(
        self,
        store: BaseStore | Any | None = None,
        namespace: Namespace = ("filesystem",),
        *,
        runtime: Any = None,
        allowed_prefixes: Sequence[str] = (),
        index: Literal[False] | list[str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        if store is not None and not isinstance(store, BaseStore):
            store, runtime = None, store
        if runtime is not None and not hasattr(runtime, "store"):
            raise ConfigurationError(
                f"StoreBackend was given a {type(runtime).__name__}, which is neither a store nor a tool's runtime. "
                "Pass StoreBackend(store=...), or nothing to use the running graph's store."
            )
        self._given_store = store
        self._runtime = runtime
        self._namespace = namespace if callable(namespace) else check_namespace(namespace)
        self._allowed = tuple(allowed_prefixes)
        self._index: Literal[False] | list[str] | None = index
        self._clock = clock or SystemClock()

    def perform(self, request: Request) -> Any:
        if isinstance(request, InMemory):
            return request.read(self._store())
        if not isinstance(request, SharedLock):
            return batch(self._store(), request)
        try:
            return request.acquire()
        except TimeoutError as error:
            raise StoreUnreachableError(_BUSY) from error

    async def aperform(self, request: Request) -> Any:
        if isinstance(request, InMemory):
            return request.read(self._store())
        if not isinstance(request, SharedLock):
            return await abatch(self._store(), request)
        try:
            return await request.aacquire()
        except TimeoutError as error:
            raise StoreUnreachableError(_BUSY) from error

    def read_whole(self, file_path: str) -> bytes | ErrorText:
        path = self._check_prefix(paths.resolve_file(file_path))
        if isinstance(path, ErrorText):
            return path
        try:
            data = run_steps(self._load(path), self.perform)
        except StoreUnreachableError as failure:
            return messages.unavailable(path, str(failure))
        return data if isinstance(data, ErrorText) else text.join_lines(data["content"]).encode()

    def ls_steps(self, path: str) -> Steps[Request, list[FileInfo]]:
        folder = self._check_prefix(paths.resolve(path))
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        try:
            files = yield from scan(self._labels())
        except StoreUnreachableError as failure:
            return Listing(error=messages.unavailable(folder, str(failure)))
        return tree.list_folder(files, folder)

    def glob_steps(self, pattern: str, path: str) -> Steps[Request, list[FileInfo]]:
        folder = self._check_prefix(paths.resolve(path))
        if isinstance(folder, ErrorText):
            return Listing(error=folder)
        try:
            files = yield from scan(self._labels())
        except StoreUnreachableError as failure:
            return Listing(error=messages.unavailable(folder, str(failure)))
        return tree.find(files, pattern, folder)

    def grep_steps(self, pattern: str, path: str | None, glob: str | None) -> Steps[Request, list[GrepMatch] | str]:
        folder = self._check_prefix(paths.resolve("/" if path is None else path))
        if isinstance(folder, ErrorText):
            return folder
        try:
            files = yield from scan(self._labels())
        except StoreUnreachableError as failure:
            return messages.unavailable(folder, str(failure))
        return tree.search(files, pattern, folder, glob)

    def read_steps(self, file_path: str, offset: int, limit: int) -> Steps[Request, str]:
        path = self._check_prefix(paths.resolve_file(file_path))
        if isinstance(path, ErrorText):
            return path
        try:
            data = yield from self._load(path)
        except StoreUnreachableError as failure:
            return messages.unavailable(path, str(failure))
        return data if isinstance(data, ErrorText) else tree.read_file({path: data}, path, offset, limit)

    def write_steps(
        self, file_path: str, content: str, overwrite: bool, expected_version: str | None
    ) -> Steps[Request, WriteResult]:
        path = self._check_prefix(paths.resolve_file(file_path))
        if isinstance(path, ErrorText):
            return WriteResult(error=path)
        if problem := text.content_complaint(path, content):
            return WriteResult(error=problem)
        problem = yield from self._hold(path, self._write(path, content, overwrite, expected_version))
        return WriteResult(error=problem) if problem else WriteResult(path=path, version=text.version_of(content))

    def edit_steps(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool, expected_version: str | None
    ) -> Steps[Request, EditResult]:
        path = self._check_prefix(paths.resolve_file(file_path))
        if isinstance(path, ErrorText):
            return EditResult(error=path)
        for part in (old_string, new_string):
            if problem := text.content_complaint(path, part):
                return EditResult(error=problem)
        steps = self._edit(path, old_string, new_string, replace_all, expected_version)
        result = yield from self._hold(path, steps)
        return EditResult(error=result) if isinstance(result, ErrorText) else result

    def delete_steps(self, file_path: str, expected_version: str | None) -> Steps[Request, DeleteResult]:
        path = self._check_prefix(paths.resolve_entry(file_path))
        if isinstance(path, ErrorText):
            return DeleteResult(error=path)
        result = yield from self._hold(path, self._delete(path, expected_version))
        return DeleteResult(error=result) if isinstance(result, ErrorText) else result

    def move_steps(
        self, source: str, destination: str, overwrite: bool, expected_version: str | None
    ) -> Steps[Request, MoveResult]:
        old, new = self._check_prefix(paths.resolve_entry(source)), self._check_prefix(paths.resolve_entry(destination))
        if isinstance(old, ErrorText) or isinstance(new, ErrorText):
            return MoveResult(error=old if isinstance(old, ErrorText) else new)
        steps: Steps[Request, MoveResult | ErrorText] = self._move(old, new, overwrite, expected_version)
        # Two top-level names may be concerned, and so two locks, which every move takes in the same order.
        locks = {id(lock): (lock, path) for path, lock in ((old, self._lock(old)), (new, self._lock(new)))}
        for _, (_, path) in sorted(locks.items()):
            steps = self._hold(path, steps)
        result = yield from steps
        return MoveResult(error=result) if isinstance(result, ErrorText) else result

    def _hold(self, path: str, steps: Steps[Request, T]) -> Steps[Request, T | ErrorText]:
        """Run steps while holding the path's lock."""
        lock = self._lock(path)
        try:
            yield lock
            try:
                return (yield from steps)
            finally:
                lock.release()
        except StoreUnreachableError as failure:
            return messages.unavailable(path, str(failure))

    def _write(
        self, path: str, content: str, overwrite: bool, expected_version: str | None
    ) -> Steps[Request, ErrorText | None]:
        """Store a whole file. The caller holds its lock."""
        labels = self._labels()
        around = yield from get(labels, path)
        if around.item is not None and not overwrite:
            return messages.exists(path)
        if around.item is None:
            if around.file_above is not None:
                return messages.below_file(path, around.file_above)
            if around.folder_named and tree.is_folder((yield from scan(labels)), path):
                return messages.is_folder(path)
        old = file_in(around.item)
        if expected_version is not None and _version(old) != expected_version:
            return messages.conflict(path)
        yield [put_file(labels, path, self._data(content, old), self._index), *map(put_folder(labels), around.unnamed_folders)]
        return None

    def _missing(self, path: str, *, changing: bool) -> Steps[Request, ErrorText]:
        """The error for a path without a file."""
        files = yield from scan(self._labels())
        return (changing and tree.placement_problem(files, path)) or tree.missing_file(files, path)

    def _edit(
        self, path: str, old_string: str, new_string: str, replace_all: bool, expected_version: str | None
    ) -> Steps[Request, EditResult]:
        """Change a file. The caller holds its lock."""
        data = yield from self._load(path, changing=True)
        if isinstance(data, ErrorText):
            return EditResult(error=data)
        if expected_version is not None and _version(data) != expected_version:
            return EditResult(error=messages.conflict(path))
        outcome = text.replace_exact(path, text.join_lines(data["content"]), old_string, new_string, replace_all)
        if isinstance(outcome, ErrorText):
            return EditResult(error=outcome)
        edited, count = outcome
        yield [put_file(self._labels(), path, self._data(edited, data), self._index)]
        return EditResult(path=path, occurrences=count, version=text.version_of(edited))

    def _delete(self, path: str, expected_version: str | None) -> Steps[Request, DeleteResult]:
        """Delete a file or a folder. The caller holds its lock."""
        labels = self._labels()
        around = yield from get(labels, path)
        doomed = [path] if around.item is not None else tree.files_at((yield from scan(labels)), path)
        if not doomed:
            return DeleteResult(error=messages.nothing_there(path))
        if expected_version is not None and _version(file_in(around.item)) != expected_version:
            return DeleteResult(error=messages.conflict(path))
        yield [delete_file(labels, each) for each in doomed]
        return DeleteResult(path=path, count=len(doomed))

    def _move(self, source: str, destination: str, overwrite: bool, expected_version: str | None) -> Steps[Request, MoveResult]:
        """Move a file or a folder. The caller holds the locks of both."""
        labels = self._labels()
        files = yield from scan(labels)
        planned = tree.plan_move(files, source, destination, overwrite)
        if isinstance(planned, ErrorText):
            return MoveResult(error=planned)
        if expected_version is not None and _version(files.get(source)) != expected_version:
            return MoveResult(error=messages.conflict(source))
        folders = {folder for _, after in planned for folder in paths.parents(after)}
        yield [
            *(put_file(labels, after, files[before], self._index) for before, after in planned),
            *(delete_file(labels, before) for before, _ in planned),
            *map(put_folder(labels), sorted(folders)),
        ]
        return MoveResult(path=destination, count=len(planned))

    def _load(self, path: str, *, changing: bool = False) -> Steps[Request, FileData | ErrorText]:
        """A file, or an error."""
        around = yield from get(self._labels(), path)
        if around.item is None:
            return (yield from self._missing(path, changing=changing))
        return file_in(around.item) or messages.not_text(path)

    def _data(self, content: str, old: FileData | None) -> FileData:
        now = timestamp(self._clock)
        return {
            "content": text.split_lines(content),
            "created_at": old.get("created_at", now) if old else now,
            "modified_at": now,
        }

    def _lock(self, path: str) -> SharedLock:
        # There is one lock per top-level name, so that a file and a folder of the same name cannot both be created.
        return _LOCKS.of(self._store()).at((self._labels(), path.split("/", 2)[1]))

    def _check_prefix(self, path: str | ErrorText) -> str | ErrorText:
        return path if isinstance(path, ErrorText) else paths.check_prefixes(path, self._allowed) or path

    def _store(self) -> BaseStore:
        return self._given_store if self._given_store is not None else find_store(self._runtime)

    def _labels(self) -> tuple[str, ...]:
        return find_namespace(self._namespace, self._runtime)


def _version(data: FileData | None) -> str | None:
    return None if data is None else text.version_of(text.join_lines(data["content"]))
