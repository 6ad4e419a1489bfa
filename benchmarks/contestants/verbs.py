"""What contestants offer to a scenario beside agents: the three search verbs, each of which tells how many rows it found, and decoding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Verbs:
    """Searches over one set of files."""

    grep: Callable[[str], int]
    glob: Callable[[str], int]
    ls: Callable[[str], int]


Decode = Callable[[str, int, Callable[[str], None]], None]
"""A loaded local model: a question, the number of tokens, and who takes each piece of the answer as it comes."""
