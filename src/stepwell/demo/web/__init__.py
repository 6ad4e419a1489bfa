"""Our own web on loopback, for tests, benchmarks and demonstrations: nothing leaves the machine.

`OfflineWorld` has pages with known facts, and search engines in their real formats; `InMemoryWorld` is the same without a socket.
`ScriptedWeb` has no socket either and returns the responses that a test defines.
"""

from __future__ import annotations

from stepwell.demo.web.facts import Fact, WorldPage, world_pages
from stepwell.demo.web.in_memory import InMemoryWorld
from stepwell.demo.web.scripted import ScriptedWeb, answer
from stepwell.demo.web.world import OfflineWorld, Received

__all__ = ["Fact", "InMemoryWorld", "OfflineWorld", "Received", "ScriptedWeb", "WorldPage", "answer", "world_pages"]
