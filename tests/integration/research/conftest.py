"""Research on the offline world: real engines, fetcher and vault; only the web is ours, and the models are scripted."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from tests.support.trap_pages import trap_pages

from stepwell.demo.web import OfflineWorld
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.research.audit.bundle import write_bundle
from stepwell.research.audit.signing import SigningKey
from stepwell.research.evidence.equipment import Equipment, make_equipment
from stepwell.research.graph.graph import build_graph
from stepwell.settings import Settings
from stepwell.tools.web.search.choice import search_chain

from .roles import Evidence, Roles, plan


@pytest.fixture
def world() -> Iterator[OfflineWorld]:
    with OfflineWorld(extra=trap_pages, idle_timeout_s=60.0) as made:
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


def _write(shown: Evidence) -> str:
    """Three quotes word for word, and one sentence with a number that its source does not have."""
    found = list(shown.items())[:3]
    lines = [f"{text.split('. ')[0].rstrip('.')} [{name}]." for name, text in found]
    return "## Found\n\n" + "\n\n".join(lines) + f" It has 77,777 doors [{found[0][0]}]."


class _Judge:
    """Finds the second of the sentences it is asked about only partly borne out."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, asked: str) -> str:
        self.asked.append(asked)
        return "partial" if len(set(self.asked)) == 2 else "supported"


@pytest.fixture(scope="session")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One report of quotes and one that models wrote, each signed by its owner."""
    folder = tmp_path_factory.mktemp("bundles")
    settings = Settings.load({"STEPWELL_DATA_DIR": str(folder)})
    with OfflineWorld(idle_timeout_s=20.0) as world:
        subject = world.pages[0].subject

        async def make(name: str, models: Any) -> Path:
            search = lambda web: search_chain(settings, web, cached=False, sleep=_no_wait)  # noqa: E731
            equipment = make_equipment(settings, web=world.web, search=search, embedder=LexicalEmbedder(), models=models)
            research = Research(equipment)
            await research.ask(f"How large is the {subject}, and who made it?")
            assert (await research.answer(True))["status"] == "complete"
            await write_bundle(research.vault, folder / f"{name}.zip", SigningKey(folder))
            return folder / f"{name}.zip"

        roles = Roles(plans=[plan(subject)], write=_write, judge=_Judge())
        return {"extractive": asyncio.run(make("extractive", None)), "written": asyncio.run(make("written", roles.routes))}
