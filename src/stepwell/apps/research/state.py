"""What a research thread remembers. Everything replaces what was there, but for the reasoning, which appends and keeps its last 20.

That cap is for the view only: the whole record is the trail in the vault, which nothing shortens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict  # pydantic builds no JSON schema from typing's own before Python 3.12

from stepwell.apps.research.schemas import AuditResult, ReasoningEntry, ResearchPlan, ResearchStatus
from stepwell.audit.ledger import Evidence
from stepwell.evidence.gathering import Unreached

MAX_REASONING_ENTRIES = 20

Done = tuple[dict[str, Any], str]
"""What a node gives: what it changes in the state, and a line about it for whoever watches; empty where there is nothing to say."""


def append_reasoning(
    existing: Sequence[ReasoningEntry] | None, incoming: Sequence[ReasoningEntry] | None
) -> list[ReasoningEntry]:
    """The newest entries, in order. Nodes hand over one entry each."""
    return [*(existing or ()), *(incoming or ())][-MAX_REASONING_ENTRIES:]


class ResearchInput(TypedDict, total=False):
    """What a caller sends: a question as `user_query`, or as the last message of a chat."""

    messages: Annotated[list[AnyMessage], add_messages]
    user_query: str
    knowledge_context: str
    snippets: list[dict[str, Any]]
    """Excerpts from the caller's device: `snippets.Snippet`."""
    context_urls: list[str]
    max_plan_revisions: int
    review_sources: bool


class ResearchState(ResearchInput, total=False):
    asked_in: str
    """The id of the message that was last taken for a question."""
    question_number: int
    """Which question of the trail this is, from 1. Another branch of the thread has others."""
    newest_entry: str
    """The key of what this branch told last to the trail: what comes next names it, so that each branch can be followed."""
    plan_number: int
    """How many plans were made for this question: what a plan's entries in the trail are known by."""
    plan: ResearchPlan | None
    audit_result: AuditResult | None
    reasoning: Annotated[list[ReasoningEntry], append_reasoning]
    status: ResearchStatus
    plan_revision_count: int
    human_approved: bool
    rejection_reason: str
    """Why the last plan was not accepted, for the thinker."""
    approved_plan_sha256: str
    """What was approved; nothing else is carried out."""
    done_steps: list[str]
    read_sources: list[str]
    """The sources of this branch, by id. The trail also has those of others."""
    pages_read: int
    """How many pages the steps of this question have brought."""
    unreached: dict[str, Unreached]
    """Steps that could not be asked, by their ids."""
    retries: int
    """How often a person was asked whether to try those again; requests of a later try are others."""
    skipped: list[str]
    """What a ceiling or a refusal left out, in sentences."""
    denied_sources: list[str]
    final_report: str | None
    trail_head: str
    """The hash of the trail's last entry when the report was written. Kept here, apart from the trail: one written anew has another."""
    error_message: str | None


def read_sources(state: ResearchState, evidence: Evidence) -> list[str]:
    """The ids of the sources that this branch has read. A thread from before branches were told apart has read all there are."""
    known = state.get("read_sources")
    return list(evidence.sources) if known is None else [each for each in known if each in evidence.sources]
