"""What a model is able to do, so that applications can choose a less demanding mode."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Capabilities:
    """Judged by what a model does well, not by what its interface offers."""

    tools: bool
    """It calls tools sensibly: the right one, with suitable arguments."""
    writes: bool
    """What it writes can be shown to a person as an answer."""
    context: int
    """Maximum tokens per call."""


CAPABLE = Capabilities(tools=True, writes=True, context=128_000)
"""The default for a provider's current models if nothing better is known."""
