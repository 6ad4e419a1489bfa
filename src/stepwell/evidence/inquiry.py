"""One question at work: its place in the thread's trail, its ways out, and what is left of its ceilings.

A thread may hold several questions, one after the other or in branches. Each has a scope of its own (`q1`, `q2` ...) in the trail,
numbered by the trail and not by the thread's state, which can go back; and ceilings of its own. What a node `tell`s is part of the
branch's story (`audit/story.py`); what it `note`s is not. Whatever the policy has against a step, an address or a text is noted as
refused in the same breath as it is asked.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from stepwell.audit.canonical import sha256
from stepwell.audit.exchanges.recording import Recorder
from stepwell.audit.exchanges.refusals import record_refusal
from stepwell.audit.ledger import Evidence, read_evidence
from stepwell.audit.trail import Entry, EntryKind, NewEntry
from stepwell.audit.vault import append_beside
from stepwell.errors import ConfigurationError, LimitReachedError
from stepwell.evidence.equipment import Equipment
from stepwell.evidence.policy.rules import Step, Violation, address_to_record
from stepwell.evidence.recorded.models import RecordedModels, TrailSpending, is_on_this_machine
from stepwell.evidence.recorded.web import RecordedWeb
from stepwell.models import capabilities_of
from stepwell.models.routing import TASK_KINDS, TaskKind
from stepwell.tools.web.fetch import PageFetcher, Turns
from stepwell.tools.web.robots import RobotsBook
from stepwell.tools.web.transport import Web


class Inquiry:
    """A node of a graph opens it for the time it runs; an agent's tools keep it for the whole question."""

    def __init__(
        self,
        equipment: Equipment,
        config: RunnableConfig,
        scope: str,
        question: Entry | None,
        since: Entry | None,
        *,
        newest: str = "",
        retries: int = 0,
    ) -> None:
        """`scope` is what the keys of its entries begin with. `since` is the entry from which on its time counts; see `open` for the
        rest."""
        self.equipment = equipment
        self.config = config
        self.vault = equipment.vault_for(config)
        self.scope = scope
        self.turns = equipment.turns_for(config, self.scope)
        self.newest = newest
        """The key of what this branch told last; whoever told something keeps it for the next time."""
        self.thoughts: list[str] = []
        """What models said to themselves in it, where they give that."""
        self._retries = retries
        self._since = since
        # One for all steps, which run side by side: it counts and writes one request at a time, or the ceiling would leak.
        self.recorder = Recorder(self.vault, equipment.policy.limits.requests, scope=f"{self.scope}:")
        self._spending = TrailSpending(self.vault, question.seq if question else 0, scope=f"{self.scope}:")

    @classmethod
    async def open(cls, equipment: Equipment, config: RunnableConfig, *, number: int, newest: str, retries: int) -> Self:
        """The question of that number of the trail. `newest` is the key of what its branch told last, `retries` how often a person had
        its steps tried again."""
        vault = equipment.vault_for(config)
        question = await vault.find(_question_key(number))
        # Somebody who was offline comes back after hours: the time of the new try counts.
        tried = await vault.find(f"q{number}:retry:{retries}") if retries else None
        return cls(equipment, config, f"q{number}", question, tried or question, newest=newest, retries=retries)

    @property
    def turn(self) -> str:
        """LangGraph's name for the step that is at work: the same when it runs again, another one in another branch."""
        return str((self.config.get("metadata") or {}).get("langgraph_checkpoint_ns", ""))

    def web(self, step: str) -> RecordedWeb:
        """The way out of a step. What failed is known and stays so; a step that is tried again asks anew."""
        tried = f"{self.scope}:{step}:retry:{self._retries}" if self._retries else f"{self.scope}:{step}"
        return RecordedWeb(self.equipment.web, self.recorder, tried, self.equipment.replay)

    @cached_property
    def robots_web(self) -> RecordedWeb:
        """The way out to robots.txt, for all steps: what was asked once for a question is in its trail and is not asked again."""
        return self.web("robots")

    @cached_property
    def robots(self) -> RobotsBook:
        """What hosts allow."""
        return RobotsBook(self.robots_web, self.equipment.clock, check_hop=self.equipment.policy.check_hop)

    def make_fetcher(self, web: Web, turns: Turns | None = None) -> PageFetcher:
        """A fetcher on a step's way out. Those of a question are as polite as one: robots.txt once, and one line for each host."""
        equipment = self.equipment
        return PageFetcher(
            web,
            clock=equipment.clock,
            sleep=equipment.sleep,
            check_hop=equipment.policy.check_hop,
            turns=turns or self.turns,
            robots=self.robots,
        )

    @property
    def calls(self) -> RecordedModels:
        return RecordedModels(self.recorder, self.scope, self.equipment.replay, self.thoughts)

    def model(self, kind: TaskKind) -> BaseChatModel:
        if self.equipment.models is None:
            raise ConfigurationError("Research is extractive here: no model that can write is configured.")
        return self.equipment.models[kind]

    def model_before_approval(self, kind: TaskKind) -> BaseChatModel | None:
        """The model to plan or to audit with; `None` where rules do it: there is no model, or the policy lets none elsewhere be asked."""
        if self.equipment.models is None:
            return None
        if self.equipment.policy.sends_before_approval:
            return self.equipment.models[kind]
        candidates = [*(self.equipment.models[each] for each in (kind, *TASK_KINDS)), self.equipment.local]
        return next(
            (model for model in candidates if model and is_on_this_machine(model) and capabilities_of(model).writes), None
        )

    async def tell(self, kind: EntryKind, key: str, data: dict[str, Any]) -> Entry:
        """Write down the next thing that happened in this branch, once: a node that runs again tells the same."""
        entry = await self.note(kind, key, {**data, "after": self.newest})
        self.newest = entry.key
        return entry

    async def note(self, kind: EntryKind, key: str, data: dict[str, Any]) -> Entry:
        """Write something down, once. Where another branch has said something else under the key, it is numbered."""
        return await append_beside(self.vault, NewEntry(kind, f"{self.scope}:{key}", data))

    async def check_step(self, step: Step) -> list[Violation]:
        """What the policy has against a step of a plan; noted as refused, if there is anything."""
        broken = self.equipment.policy.check_step(step)
        if broken:
            reason = "; ".join(map(str, broken))
            url = address_to_record(step.input, broken) if step.tool == "fetch_page" else None
            await self.note_refusal(step.id, step.input, rule=broken[0].rule, reason=reason, url=url)
        return broken

    async def check_address(self, step: str, url: str) -> Violation | None:
        """The first thing that the policy has against an address; noted as refused, if there is one."""
        broken = self.equipment.policy.check_address(url)
        if not broken:
            return None
        await self.note_refusal(step, url, rule=broken[0].rule, reason=str(broken[0]), url=address_to_record(url, broken))
        return broken[0]

    async def check_text(self, step: str, text: str) -> Violation | None:
        """The first thing that the policy has against sending a text; noted as refused, if there is one."""
        broken = self.equipment.policy.check_outgoing(text)
        if not broken:
            return None
        await self.note_refusal(step, text, rule=broken[0].rule, reason=str(broken[0]))
        return broken[0]

    async def note_refusal(self, step: str, what: str, *, rule: str, reason: str, url: str | None = None) -> None:
        """Write down that something was not sent. `what` tells it from other refusals of the step; it is not written down itself."""
        key = f"{self.scope}:refusal:{step}:{sha256(what.encode())[:16]}"
        await record_refusal(self.vault, key, url=url, step=f"{self.scope}:{step}", rule=rule, reason=reason)

    async def evidence(self) -> Evidence:
        return read_evidence(await self.vault.entries())

    async def reached_ceiling(self) -> str | None:
        """The first ceiling that is reached, as a sentence; requests are counted by the recorder."""
        spending, limits = await self._spending.catch_up(), self.equipment.policy.limits
        guesses = f" {told}" if (told := spending.describe_guesses()) else ""
        if spending.used.tokens.total >= limits.tokens:
            return word_ceiling(f"{limits.tokens:,} tokens", "tokens") + guesses
        if spending.used.known_usd + spending.assumed_usd > limits.cost_usd:
            return word_ceiling(f"{limits.cost_usd:g} USD", "cost_usd") + guesses
        if not self.equipment.replay and self._seconds() >= limits.seconds:
            return word_ceiling(f"{limits.seconds:g} seconds", "seconds")
        return None

    @property
    def requests_ceiling(self) -> str:
        """The sentence for when the recorder refuses another request."""
        return word_ceiling(f"{self.equipment.policy.limits.requests} requests", "requests")

    def _seconds(self) -> float:
        return (self.equipment.clock.now() - datetime.fromisoformat(self._since.at)).total_seconds() if self._since else 0.0

    async def require_room(self) -> None:
        """Before a model is asked to plan or to audit: there is nothing yet that a partial report could be made of."""
        if ceiling := await self.reached_ceiling():
            raise LimitReachedError(f"{ceiling} There is no approved plan, so nothing was carried out.")


def word_ceiling(amount: str, rule: str) -> str:
    """A ceiling that is reached, with the rule that sets it. Reports hold such sentences, so a replay needs them to the letter."""
    return f"The ceiling of {amount} is reached (rule limits.{rule})."


async def begin_inquiry(
    equipment: Equipment, config: RunnableConfig, asked: dict[str, Any], newest: str
) -> tuple[Inquiry, int]:
    """Write a question down under the next number of the trail; the inquiry for it, and the number.

    `asked` says in which step of the graph it came (`turn`): a step that runs again after a crash finds its own question, while the same
    words sent again, there or from an earlier point, are another one.
    """
    vault = equipment.vault_for(config)
    data = {**asked, "after": newest}
    asked_before = [entry for entry in await vault.entries() if entry.kind == "question" and _NUMBERED.fullmatch(entry.key)]
    mine = next((entry for entry in asked_before if entry.data == data), None)
    number = max((_number(entry) for entry in asked_before), default=0) + 1 if mine is None else _number(mine)
    entry = await vault.append(NewEntry("question", _question_key(number), data))
    return Inquiry(equipment, config, f"q{number}", entry, entry, newest=entry.key), number


_NUMBERED = re.compile(r"q(\d{1,9}):question")


def _question_key(number: int) -> str:
    return f"q{number}:question"


def _number(question: Entry) -> int:
    return int(question.key.partition(":")[0].removeprefix("q"))
