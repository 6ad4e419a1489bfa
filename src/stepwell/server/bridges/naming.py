"""Assistants under names that other programs can use: letters, digits, `-` and `_`, at most 64 of them, each name once.

A name comes from the assistant's own; a graph's default assistant has the graph's. Where two would be the same, the newer assistant's ends
with the beginning of its id.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from stepwell.database.records.types import AssistantFilter, Page
from stepwell.database.types import Assistant
from stepwell.server.login.principal import Principal
from stepwell.server.parts import Services

MAX_NAME = 64
_MOST = 1000


@dataclass(frozen=True)
class NamedAssistant:
    """An assistant and its name for other programs."""

    name: str
    assistant: Assistant


async def named_assistants(services: Services, principal: Principal, taken: Collection[str] = ()) -> list[NamedAssistant]:
    """All assistants that the caller may run and whose graphs are served, oldest first. `taken` are names of other things."""
    found = await services.assistants.search(principal.owner, AssistantFilter(), Page(limit=_MOST))
    served = [each for each in found if each.graph_id in services.registry.names]
    known, named = set(taken), []
    for assistant in sorted(served, key=lambda each: (each.created_at, each.assistant_id)):
        name = _usable(assistant.name)
        if name in known:
            name = f"{name[: MAX_NAME - 9]}_{assistant.assistant_id[:8]}"
        known.add(name)
        named.append(NamedAssistant(name, assistant))
    return named


def _usable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:MAX_NAME] or "assistant"
