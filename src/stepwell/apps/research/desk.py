"""One question at work: its place in the thread's trail, its ways out, and what is left of its ceilings.

A thread may hold several questions one after the other. Each has a scope of its own (`q1`, `q2` ...) in the trail, and its
ceilings count from its first entry on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from stepwell.apps.research.kit import Kit
from stepwell.apps.research.recorded_models import RecordedModels, cost_usd, tokens_used
from stepwell.apps.research.recorded_web import RecordedWeb
from stepwell.apps.research.schemas import Node, ReasoningEntry
from stepwell.apps.research.state import ResearchState
from stepwell.audit.canonical import sha256
from stepwell.audit.ledger import Evidence, read_evidence
from stepwell.audit.recording import Recorder, requests_made
from stepwell.audit.refusals import record_refusal
from stepwell.audit.trail import Entry, Kind, NewEntry
from stepwell.errors import ConfigurationError, LimitReachedError
from stepwell.models.routing import TaskKind


@dataclass(frozen=True)
class Spent:
    """What a question has used so far."""

    requests: int
    tokens: int
    cost_usd: float | None
    seconds: float


class Desk:
    """Opened by a node, for the time it runs: `desk = await open_desk(kit, state, config)`."""

    def __init__(self, kit: Kit, config: RunnableConfig, number: int, entries: list[Entry]) -> None:
        self.kit = kit
        self.vault = kit.vault_for(config)
        self.scope = f"q{number}"
        self._began = next((entry for entry in entries if entry.key == f"{self.scope}:question"), None)
        self._before = requests_made(entry for entry in entries if self._began is None or entry.seq < self._began.seq)
        # One for all steps, which run side by side: it counts and writes one request at a time, or the ceiling would leak.
        # It counts the whole thread; the ceiling is one question's.
        self.recorder = Recorder(self.vault, self._before + kit.policy.limits.requests)

    def web(self, step: str) -> RecordedWeb:
        return RecordedWeb(self.kit.web, self.recorder, f"{self.scope}:{step}", self.kit.replay)

    @property
    def calls(self) -> RecordedModels:
        return RecordedModels(self.recorder, self.scope, self.kit.replay)

    def model(self, kind: TaskKind) -> BaseChatModel:
        if self.kit.models is None:
            raise ConfigurationError("Research is extractive here: no model that can write is configured.")
        return self.kit.models[kind]

    async def note(self, kind: Kind, key: str, data: dict[str, Any]) -> Entry:
        """Write something down, once."""
        return await self.vault.append(NewEntry(kind, f"{self.scope}:{key}", data))

    async def refused(self, step: str, what: str, *, rule: str, reason: str, url: str | None = None) -> None:
        """Write down that something was not sent. `what` tells it from other refusals of the step; it is not written down itself."""
        key = f"{self.scope}:refusal:{step}:{sha256(what.encode())[:16]}"
        await record_refusal(self.vault, key, url=url, step=f"{self.scope}:{step}", rule=rule, reason=reason)

    async def evidence(self) -> Evidence:
        return read_evidence(await self.vault.entries())

    async def spent(self) -> Spent:
        entries = await self.vault.entries()
        since = self._began.seq if self._began else 0
        seconds = (self.kit.clock.now() - datetime.fromisoformat(self._began.at)).total_seconds() if self._began else 0.0
        return Spent(requests_made(entries) - self._before, tokens_used(entries, since), cost_usd(entries, since), seconds)

    async def exhausted(self) -> str | None:
        """The first ceiling that is reached, as a sentence; requests are counted by the recorder."""
        spent, limits = await self.spent(), self.kit.policy.limits
        if spent.tokens >= limits.tokens:
            return f"The ceiling of {limits.tokens:,} tokens is reached (rule limits.tokens)."
        if spent.cost_usd is not None and spent.cost_usd > limits.cost_usd:
            return f"The ceiling of {limits.cost_usd:g} USD is reached (rule limits.cost_usd)."
        if not self.kit.replay and spent.seconds >= limits.seconds:
            return f"The ceiling of {limits.seconds:g} seconds is reached (rule limits.seconds)."
        return None

    async def require_room(self) -> None:
        """Before a model is asked to plan or to audit: there is nothing yet that a partial report could be made of."""
        if ceiling := await self.exhausted():
            raise LimitReachedError(f"{ceiling} There is no approved plan, so nothing was carried out.")

    def reasoning(self, node: Node, summary: str, raw_thought: str | None = None) -> list[ReasoningEntry]:
        """One line for the trace that people see."""
        return [ReasoningEntry(node=node, timestamp=self.kit.clock.now(), summary=summary, raw_thought=raw_thought)]


async def open_desk(kit: Kit, state: ResearchState, config: RunnableConfig) -> Desk:
    number = state.get("question_number", 0)
    return Desk(kit, config, number, await kit.vault_for(config).entries())
