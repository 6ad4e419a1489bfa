"""The three search verbs as every contestant offers them to a scenario; each tells how many rows it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Verbs:
    """Searches over one set of files."""

    grep: Callable[[str], int]
    glob: Callable[[str], int]
    ls: Callable[[str], int]
