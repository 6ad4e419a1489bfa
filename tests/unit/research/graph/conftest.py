"""A research at work without a socket: a scripted web, a scripted engine, evidence in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from stepwell.demo.web import ScriptedWeb, answer
from stepwell.models.embedding.lexical import LexicalEmbedder
from stepwell.models.routing import ModelRoutes
from stepwell.research.audit.memory_vault import MemoryVault
from stepwell.research.audit.trail import Entry, NewEntry
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.inquiry import Inquiry
from stepwell.research.evidence.policy.file import default_policy
from stepwell.research.evidence.policy.rules import ResearchPolicy
from stepwell.tools.web.search.chain import SearchChain
from stepwell.tools.web.search.outcomes import Found, SearchOutcome, SearchResult
from stepwell.tools.web.transport import Web, WebRequest


class ScriptedEngine:
    """Asks the web once, as engines do, and gives the outcome a test wants."""

    name = "scripted"

    def __init__(self, web: Web, outcome: SearchOutcome) -> None:
        self._web = web
        self._outcome = outcome

    async def search(self, query: str, limit: int = 10) -> SearchOutcome:
        await self._web.send(WebRequest(f"https://engine.example/?q={query}", purpose="search:scripted"))
        return self._outcome


def found(*urls: str) -> Found:
    return Found("scripted", tuple(SearchResult(url, url) for url in urls))


class YieldingVault(MemoryVault):
    """Lets others run in between, as a vault on a disk does."""

    async def entries(self, after: int = 0) -> list[Entry]:
        await asyncio.sleep(0)
        return await super().entries(after)

    async def append(self, new: NewEntry) -> Entry:
        await asyncio.sleep(0)
        return await super().append(new)


class Bench:
    """Equipment and its vault."""

    def __init__(
        self, pages: Mapping[str, Any], outcome: SearchOutcome, policy: ResearchPolicy, models: ModelRoutes | None
    ) -> None:
        self.web = ScriptedWeb({"https://engine.example/": answer("results"), **pages})
        self.vault = YieldingVault()
        self.equipment = Equipment(
            policy=policy,
            web=self.web,
            search=lambda web: SearchChain([ScriptedEngine(web, outcome)]),
            embedder=LexicalEmbedder(),
            models=models,
            vault_for=lambda config: self.vault,
        )

    async def inquiry(self) -> Inquiry:
        await self.vault.append(NewEntry("question", "q1:question", {"query": "?"}))
        return await Inquiry.open(self.equipment, {}, number=1, newest="", retries=0)


MakeBench = Callable[..., Bench]


@pytest.fixture
def bench() -> MakeBench:
    def make(
        pages: Mapping[str, Any] | None = None,
        outcome: SearchOutcome | None = None,
        policy: ResearchPolicy | None = None,
        models: ModelRoutes | None = None,
    ) -> Bench:
        return Bench(pages or {}, outcome or found(), policy or default_policy(), models)

    return make
