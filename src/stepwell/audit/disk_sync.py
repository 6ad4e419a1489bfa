"""Make a new or renamed file's place in its folder survive a loss of power."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def sync_folder(folder: Path) -> None:
    if sys.platform == "win32":  # such systems have no way to ask for it
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
