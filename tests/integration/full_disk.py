"""A disk without room, for whoever has mounted a small one."""

from __future__ import annotations

from pathlib import Path


def fill(folder: Path) -> Path:
    """Take all the room there is."""
    path = folder / "somebody-elses-file"
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path
