"""What research may do: a parsed policy, and its checks of plans, steps, addresses and texts.

The same checks run before the plan is approved (the auditor) and before every request (the executor). `file.py` reads the policy from
Markdown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, get_args

from pydantic import BaseModel, ConfigDict

from stepwell.backends.patterns import TextPattern
from stepwell.errors import FetchRefusedError, ToolUseError, WebError
from stepwell.research.evidence.policy.spellings import spellings
from stepwell.tools.web.addresses import read_url

StepTool = Literal["web_search", "fetch_page", "search_documents"]
"""`search_documents` searches what came with the question. It sends nothing."""
DOCUMENTS: Final = "search_documents"
ONLY_DOCUMENTS: Final = "documents.only"
"""The rule of a question that is to be answered from the user's own documents alone."""


class Step(Protocol):
    """The fields of a step that the policy needs."""

    @property
    def id(self) -> str: ...
    @property
    def tool(self) -> StepTool: ...
    @property
    def input(self) -> str: ...


class Plan(Protocol):
    @property
    def steps(self) -> Sequence[Step]: ...


class Violation(BaseModel):
    """A rule that a plan, an address or a text breaks, by its id."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    rule: str
    reason: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


@dataclass(frozen=True)
class Limits:
    """Ceilings of one research, each enforced by counting."""

    requests: int = 40
    tokens: int = 200_000
    cost_usd: float = 1.0
    seconds: float = 900.0


AfterReading = Literal["shown", "ask", "any"]
"""What an agent may fetch once it has read foreign text: only what it was shown; all, but the user is asked about a new host with a
query; or all."""


AfterPrivate = Literal["question", "ask", "any"]
"""What an agent may search for once it has read the user's own material: words of the question; all, but the user is asked about other
words; or all."""


@dataclass(frozen=True)
class ResearchPolicy:
    text: str
    tools: frozenset[str] = frozenset(get_args(StepTool))
    allowed_domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    outgoing: Mapping[str, TextPattern] = field(default_factory=dict)
    """Name -> pattern of text that must not leave the machine."""
    sends_before_approval: bool = True
    """Whether a model on another machine may see the question and notes in order to make and judge a plan."""
    after_reading: AfterReading = "shown"
    """Only for deep research. In the graph `research`, the user has approved every address that did not come from a search."""
    after_private: AfterPrivate = "question"
    """Only for deep research. In the graph `research`, the user has approved every query."""
    judged: Mapping[str, str] = field(default_factory=dict)
    """Rule id -> sentence, for a model or the user to judge."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def check_plan(self, plan: Plan, *, only_documents: bool = False) -> list[Violation]:
        """The rules of the machine part that a plan breaks. `only_documents` says that the user wants no step on the web."""
        return [violation for step in plan.steps for violation in self.check_step(step, only_documents=only_documents)]

    def check_step(self, step: Step, *, only_documents: bool = False) -> list[Violation]:
        found = []
        if step.tool not in self.tools:
            found.append(Violation(rule="tools.allowed", reason=f"'{step.tool}' is not an allowed tool"))
        if step.tool == DOCUMENTS:
            return found  # what it searches for stays on the machine
        if only_documents:
            fact = f"'{step.tool}' uses the web, and only the user's own documents are to be searched"
            found.append(Violation(rule=ONLY_DOCUMENTS, reason=fact))
        checked = self.check_address(step.input) if step.tool == "fetch_page" else self.check_outgoing(step.input)
        return [*found, *checked]

    def check_address(self, url: str) -> list[Violation]:
        """Every rule that an address breaks, by its host or by the text it carries."""
        return [*self.check_url(url), *self.check_outgoing(url)]

    def check_hop(self, url: str) -> None:
        """`check_address` for a fetcher, before each request: `FetchRefusedError` names the first rule that is broken."""
        if broken := self.check_address(url):
            raise FetchRefusedError(f"The policy forbids it ({broken[0]}).", "policy")

    def check_url(self, url: str) -> list[Violation]:
        """The rules that forbid contacting an address's host. Parses the host as the transport does; the transport checks what the host
        resolves to."""
        try:
            host = read_url(url.strip()).host
        except WebError as error:
            return [Violation(rule="domains.allowed", reason=f"'{url[:80]}' is no address to be fetched. {error}")]
        if _within(host, self.denied_domains):
            return [Violation(rule="domains.denied", reason=f"'{host}' is denied")]
        if self.allowed_domains and not _within(host, self.allowed_domains):
            return [Violation(rule="domains.allowed", reason=f"'{host}' is not among the allowed ones")]
        return []

    def check_source(self, server: str, host: str = "") -> list[Violation]:
        """The rules that forbid asking an MCP server. It counts by its name, and by its host if it runs on another machine."""
        names = [name for name in (server, host) if name]
        if any(_within(name, self.denied_domains) for name in names):
            return [Violation(rule="domains.denied", reason=f"the MCP server '{server}' is denied")]
        if self.allowed_domains and not any(_within(name, self.allowed_domains) for name in names):
            return [Violation(rule="domains.allowed", reason=f"the MCP server '{server}' is not among the allowed ones")]
        return []

    def check_outgoing(self, text: str) -> list[Violation]:
        """The rules that forbid sending a text, however it is spelled. The result does not repeat what was found, because it may itself
        be sent."""
        if not self.outgoing:
            return []
        try:
            forms = spellings(text)
        except ToolUseError as error:
            return [Violation(rule="outgoing.spelling", reason=str(error))]
        return [
            Violation(rule=f"outgoing.{name}", reason="holds text that must not leave the machine")
            for name, pattern in self.outgoing.items()
            if any(pattern.find(form) for form in forms)
        ]


def address_to_record(url: str, broken: Sequence[Violation]) -> str | None:
    """The address of a refusal as it may be stored; `None` if it was refused for the text it carries."""
    return None if any(violation.rule.startswith("outgoing.") for violation in broken) else url


def _within(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)
