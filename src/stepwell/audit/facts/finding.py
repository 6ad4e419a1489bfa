"""What looking one fact up gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FactOutcome = Literal["found", "missing", "contradicted"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact of a claim: found in the quotes, missing there, or there with another value. `reason` is for the reader."""

    outcome: FactOutcome
    reason: str = ""
    tells_whom: bool = False
    """It is a name: it says whom the sentence is about, and nothing of what it says of them."""


FOUND = Finding("found")
NAMED = Finding("found", tells_whom=True)
