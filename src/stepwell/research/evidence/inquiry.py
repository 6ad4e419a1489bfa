"""One open question: its place in the thread's trail, its connections, and what is left of its ceilings.

A thread may hold several questions, one after the other or in branches. Each has its own scope (`q1`, `q2` ...) in the trail and its own
ceilings. They are numbered in the trail, not in the thread's state, because the state can go back. What a node writes with `tell` is part
of the branch's story (`audit/story.py`); what it writes with `note` is not. When the policy forbids a step, an address or a text, the
check that finds it also notes the refusal.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from typing import Any, Self

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from stepwell.errors import ConfigurationError, LimitReachedError
from stepwell.models import capabilities_of
from stepwell.models.connected import TASK_KINDS, TaskKind
from stepwell.research.audit.canonical import sha256
from stepwell.research.audit.exchanges.recording import Recorder
from stepwell.research.audit.exchanges.refusals import record_refusal
from stepwell.research.audit.ledger import Evidence, read_evidence
from stepwell.research.audit.trail import Entry, EntryKind, NewEntry
from stepwell.research.audit.vault import append_beside
from stepwell.research.evidence.equipment import Equipment
from stepwell.research.evidence.own_documents import read_own
from stepwell.research.evidence.policy.rules import Step, Violation, address_to_record
from stepwell.research.evidence.recorded.models import RecordedModels, TrailSpending, is_on_this_machine
from stepwell.research.evidence.recorded.web import RecordedWeb
from stepwell.tools.web.fetch import PageFetcher, Turns
from stepwell.tools.web.robots import RobotsBook
from stepwell.tools.web.transport import Web


class Inquiry:
    """One open question. A node of a graph opens it for its own run; an agent's tools keep it open for the whole question."""

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
        """`scope` is the prefix of the question's keys in the trail. Its time counts from the entry `since`; see `open` for the other
        arguments."""
        self.equipment = equipment
        self.config = config
        self.vault = equipment.vault_for(config)
        self.scope = scope
        self.turns = equipment.turns_for(config, self.scope)
        self.newest = newest
        """The key of this branch's last entry. The caller stores it for the next node."""
        self.thoughts: list[str] = []
        """The models' reasoning, if they return it."""
        self.own = read_own(question.data) if question else []
        """The user's own documents that came with the question."""
        only = str(question.data.get("only_documents", "no")) if question else "no"
        self.only_documents = only != "no"
        """Whether the question is to be answered from them alone."""
        self.asked_for_documents = only == "asked"
        """Whether the user asked for that."""
        self._retries = retries
        self._since = since
        # Shared by all steps, which run concurrently. It counts and writes one request at a time, so that the ceiling cannot be exceeded.
        self.recorder = Recorder(self.vault, equipment.policy.limits.requests, scope=f"{self.scope}:")
        self._spending = TrailSpending(self.vault, question.seq if question else 0, scope=f"{self.scope}:")

    @classmethod
    async def open(cls, equipment: Equipment, config: RunnableConfig, *, number: int, newest: str, retries: int) -> Self:
        """Opens a question by its number in the trail. `newest` is the key of its branch's last entry, `retries` the number of the user's
        last retry."""
        vault = equipment.vault_for(config)
        question = await vault.find(_question_key(number))
        # A user who was offline may return after hours, so the time counts from the retry.
        tried = await vault.find(f"q{number}:retry:{retries}") if retries else None
        return cls(equipment, config, f"q{number}", question, tried or question, newest=newest, retries=retries)

    @property
    def turn(self) -> str:
        """LangGraph's id for the running step. It is the same when the step runs again, and another one in another branch."""
        return str((self.config.get("metadata") or {}).get("langgraph_checkpoint_ns", ""))

    def web(self, step: str) -> RecordedWeb:
        """The connection of a step. A recorded failure stays an answer, except that a step which the user retries sends its requests
        again."""
        tried = f"{self.scope}:{step}:retry:{self._retries}" if self._retries else f"{self.scope}:{step}"
        return RecordedWeb(self.equipment.web, self.recorder, tried, self.equipment.replay)

    @cached_property
    def robots_web(self) -> RecordedWeb:
        """The connection for robots.txt, shared by all steps. The trail keeps each answer, so that no step requests it again."""
        return self.web("robots")

    @cached_property
    def robots(self) -> RobotsBook:
        """The robots.txt rules of hosts."""
        return RobotsBook(self.robots_web, self.equipment.clock, check_hop=self.equipment.policy.check_hop)

    def make_fetcher(self, web: Web, turns: Turns | None = None) -> PageFetcher:
        """A fetcher over a step's connection. All fetchers of a question share robots.txt and one queue per host."""
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
        """The model to plan or audit with; `None` if rules must do it, because there is no model, or only local ones are allowed and
        there is none."""
        if self.equipment.models is None:
            return None
        if self.equipment.policy.sends_before_approval:
            return self.equipment.models[kind]
        candidates = [*(self.equipment.models[each] for each in (kind, *TASK_KINDS)), self.equipment.local]
        return next(
            (model for model in candidates if model and is_on_this_machine(model) and capabilities_of(model).writes), None
        )

    async def tell(self, kind: EntryKind, key: str, data: dict[str, Any]) -> Entry:
        """Write this branch's next entry. It is written only once, even if the node runs again."""
        entry = await self.note(kind, key, {**data, "after": self.newest})
        self.newest = entry.key
        return entry

    async def note(self, kind: EntryKind, key: str, data: dict[str, Any]) -> Entry:
        """Write an entry, only once even if the node runs again. If another branch has written something else under the key, the key gets
        a number."""
        return await append_beside(self.vault, NewEntry(kind, f"{self.scope}:{key}", data))

    async def check_step(self, step: Step) -> list[Violation]:
        """The rules of the policy that a step of a plan breaks. Notes the refusal, if any."""
        broken = self.equipment.policy.check_step(step, only_documents=self.only_documents)
        if broken:
            reason = "; ".join(map(str, broken))
            url = address_to_record(step.input, broken) if step.tool == "fetch_page" else None
            await self.note_refusal(step.id, step.input, rule=broken[0].rule, reason=reason, url=url)
        return broken

    async def check_address(self, step: str, url: str) -> Violation | None:
        """The first rule of the policy that an address breaks. Notes the refusal, if any."""
        broken = self.equipment.policy.check_address(url)
        if not broken:
            return None
        await self.note_refusal(step, url, rule=broken[0].rule, reason=str(broken[0]), url=address_to_record(url, broken))
        return broken[0]

    async def check_text(self, step: str, text: str) -> Violation | None:
        """The first rule of the policy that forbids sending a text. Notes the refusal, if any."""
        broken = self.equipment.policy.check_outgoing(text)
        if not broken:
            return None
        await self.note_refusal(step, text, rule=broken[0].rule, reason=str(broken[0]))
        return broken[0]

    async def note_refusal(self, step: str, what: str, *, rule: str, reason: str, url: str | None = None) -> None:
        """Write down that something was not sent. `what` distinguishes this refusal from others of the step; `what` itself is not
        stored."""
        key = f"{self.scope}:refusal:{step}:{sha256(what.encode())[:16]}"
        await record_refusal(self.vault, key, url=url, step=f"{self.scope}:{step}", rule=rule, reason=reason)

    async def evidence(self) -> Evidence:
        return read_evidence(await self.vault.entries())

    async def reached_ceiling(self) -> str | None:
        """The first ceiling that is reached, as a sentence. Does not look at requests, which the recorder counts."""
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
        """Checks the ceilings before a model plans or audits. Raises if one is reached, because there is nothing yet for a partial
        report."""
        if ceiling := await self.reached_ceiling():
            raise LimitReachedError(f"{ceiling} There is no approved plan, so nothing was carried out.")


def word_ceiling(amount: str, rule: str) -> str:
    """The sentence for a reached ceiling, with its rule. Reports contain it, so a replay needs it word for word."""
    return f"The ceiling of {amount} is reached (rule limits.{rule})."


async def begin_inquiry(
    equipment: Equipment, config: RunnableConfig, asked: dict[str, Any], newest: str
) -> tuple[Inquiry, int]:
    """Write a question down under the next number of the trail; returns its inquiry and the number.

    `asked` includes `turn`, the step at which the question came. A step repeated after a crash therefore finds its own question; the same
    words sent again are a new question.
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
