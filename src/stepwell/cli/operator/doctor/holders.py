"""Which processes of this machine listen on a port or have a file open, as far as Linux shows them to this user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_LISTENING = "0A"
_PROC = Path("/proc")


def who_listens(port: int) -> str | None:
    """`python3 (process 42)` for the program that listens on a TCP port; None if that cannot be seen."""
    sockets = {
        f"socket:[{inode}]"
        for table in ("tcp", "tcp6")
        for local, state, inode in _sockets(_PROC / "net" / table)
        if state == _LISTENING and int(local.rpartition(":")[2], 16) == port
    }
    return _describe(pid for pid, target in _open_files() if target in sockets)


def who_has_open(file: Path) -> str | None:
    """The program that has a file open, besides this process."""
    wanted = str(file.resolve())
    return _describe(pid for pid, target in _open_files() if target == wanted)


def _sockets(table: Path) -> Iterator[tuple[str, str, str]]:
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split()
        yield fields[1], fields[3], fields[9]


def _open_files() -> Iterator[tuple[str, str]]:
    """(process, what it has open). Processes of other users are hidden, unless we are root."""
    for process in _PROC.iterdir() if _PROC.is_dir() else ():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            for descriptor in (process / "fd").iterdir():
                yield process.name, str(descriptor.readlink())
        except OSError:  # it has ended, or belongs to another user
            continue


def _describe(processes: Iterator[str]) -> str | None:
    """Only the program's name: its arguments may contain a password."""
    pid = next(processes, None)
    if pid is None:
        return None
    try:
        name = (_PROC / pid / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return f"{name} (process {pid})"
