"""Changes files on disk so that each change happens completely or not at all, and none undoes another.

```
hold(folder)    one writer per folder: a lock in memory keeps out other threads, and flock on the folder itself other processes
put(...)        write a new file beside the old one -> check that the old one is still what was read -> rename over it
```

The flock is on the folder's own descriptor, so there are no lock files, and it ends with the process that holds it. The comparison just
before the rename catches programs that do not use the lock (an editor, for example). A new file is renamed by a call that never
overwrites, so of two creators one wins.
"""

from __future__ import annotations

import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from stepwell.backends.disk.folder import ChangedError, Folder, check_regular, read_bytes

LOCK_TIMEOUT_S = 10.0
_STRIPES = 64
_RESERVED = re.compile(r"\.stepwell-[0-9a-f]{16}\.tmp")


def is_reserved(name: str) -> bool:
    """Whether a name has the form that unfinished writes and deletions use. Such names are not shown and cannot be used."""
    return _RESERVED.fullmatch(name) is not None


def reserved_name() -> str:
    """A new name of that form."""
    return f".stepwell-{secrets.token_hex(8)}.tmp"


def existing(folder: Folder, name: str) -> os.stat_result | None:
    """The status of a file that may be changed; None if it does not exist. Raises an error for anything else."""
    try:
        status = folder.stat(name)
    except FileNotFoundError:
        return None
    check_regular(status)
    if not folder.writable(name):  # a rename would ignore that the file is read-only
        raise PermissionError("read-only")
    return status


class FolderLocks:
    """One writer at a time per folder, within a time limit."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        # A fixed number of locks serves any number of folders. If two folders share a lock, their writers only wait a little longer.
        self._stripes = tuple(threading.Lock() for _ in range(_STRIPES))
        self._monotonic = monotonic

    @contextmanager
    def hold(self, folder: Folder) -> Iterator[None]:
        """Be the folder's only writer in the body. Raises `TimeoutError` if others keep the folder busy."""
        stripe = self._stripes[hash(folder.identity()) % _STRIPES]
        if not stripe.acquire(timeout=LOCK_TIMEOUT_S):
            raise TimeoutError("others keep writing to this folder")
        try:
            with self._alone_among_processes(folder.descriptor()):
                yield
        finally:
            stripe.release()

    @contextmanager
    def hold_both(self, one: Folder, other: Folder) -> Iterator[None]:
        """`hold` for two folders, which may be the same. Everybody takes two in the same order, so nobody waits in a circle."""
        folders = {folder.identity(): folder for folder in (one, other)}
        with ExitStack() as held:
            for stripe in sorted({hash(identity) % _STRIPES for identity in folders}):
                if not self._stripes[stripe].acquire(timeout=LOCK_TIMEOUT_S):
                    raise TimeoutError("others keep writing to this folder")
                held.callback(self._stripes[stripe].release)
            for _, folder in sorted(folders.items()):
                held.enter_context(self._alone_among_processes(folder.descriptor()))
            yield

    @contextmanager
    def _alone_among_processes(self, descriptor: int | None) -> Iterator[None]:
        try:
            import fcntl
        except ImportError:  # no such lock on this system; only the comparison before the rename remains
            descriptor = None
        if descriptor is None:
            yield
            return
        self._lock(descriptor)
        try:
            yield
        finally:
            # Closing the descriptor is not enough, because a child process that was forked meanwhile would keep the lock.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)

    def _lock(self, descriptor: int) -> None:
        import fcntl

        deadline = self._monotonic() + LOCK_TIMEOUT_S
        pause_s = 0.0005
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if self._monotonic() > deadline:
                    raise TimeoutError("another process keeps writing to this folder") from None
            except OSError:  # some network file systems cannot lock a folder
                return
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, 0.02)


def put(
    folder: Folder,
    name: str,
    data: bytes,
    *,
    before: os.stat_result | None,
    read: bytes | None = None,
    replace: bool,
    modified_ns: int,
    fsync: bool,
    mode: int | None = None,
) -> None:
    """Store a whole file. `before` is the status of the file it replaces, `read` the content that was read from that file, `mode` the
    permission bits of a file that replaces none. Raises `ChangedError` if that content has changed."""
    temporary = reserved_name()
    descriptor = folder.create(temporary)
    try:
        try:
            if mode is not None and before is None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode & 0o777)
            _fill(descriptor, data, before, modified_ns, fsync)
        finally:
            os.close(descriptor)
        if read is not None and not _still(folder, name, read):
            raise ChangedError("changed in between")
        (folder.replace if replace else folder.place)(temporary, name)
    except BaseException:
        with suppress(OSError):
            folder.remove(temporary)
        raise
    if fsync:
        folder.sync()


def _fill(descriptor: int, data: bytes, before: os.stat_result | None, modified_ns: int, fsync: bool) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    if before is not None:
        _keep_ownership(descriptor, before)
    if os.utime in os.supports_fd:
        os.utime(descriptor, ns=(modified_ns, modified_ns))
    if fsync:
        os.fsync(descriptor)


def _keep_ownership(descriptor: int, before: os.stat_result) -> None:
    """Copy mode and owner of the replaced file if this process may set them, but never set-uid bits."""
    mine = os.fstat(descriptor)
    if hasattr(os, "fchown") and (mine.st_uid, mine.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, before.st_mode & 0o777)


def _still(folder: Folder, name: str, read: bytes) -> bool:
    try:
        return read_bytes(folder, name, len(read)) == read
    except OSError:
        return False
