"""The options of a chat with an agent in this process, and the model that they choose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

USUAL = "usual"
"""No mode: as the agent was built."""
STREAM_MODES = ("messages-tuple", "updates", "custom")
"""What a session streams, from a server or from an engine in this process."""


@dataclass(frozen=True)
class ChatOptions:
    """The options of `stepwell chat`, passed to the function that `ChatApp.place` names."""

    model: str | None = None
    once: str | None = None
    """Send this one message instead of reading messages."""
    demo: bool = False
    """Play a script instead of using a model."""
    ask_before: tuple[str, ...] = ()
    """Tools that need the user's permission."""
    project: Path | None = None
    """The folder in which the agent may work."""
    mode: str | None = None
    """How much runs may change."""


def choose_model(model: str | None) -> Any:
    """The requested or configured model; None if there is neither."""
    from stepwell.models import resolve_model
    from stepwell.models.choice import find_model
    from stepwell.settings import Settings

    settings = Settings.load()
    if model is None and find_model(settings) is None:
        return None
    return resolve_model(model, settings=settings, own_retries=False)
