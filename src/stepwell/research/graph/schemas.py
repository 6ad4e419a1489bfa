"""Plans, steps, audits and lines of reasoning. Python uses snake_case; `/api/research` uses camelCase, by alias.

Plans from a model or a user are validated only here.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from stepwell.research.audit.story import hash_plan
from stepwell.research.evidence.policy.rules import StepTool, Violation
from stepwell.research.evidence.queries import LONGEST_INPUT
from stepwell.secrets.text import hide_secrets

MAX_STEPS = 6
MAX_PLAN_REVISIONS = 5
MOST_PLAN_REVISIONS = 1000
"""The largest value a caller may ask for. The ceilings of tokens, money and time end the research before."""
MAX_QUERY_CHARS = 4000
MAX_INPUT_CHARS = LONGEST_INPUT

ResearchStatus = Literal["idle", "thinking", "awaiting_approval", "executing", "synthesizing", "complete", "failed"]
PlanVerdict = Literal["approved", "rejected", "needs_revision"]
Node = Literal["intake", "thinker", "auditor", "hitl_gate", "tool_executor", "search_retry", "source_review", "synthesizer"]

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


def plan_sha256(plan: ResearchPlan) -> str:
    """Identifies what was approved: the steps as stored in the trail, without results and keys."""
    return hash_plan(keep_plan(plan))


def keep_plan(plan: ResearchPlan) -> dict[str, Any]:
    """A plan as stored in the trail, with keys redacted, such as one in an address that a user wants to have read."""
    told = plan.model_dump(mode="json")
    steps = [
        {**step, "input": hide_secrets(step["input"]), "rationale": hide_secrets(step["rationale"])} for step in told["steps"]
    ]
    return {**told, "objective": hide_secrets(told["objective"]), "steps": steps}


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
