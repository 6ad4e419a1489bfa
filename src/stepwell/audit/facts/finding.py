"""What looking one fact up gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["found", "missing", "contradicted"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact of a claim: found in the quotes, missing there, or there with another value. `reason` is for the reader."""

    outcome: Outcome
    reason: str = ""


FOUND = Finding("found")
