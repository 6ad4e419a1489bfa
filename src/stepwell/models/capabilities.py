"""What a model can be trusted with, so that applications can choose a mode that needs less of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capabilities:
    """Judged by what a model does, not by what its interface offers."""

    tools: bool
    """It calls tools sensibly: the right one, with fitting arguments."""
    writes: bool
    """What it writes can be shown to a person as an answer."""
    context: int
    """Tokens it takes in one call."""


CAPABLE = Capabilities(tools=True, writes=True, context=128_000)
"""What is assumed of a provider's current models when nothing better is known."""
