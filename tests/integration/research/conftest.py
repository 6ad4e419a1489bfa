"""Research on the offline world: real engines, fetcher and vault; only the web is ours, and the models are scripted."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from stepwell.apps.research.graph import build_graph
from stepwell.evidence.equipment import Equipment, make_equipment
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.settings import Settings
from stepwell.testing.web import OfflineWorld
from stepwell.tools.web.search.choice import search_chain


@pytest.fixture
def world() -> Iterator[OfflineWorld]:
    with OfflineWorld(idle_timeout_s=60.0) as made:
        yield made


async def _no_wait(seconds: float) -> None:
    """Politeness towards engines is tested elsewhere."""


MakeEquipment = Callable[..., Equipment]


@pytest.fixture
def equipment_for(world: OfflineWorld, tmp_path: Path) -> MakeEquipment:
    settings = Settings.load({"STEPWELL_DATA_DIR": str(tmp_path)})

    def make(**changes: Any) -> Equipment:
        parts = {
            "web": world.web,
            "search": lambda web: search_chain(settings, web, cached=False, sleep=_no_wait),
            "embedder": LexicalEmbedder(),
            "models": None,
        }
        return make_equipment(settings, **{**parts, **changes})

    return make


class Research:
    """A thread of the graph, driven by hand."""

    def __init__(self, equipment: Equipment) -> None:
        self.equipment = equipment
        self.graph = build_graph(equipment)
        self.graph.checkpointer = InMemorySaver()
        self.config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}}

    async def ask(self, query: str, **more: Any) -> dict[str, Any]:
        return await self.graph.ainvoke({"user_query": query, **more}, self.config)

    async def answer(self, answer: Any) -> dict[str, Any]:
        return await self.graph.ainvoke(Command(resume=answer), self.config)

    @property
    def vault(self) -> Any:
        return self.equipment.vault_for(self.config)


StartResearch = Callable[..., Research]


@pytest.fixture
def start(equipment_for: MakeEquipment) -> StartResearch:
    return lambda **changes: Research(equipment_for(**changes))


Awaited = Awaitable[dict[str, Any]]
