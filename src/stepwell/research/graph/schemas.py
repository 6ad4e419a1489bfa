"""Plans, steps, audits and lines of reasoning. Python uses snake_case; `/api/research` uses camelCase, by alias.

Plans from a model or a user are validated only here.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator
from pydantic.alias_generators import to_camel

from stepwell.research.audit.asked_form import LEAST_WORDS, MOST_WORDS, fit_titles
from stepwell.research.audit.forms import MOST_FOLLOW_UPS, MOST_SECTIONS
from stepwell.research.audit.story import hash_plan
from stepwell.research.audit.writing.draft import is_heading
from stepwell.research.evidence.policy.rules import DOCUMENTS, StepTool, Violation
from stepwell.research.evidence.queries import LONGEST_INPUT
from stepwell.secrets.text import hide_secrets

MAX_STEPS = 6
FOLLOW_UPS = 2
MAX_FOLLOW_UPS = MOST_FOLLOW_UPS
MAX_PLAN_REVISIONS = 5
MAX_REASONING_ENTRIES = 20
MOST_PLAN_REVISIONS = 1000
"""The largest value a caller may ask for. The ceilings of tokens, money and time end the research before."""
MAX_QUERY_CHARS = 4000
MAX_INPUT_CHARS = LONGEST_INPUT

ResearchStatus = Literal["idle", "thinking", "awaiting_approval", "executing", "synthesizing", "complete", "failed"]
PlanVerdict = Literal["approved", "rejected", "needs_revision"]
Node = Literal[
    "intake", "thinker", "auditor", "hitl_gate", "tool_executor", "search_retry", "follow_up", "source_review", "synthesizer"
]  # fmt: skip

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _new_id() -> str:
    return str(uuid.uuid4())


class Wire(BaseModel):
    """A value that also travels on `/api/research`."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class ResearchStep(Wire):
    """One thing to look up. `depends_on` names steps that have to be done before; the others run side by side."""

    id: str = Field(default_factory=_new_id)
    tool: StepTool = "web_search"
    input: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_INPUT_CHARS)]
    rationale: str = ""
    depends_on: tuple[str, ...] = ()
    output: str | None = None
    """What came of it, in a line: which engine answered, how many sources; or why nothing."""


class ResearchPlan(Wire):
    objective: Text
    steps: tuple[ResearchStep, ...] = Field(min_length=1, max_length=MAX_STEPS)
    estimated_token_budget: int = Field(default=0, ge=0)
    revision: int = Field(default=0, ge=0)
    follow_ups: int = Field(default=FOLLOW_UPS, ge=0, le=MAX_FOLLOW_UPS)
    """How many further searches may follow from names that the steps find."""
    words: int | None = Field(default=None, ge=LEAST_WORDS, le=MOST_WORDS)
    """How long the report is to be, if somebody said so."""
    outline: tuple[str, ...] = Field(default=(), max_length=MOST_SECTIONS)
    """The titles of the report's sections; empty if the writer decides."""

    @field_validator("outline")
    @classmethod
    def _check_titles(cls, titles: tuple[str, ...]) -> tuple[str, ...]:
        bare = tuple(" ".join(title.split()) for title in titles)
        for title in bare:
            if not is_heading(title):
                raise ValueError(
                    f"'{title[:80]}' cannot be the title of a section: use a few words, without figures, a full stop or an address"
                )
        if len({title.casefold() for title in bare}) < len(bare):
            raise ValueError("two sections have the same title")
        return bare

    @property
    def uses_web(self) -> bool:
        return any(step.tool != DOCUMENTS for step in self.steps)


class ProposedPlan(ResearchPlan):
    """A plan as a model answers it: a length or title that cannot be used is left out, and does not cost the plan."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out(cls, said: Any) -> Any:
        if not isinstance(said, dict):
            return said
        words, titles = said.get("words"), said.get("outline")
        is_fit = isinstance(words, int) and not isinstance(words, bool) and LEAST_WORDS <= words <= MOST_WORDS
        return {**said, "words": words if is_fit else None, "outline": fit_titles(titles if isinstance(titles, list) else ())}


class Followed(ResearchStep):
    """A search that followed from what was found. `source` is a page (`s3`), an excerpt of the user's, or `notes`."""

    source: str
    because: str
    """The words of the source that it came from."""


def plan_sha256(plan: ResearchPlan) -> str:
    """Identifies what was approved: the steps as stored in the trail, without results and keys."""
    return hash_plan(keep_plan(plan))


def keep_plan(plan: ResearchPlan) -> dict[str, Any]:
    """A plan as stored in the trail, with keys redacted, such as one in an address that a user wants to have read."""
    told = plan.model_dump(mode="json")
    steps = [
        {**step, "input": hide_secrets(step["input"]), "rationale": hide_secrets(step["rationale"])} for step in told["steps"]
    ]
    kept = {**told, "objective": hide_secrets(told["objective"]), "steps": steps}
    form = {"words": told["words"], "outline": [hide_secrets(title) for title in told["outline"]]}
    return {name: value for name, value in kept.items() if name not in form} | {
        name: each for name, each in form.items() if each
    }


class AuditResult(Wire):
    verdict: PlanVerdict
    violations: tuple[Violation, ...] = ()
    suggestions: tuple[str, ...] = ()
    left_to_the_human: tuple[str, ...] = ()
    """Rules that nobody here could judge, for lack of a capable model: the person at the gate is asked to."""

    @property
    def policy_violations(self) -> list[str]:
        """One line each, as `/api/research` shows them."""
        return [str(violation) for violation in self.violations]


class Estimate(Wire):
    """What carrying out a plan will cost at most, shown before it is approved."""

    requests: int
    tokens: int
    cost_usd: float | None = None
    """`None` where the model's price is not known."""
    price_note: str = ""
    """What is assumed then, so that the ceiling of money holds all the same."""
    sends: str = ""
    """What will leave the machine, as a sentence, if the plan searches nothing but the user's documents; else empty."""


class ReasoningEntry(Wire):
    node: Node
    timestamp: datetime
    summary: str
    raw_thought: str | None = None


class Approval(Wire):
    """What a person said at the gate."""

    decision: Literal["approve", "edit", "reject"]
    plan: ResearchPlan | None = None
    reason: str = ""
    stop: bool = False
    """With `reject`: end here, instead of another plan."""


class RetryAnswer(Wire):
    """What a person said when nobody could be reached."""

    decision: Literal["approve", "reject", "documents"]
    """`documents`: write from the user's own documents instead."""
    reason: str = ""
