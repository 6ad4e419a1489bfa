"""What a research thread stores. An update replaces a field, except for the reasoning, to which updates are appended and which keeps its
last 20 entries.

That limit is for the view only: the complete record is the trail in the vault, which is never shortened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict  # before Python 3.12, pydantic cannot build a JSON schema from typing's

from stepwell.research.audit.ledger import Evidence
from stepwell.research.evidence.gathering import Unreached
from stepwell.research.graph.schemas import (
    MAX_REASONING_ENTRIES,
    AuditResult,
    Followed,
    ReasoningEntry,
    ResearchPlan,
    ResearchStatus,
)

Done = tuple[dict[str, Any], str]
"""What a node returns: its changes to the state, and a line about them for the user, which is empty if there is nothing to say."""


def append_reasoning(
    existing: Sequence[ReasoningEntry] | None, incoming: Sequence[ReasoningEntry] | None
) -> list[ReasoningEntry]:
    """The newest entries, in order. Each node adds one."""
    return [*(existing or ()), *(incoming or ())][-MAX_REASONING_ENTRIES:]


class ResearchInput(TypedDict, total=False):
    """What a caller sends: a question as `user_query`, or as the last message of a chat."""

    messages: Annotated[list[AnyMessage], add_messages]
    user_query: str
    knowledge_context: str
    snippets: list[dict[str, Any]]
    """Excerpts from the caller's device: `snippets.Snippet`."""
    context_urls: list[str]
    only_documents: bool | None
    """Search nothing but the snippets and `knowledge_context`. Without it, that is so only if there is no network."""
    outline: bool
    """Propose sections with the plan."""
    max_plan_revisions: int
    review_sources: bool


class ResearchState(ResearchInput, total=False):
    asked_in: str
    """The id of the last message that was used as a question."""
    question_number: int
    """The number of this question in the trail, from 1. Other branches of the thread have other numbers."""
    newest_entry: str
    """The key of this branch's last entry in the trail. The next entry names it, so that each branch can be followed."""
    plan_number: int
    """How many plans were made for this question. A plan's entries in the trail carry this number."""
    plan: ResearchPlan | None
    audit_result: AuditResult | None
    reasoning: Annotated[list[ReasoningEntry], append_reasoning]
    status: ResearchStatus
    plan_revision_count: int
    human_approved: bool
    rejection_reason: str
    """Why the last plan was not accepted, for the thinker."""
    approved_plan_sha256: str
    """The hash of the approved plan. No other plan is carried out."""
    done_steps: list[str]
    read_sources: list[str]
    """The ids of this branch's sources. The trail also has those of other branches."""
    pages_read: int
    """How many pages the steps of this question have read."""
    unreached: dict[str, Unreached]
    """Steps whose requests reached nobody, by id."""
    retries: int
    """How often the user was asked whether to retry those steps. Requests of a later try get other keys."""
    from_documents: bool
    """Whether the user then chose to write from their own documents."""
    follow_ups_left: int
    """How many further searches may still follow from what was found."""
    followed: list[Followed]
    """Those that were made, in order."""
    skipped: list[str]
    """What a ceiling or a refusal left out, as sentences."""
    denied_sources: list[str]
    final_report: str | None
    trail_head: str
    """The hash of the trail's last entry when the report was written. Stored outside the trail: a rewritten trail has another hash."""
    error_message: str | None


def read_sources(state: ResearchState, evidence: Evidence) -> list[str]:
    """The ids of the sources that this branch has read. Older threads do not distinguish branches; for them, all sources count as read."""
    known = state.get("read_sources")
    return list(evidence.sources) if known is None else [each for each in known if each in evidence.sources]
